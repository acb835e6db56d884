"""The releases that are served, each under an id of its own, and the files of each."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile

import gridveil
from gridveil.model.errors import UsageError
from gridveil.release.export import EXPORTERS, export, refusal
from gridveil.release.format.files import LABEL, SUMS, digest, read_sums
from gridveil.release.format.wording import summarize_attacks
from gridveil.release.query.open import Release, open_runs
from gridveil.serve.execution import ConcurrencyLimit

MAX_ROWS = 500_000  # cells times steps of a file that is made while a client waits


def box(x: tuple[int, int], y: tuple[int, int], steps: tuple[int, int]) -> list[int]:
    """Return a range of each axis as a row of `Release.answers_of`.

    >>> box((0, 8), (0, 5), (0, 24))
    [0, 8, 0, 5, 0, 24]
    """
    return [*x, *y, *steps]


class ServedRelease:
    """A release, its id, a sentence about it and the others, and what its files were like when it was opened."""

    def __init__(self, name: str, release: Release, together: str | None = None) -> None:
        self.id = name
        self.release = release
        self.together = together
        self.files = {} if release.is_series else {"netcdf": release.path, "label": release.path.with_name(LABEL)}
        self.sizes = {form: path.stat().st_size for form, path in self.files.items()}
        self._stamps = self._read_stamps()
        self.digests = {path: _read_digest(path) for path in release.files}
        self._totals = {0: 0.0}  # kWh of the map up to some steps

    @cached_property
    def fingerprint(self) -> str:
        """Short for the release, its files, what is said of it, and the version of gridveil that reads it."""
        digests = list(self.digests.values())  # and no times, which may tell when a run ended
        facts = (gridveil.__version__, self.id, digests, self.release.label.model_dump_json(), self.together)
        return hashlib.sha256(repr(facts).encode()).hexdigest()

    @property
    def unchanged(self) -> bool:
        """Whether its files are those that were opened: not replaced, changed or removed."""
        try:
            return self._read_stamps() == self._stamps
        except OSError:
            return False

    def map_box(self, first: int, last: int) -> list[int]:
        """Return the box of all cells over some steps."""
        grid = self.release.grid
        return box((0, grid.nx), (0, grid.ny), (first, last))

    def map_total(self, first: int, last: int) -> float:
        """Return the consumption of the whole map over some steps, kWh; every answer has its share of it."""
        for edge in (first, last):
            if edge not in self._totals:
                self._totals[edge] = float(self.release.values_of([self.map_box(0, edge)])[0])
        return self._totals[last] - self._totals[first]

    def _read_stamps(self) -> list[tuple[int, int, int]]:
        """Return what changes when a file is replaced or written to."""
        stats = [path.stat() for path in self.release.files]
        return [(stat.st_ino, stat.st_ctime_ns, stat.st_size) for stat in stats]  # all files of a day have one mtime


def _read_digest(path: Path) -> str:
    """Return the SHA-256 of a release's file, as its `SHA256SUMS` has it; if that does not list it, compute it."""
    with suppress(OSError, ValueError, KeyError):
        return read_sums(path.with_name(SUMS))[path.name]
    return digest(path)


def make_etag(*identity: str) -> str:
    """Return a tag for the answer that some texts identify. Weak: the same answer may be sent compressed."""
    return f'W/"{hashlib.sha256(repr(identity).encode()).hexdigest()[:32]}"'


def serve_all(releases: Mapping[str, Release]) -> dict[str, ServedRelease]:
    """Return releases ready to be served."""
    together = describe_together(releases)
    return {name: ServedRelease(name, release, together) for name, release in releases.items()}


def describe_together(releases: Mapping[str, Release]) -> str | None:
    """Return what several releases are together, if they are about the same households."""
    labels = [release.label for release in releases.values()]
    if len(labels) <= 1:
        return None
    if not all(label.private for label in labels):
        return "Not all of these releases are private. If they are about the same households, together they are not."
    epsilons = [label.privacy.epsilon for label in labels]
    terms = " + ".join(f"{epsilon:g}" for epsilon in epsilons)
    return (
        "Releases about the same households add up. If these are about the same households, together they are "
        f"epsilon {terms} = {sum(epsilons):g}. {summarize_attacks(sum(epsilons))}"
    )


def open_all(folders: Iterable[Path]) -> dict[str, Release]:
    """Open releases, each under the slug of its folder's name; a second of the same name gets a number.

    A series is one, or as many as it has runs without a gap.
    """
    releases: dict[str, Release] = {}
    for folder in folders:
        slug = make_slug(folder.resolve().name)
        for opened in open_runs(folder):
            names = (slug, *(f"{slug}-{number}" for number in range(2, len(releases) + 2)))
            releases[next(name for name in names if name not in releases)] = opened
    return releases


def make_slug(name: str) -> str:
    """Return a name as it can stand in an address.

    >>> make_slug("Town, May 2026"), make_slug("東京")
    ('town-may-2026', 'release')
    """
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "release"


class FileKind(NamedTuple):
    """How a file's name ends, its type, and what the page calls it."""

    suffix: str
    media_type: str
    description: str


OWN_FILES = {
    "netcdf": FileKind(".nc", "application/x-netcdf", "NetCDF, with everything"),
    "label": FileKind(".json", "application/json", "Privacy label"),
}


@dataclass(frozen=True)
class DownloadFile:
    """A file to send: its path, name, type and digest."""

    path: Path
    name: str
    type: str
    sha256: str


class Downloads:
    """Files to download: the release's own, and exports in a temporary folder, made when they are first asked for."""

    def __init__(self) -> None:
        self._folder: TemporaryDirectory[str] | None = None
        self._exported: set[Path] = set()
        self._digests: dict[Path, str] = {}
        self._limit = ConcurrencyLimit(running=1, waiting=3, patience=120.0)

    def close(self) -> None:
        """Remove the temporary folder."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def get(self, served: ServedRelease, form: str) -> DownloadFile:
        """Return a file, exported now if need be; one at a time, beside other requests."""
        if form not in list_formats():
            msg = f"format: give one of {', '.join(list_formats())}"
            raise UsageError(msg, code="format-unknown")
        path = served.files.get(form)
        if path is None:
            why = refuse_format(served, form)
            if why is not None:
                raise UsageError(why, code="format-refused")
            path = self._export(served, form)
        if path not in self._digests:
            self._digests[path] = digest(path)
        return DownloadFile(path, file_name(served, form), file_kind(form).media_type, self._digests[path])

    def _export(self, served: ServedRelease, form: str) -> Path:
        with self._limit.slot():
            self._folder = self._folder or TemporaryDirectory(prefix="gridveil-", ignore_cleanup_errors=True)
            path = Path(self._folder.name) / file_name(served, form)
            if path not in self._exported:
                _export_file(served.release, path, form)
                self._exported.add(path)
        return path


def list_formats() -> list[str]:
    """Return the names of all formats: the release's own files, and those that exporters write."""
    return [*OWN_FILES, *EXPORTERS.names()]


def file_kind(form: str) -> FileKind:
    """Return what a file of a format is like; a folder is sent as a zip archive."""
    if form in OWN_FILES:
        return OWN_FILES[form]
    exporter = EXPORTERS.load(form)
    suffix, zipped = (f"{exporter.suffix}.zip", " (zip)") if exporter.folder else (exporter.suffix, "")
    return FileKind(suffix, exporter.media_type, exporter.description + zipped)


def file_name(served: ServedRelease, form: str) -> str:
    """Return what a file is called where it is saved."""
    return served.id + file_kind(form).suffix


def refuse_format(served: ServedRelease, form: str) -> str | None:
    """Return why a release cannot be downloaded in a format, or None if it can."""
    release = served.release
    if form in OWN_FILES:
        if form in served.files:
            return None
        return (
            f"{form}: a series has no such file, but each of its releases has one, in its own folder; ask for another "
            "format, or for one of them: gridveil serve SERIES/RELEASE"
        )
    rows = release.grid.cells * release.window.steps
    if rows > MAX_ROWS:
        return (
            f"{rows:,} rows are more than the server writes while you wait ({MAX_ROWS:,}); "
            f"{'download the netcdf, or ' if served.files else ''}run: gridveil export RELEASE --to {form}"
        )
    return refusal(release, form)


def _export_file(release: Release, path: Path, form: str) -> None:
    if not EXPORTERS.load(form).folder:
        export(release, path, form)
        return
    with TemporaryDirectory(dir=path.parent) as aside:
        folder = Path(aside) / path.stem
        export(release, folder, form)
        packed = Path(aside) / "packed.zip"
        # In order, so that the same release gives the same bytes.
        with ZipFile(packed, "w", ZIP_DEFLATED, strict_timestamps=False) as archive:
            for file in sorted(folder.rglob("*")):
                archive.write(file, file.relative_to(aside))
        packed.rename(path)
