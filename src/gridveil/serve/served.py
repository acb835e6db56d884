"""The releases that are served, each under an id of its own, and what each answer is cached by."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import gridveil
from gridveil.release.files import dump_label
from gridveil.release.open import Release, open_release


@dataclass(frozen=True)
class Served:
    """A release, its id, and a fingerprint that changes when the release or the program does."""

    id: str
    release: Release
    _whole: dict[int, float] = field(default_factory=lambda: {0: 0.0}, repr=False)  # up to some steps, kWh

    @property
    def values(self) -> Path:
        """The file of values."""
        return self.release.path

    @cached_property
    def fingerprint(self) -> str:
        """Short for the label, the size and age of the values, and the version of gridveil that reads them."""
        stat = self.values.stat()
        facts = (gridveil.__version__, self.id, stat.st_size, stat.st_mtime_ns, dump_label(self.release.label))
        return hashlib.sha256(repr(facts).encode()).hexdigest()

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


def tag(*known_by: str) -> str:
    """Return a tag for an answer known by some texts. Weak: the same answer may be sent compressed."""
    return f'W/"{hashlib.sha256(repr(known_by).encode()).hexdigest()[:32]}"'


def open_all(folders: Iterable[Path]) -> dict[str, Release]:
    """Open releases, each under the slug of its folder's name; a second of the same name gets a number."""
    releases: dict[str, Release] = {}
    for folder in folders:
        opened = open_release(folder)
        slug = slug_of(folder.resolve().name)
        names = (slug, *(f"{slug}-{number}" for number in range(2, len(releases) + 2)))
        releases[next(name for name in names if name not in releases)] = opened
    return releases


def slug_of(name: str) -> str:
    """Return a name as it can stand in an address.

    >>> slug_of("Town, May 2026"), slug_of("東京")
    ('town-may-2026', 'release')
    """
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:60] or "release"
