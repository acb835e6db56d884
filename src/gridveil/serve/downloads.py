"""Files to take along: the release's own, and others made of it when they are first asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile

from gridveil.model.errors import UsageError
from gridveil.release.export import EXPORTERS, export, refusal
from gridveil.release.format.files import digest
from gridveil.serve.heavy import Heavy
from gridveil.serve.served import Served

MOST_ROWS = 500_000  # cells times steps of a file that is made while somebody waits


class FileKind(NamedTuple):
    """How a file's name ends, its type, and what the page calls it."""

    suffix: str
    media_type: str
    description: str


OWN = {
    "netcdf": FileKind(".nc", "application/x-netcdf", "NetCDF, with everything"),
    "label": FileKind(".json", "application/json", "Privacy label"),
}


@dataclass(frozen=True)
class DownloadFile:
    """A file to hand out, what to call it, its type, and its digest."""

    path: Path
    name: str
    type: str
    sha256: str


class Downloads:
    """The files that were made so far, in a folder that is there until it is closed."""

    def __init__(self) -> None:
        self._folder: TemporaryDirectory[str] | None = None
        self._made: set[Path] = set()
        self._digests: dict[Path, str] = {}
        self._room = Heavy(at_once=1, waiting=3, patience=120.0)

    def close(self) -> None:
        """Remove what was made."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def get(self, served: Served, form: str) -> DownloadFile:
        """Return a file, made now if need be; one at a time, beside other questions."""
        if form not in formats():
            msg = f"format: give one of {', '.join(formats())}"
            raise UsageError(msg, code="format-unknown")
        kind = file_kind(form)
        if form in served.files:
            path = served.files[form]
            return DownloadFile(path, file_name(served, form), kind.media_type, self._digest(path))
        why = _refused(served, form)
        if why is not None:
            raise UsageError(why, code="format-refused")
        with self._room.turn():
            self._folder = self._folder or TemporaryDirectory(prefix="gridveil-", ignore_cleanup_errors=True)
            path = Path(self._folder.name) / file_name(served, form)
            if path not in self._made:
                _make(served, path, form)
                self._made.add(path)
        return DownloadFile(path, path.name, kind.media_type, self._digest(path))

    def _digest(self, path: Path) -> str:
        """Return the digest of a file, computed when it is first handed out."""
        if path not in self._digests:
            self._digests[path] = digest(path)
        return self._digests[path]


def downloads(served: Served) -> list[dict[str, Any]]:
    """Return the files there are."""
    return [
        {
            "format": form,
            "description": file_kind(form).description,
            "name": file_name(served, form),
            "bytes": served.sizes.get(form),
        }
        for form in formats()
        if form in served.files or _refused(served, form) is None
    ]


def formats() -> list[str]:
    """Return the names of all formats: the release's own files, and those that exporters write."""
    return [*OWN, *EXPORTERS.names()]


def file_kind(form: str) -> FileKind:
    """Return what a file of a format is like; a folder is sent as a zip archive."""
    if form in OWN:
        return OWN[form]
    exporter = EXPORTERS.load(form)
    suffix, zipped = (f"{exporter.suffix}.zip", " (zip)") if exporter.folder else (exporter.suffix, "")
    return FileKind(suffix, exporter.media_type, exporter.description + zipped)


def file_name(served: Served, form: str) -> str:
    """Return what a file is called where it is saved."""
    return served.id + file_kind(form).suffix


def _make(served: Served, path: Path, form: str) -> None:
    if not EXPORTERS.load(form).folder:
        export(served.release, path, form)
        return
    with TemporaryDirectory(dir=path.parent) as aside:
        folder = Path(aside) / path.stem
        export(served.release, folder, form)
        packed = Path(aside) / "packed.zip"
        # In order, so that the same release gives the same bytes.
        with ZipFile(packed, "w", ZIP_DEFLATED, strict_timestamps=False) as archive:
            for file in sorted(folder.rglob("*")):
                archive.write(file, file.relative_to(aside))
        packed.rename(path)


def _refused(served: Served, form: str) -> str | None:
    release = served.release
    if form in OWN:
        return (
            f"{form}: a series has no such file, but each of its releases has one, in its own folder; ask for another "
            "format, or for one of them: gridveil serve SERIES/RELEASE"
        )
    rows = release.grid.cells * release.window.steps
    if rows > MOST_ROWS:
        return (
            f"{rows:,} rows are more than the server writes while you wait ({MOST_ROWS:,}); "
            f"{'download the netcdf, or ' if served.files else ''}run: gridveil export RELEASE --to {form}"
        )
    return refusal(release, form)
