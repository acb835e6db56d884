"""The files of a series' releases: opened when they are first needed, and let go when others are needed more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from threading import RLock

import numpy as np
from numpy.typing import NDArray

from gridveil.release.format.label import Label
from gridveil.release.format.read import CACHED_BYTES, Content, read_content

MOST_OPEN = 256
MOST_BYTES = 2**31
MOST_PREFIX = 2**25  # bytes of one release's prefix sums that are held
PRIME = 7919
SUMS = 3  # times the size of an error model: its prefix sums are in double precision


@dataclass(frozen=True)
class ShelfPlace:
    """Where a release of a series is: its values' file, and its label."""

    path: Path
    label: Label


class Shelf:
    """The contents of releases that follow each other in time, by number; for many threads.

    `edges` are the steps at which they begin, and the end of the last. A file is closed when nobody has it any more:
    who still reads one that was let go reads on.
    """

    def __init__(self, places: Sequence[ShelfPlace]) -> None:
        self.places = tuple(places)
        self.edges: NDArray[np.int64] = np.cumsum([0, *(place.label.window.steps for place in places)])
        self._open: dict[int, Content] = {}
        self._bytes = 0
        self._let_go = 0
        self._lock = RLock()

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, number: int) -> Content:
        """Return a release's content."""
        with self._lock:
            if number not in self._open:
                place = self.places[number]
                content = read_content(place.path, place.label, MOST_PREFIX)
                self._make_room(size_of(content))
                self._open[number] = content
            return self._open[number]

    def _make_room(self, wanted: int) -> None:
        """Let go of any, now here, now there: long periods take releases in turn, and need the oldest one next."""
        self._bytes += wanted
        while self._open and (len(self._open) >= MOST_OPEN or self._bytes > MOST_BYTES):
            self._let_go += 1
            chosen = list(self._open)[PRIME * self._let_go % len(self._open)]
            self._bytes -= size_of(self._open.pop(chosen))

    def __contains__(self, number: object) -> bool:
        """Whether a release is open."""
        return number in self._open

    @property
    def files(self) -> list[Path]:
        """The files of all releases' values."""
        return [place.path for place in self.places]

    def steps(self, number: int) -> int:
        """Return how many steps a release has."""
        return self.places[number].label.window.steps

    def of(self, step: int) -> int:
        """Return which release a step, or an edge at which one begins, is in; the end is in one after the last."""
        return int(np.searchsorted(self.edges, step, side="right")) - 1

    def touched(self, first: int, stop: int) -> range:
        """Return which releases a period touches."""
        return range(self.of(first), self.of(stop - 1) + 1)


def size_of(content: Content) -> int:
    """Return about how many bytes a content takes once it has answered."""
    held = (getattr(content.errors, field.name) for field in fields(content.errors))  # type: ignore[arg-type] # all are dataclasses
    model = sum(part.nbytes for part in held if isinstance(part, np.ndarray))
    return int(SUMS * model + min(content.prefix.dataset.nbytes, CACHED_BYTES))
