"""The releases that are served, each under an id of its own, and what each answer is cached by."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from os import stat_result
from pathlib import Path

import gridveil
from gridveil.model.errors import InputError
from gridveil.release.format.attack_rates import summary
from gridveil.release.format.files import LABEL, SUMS, digest, dump_label, read_sums
from gridveil.release.query.open import Release, open_runs

Stamp = tuple[int, int, int]


class Served:
    """A release, its id, what is to be said of it beside others, and what its files were like when it was opened."""

    def __init__(self, name: str, release: Release, together: str | None = None) -> None:
        self.id = name
        self.release = release
        self.together = together
        self.files = {} if release.is_series else {"netcdf": release.path, "label": release.path.with_name(LABEL)}
        self.sizes = {form: path.stat().st_size for form, path in self.files.items()}
        self._stamps = self._now()
        self.digests = {path: _digest(path) for path in release.files}
        self._whole = {0: 0.0}  # kWh up to some steps

    @cached_property
    def fingerprint(self) -> str:
        """Short for the release, its files, what is said of it, and the version of gridveil that reads it."""
        digests = list(self.digests.values())  # and no times, which may tell when a run ended
        facts = (gridveil.__version__, self.id, digests, dump_label(self.release.label), self.together)
        return hashlib.sha256(repr(facts).encode()).hexdigest()

    @property
    def unchanged(self) -> bool:
        """Whether its files are those that were opened: not replaced, changed or removed."""
        try:
            return self._now() == self._stamps
        except OSError:
            return False

    def check(self) -> None:
        """Refuse to answer for files that are no longer those that were opened."""
        if not self.unchanged:
            msg = f"{self.release.path.parent}: changed or removed while it was served; start gridveil serve again"
            raise InputError(msg, code="release-changed")

    def whole(self, first: int, last: int) -> float:
        """Return the consumption of the whole map over some steps, kWh; every answer says its share of it."""
        for edge in (first, last):
            if edge not in self._whole:
                grid = self.release.grid
                self._whole[edge] = float(self.release.values_of([[0, grid.nx, 0, grid.ny, 0, edge]])[0])
        return self._whole[last] - self._whole[first]

    def etag(self, *asked: str) -> str:
        """Return the tag of the answer to a question."""
        return tag(self.fingerprint, *asked)

    def _now(self) -> list[Stamp]:
        return [_stamp(path.stat()) for path in self.release.files]


def _digest(path: Path) -> str:
    """Return the SHA-256 of a release's file, as its `SHA256SUMS` has it; if that does not list it, compute it."""
    with suppress(OSError, ValueError, KeyError):
        return read_sums(path.with_name(SUMS))[path.name]
    return digest(path)


def _stamp(stat: stat_result) -> Stamp:
    """Return what changes when a file is replaced or written to."""
    return stat.st_ino, stat.st_ctime_ns, stat.st_size  # times of change of all files of a day are alike


def tag(*known_by: str) -> str:
    """Return a tag for an answer known by some texts. Weak: the same answer may be sent compressed."""
    return f'W/"{hashlib.sha256(repr(known_by).encode()).hexdigest()[:32]}"'


def together(releases: Mapping[str, Release]) -> str | None:
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
        f"epsilon {terms} = {sum(epsilons):g}. {summary(sum(epsilons))}"
    )


def open_all(folders: Iterable[Path]) -> dict[str, Release]:
    """Open releases, each under the slug of its folder's name; a second of the same name gets a number.

    A series is one, or as many as it has runs without a gap.
    """
    releases: dict[str, Release] = {}
    for folder in folders:
        slug = slug_of(folder.resolve().name)
        for opened in open_runs(folder):
            names = (slug, *(f"{slug}-{number}" for number in range(2, len(releases) + 2)))
            releases[next(name for name in names if name not in releases)] = opened
    return releases


def slug_of(name: str) -> str:
    """Return a name as it can stand in an address.

    >>> slug_of("Town, May 2026"), slug_of("東京")
    ('town-may-2026', 'release')
    """
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "release"
