"""Values and prefix sums of releases that follow each other in time, as if they were one's."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gridveil.model.units import Floats
from gridveil.release.format.files import Stored
from gridveil.release.format.read import reading
from gridveil.release.series.shelf import Shelf


class JoinedValues:
    """Values (time, y, x) of all releases: those of a step are read, or all of them."""

    def __init__(self, shelf: Shelf, cells: tuple[int, int]) -> None:
        self.shelf = shelf
        self.shape = (int(shelf.edges[-1]), *cells)

    def __getitem__(self, step: int | tuple[()]) -> Stored:
        """Return the values of a step, or with `()` all."""
        if isinstance(step, tuple):
            whole = np.empty(self.shape, np.float32)
            for number, first in enumerate(self.shelf.edges[:-1].tolist()):
                content = self.shelf[number]
                with reading(content.path):
                    whole[first : first + self.shelf.steps(number)] = content.values[()]
            return whole
        number = self.shelf.of(step)
        content = self.shelf[number]
        with reading(content.path):
            return content.values[step - int(self.shelf.edges[number])]


class JoinedPrefix:
    """Prefix sums (time, y, x) of all releases: a later one's plus all of those before it.

    Sums are taken from the beginning of the first release that is asked for, so that none before it is opened; only
    differences between the sums of one call mean anything.
    """

    def __init__(self, shelf: Shelf, cells: tuple[int, int]) -> None:
        self.shelf = shelf
        self.shape: tuple[int, ...] = (int(shelf.edges[-1]) + 1, cells[0] + 1, cells[1] + 1)

    def __getitem__(self, points: tuple[NDArray[np.int64], ...]) -> Floats:
        """Return the values at points, one index array for each axis."""
        edges, rows, columns = points
        if len(edges) == 0:
            return np.empty(0)
        places, back = np.unique(rows * self.shape[2] + columns, return_inverse=True)
        y, x = np.divmod(places, self.shape[2])
        before = np.zeros(len(places))
        values = np.empty(len(edges))
        for number, own, last in self._walk(edges):
            values[own] = before[back[own]]
            some = own[edges[own] > self.shelf.edges[number]]  # where it begins its own sums are 0
            if len(some):
                values[some] += self._at(number, edges[some], rows[some], columns[some])
            if not last:
                before += self._at(number, np.full(len(places), self.shelf.edges[number + 1]), y, x)
        return values

    def weighted(self, weights: Floats, edges: NDArray[np.int64]) -> Floats:
        """Return the weighted sum of all cells (y, x) up to each of some edges of time."""
        total = np.zeros(len(edges))
        before = 0.0
        for number, own, last in self._walk(edges):
            total[own] = before
            some = own[edges[own] > self.shelf.edges[number]]
            asked = edges[some] - self.shelf.edges[number]
            if not last:
                asked = np.append(asked, self.shelf.steps(number))
            if len(asked) == 0:
                continue
            content = self.shelf[number]
            with reading(content.path):
                sums = content.prefix.weighted(weights, asked)
            total[some] += sums[: len(some)]
            before += 0.0 if last else float(sums[-1])
        return total

    def planes(self, edges: list[int]) -> Iterator[Floats]:
        """Give the sums up to some edges of time (y_edge, x_edge); edges in ascending order."""
        before = np.zeros(self.shape[1:])
        numbers = np.array(edges, dtype=np.int64)
        for number, own, last in self._walk(numbers):
            asked = (numbers[own] - self.shelf.edges[number]).tolist()
            wanted = [edge for edge in asked if edge] + ([] if last else [self.shelf.steps(number)])
            sums = self._planes(number, wanted)
            for edge in asked:
                yield before + next(sums) if edge else before
            if not last:
                before = before + next(sums)

    def _planes(self, number: int, edges: list[int]) -> Iterator[Floats]:
        for edge in edges:
            content = self.shelf[number]
            with reading(content.path):
                (plane,) = content.prefix.planes([edge])
            yield plane

    def _at(self, number: int, edges: NDArray[np.int64], *cells: NDArray[np.int64]) -> Floats:
        content = self.shelf[number]
        with reading(content.path):
            return content.prefix[(edges - self.shelf.edges[number], *cells)]

    def _walk(self, edges: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64], bool]]:
        """Give the releases from the first to the last edge, which edges each has, and whether it is the last one."""
        owners = np.searchsorted(self.shelf.edges, edges, side="right") - 1
        first, stop = int(owners.min()), int(owners.max())
        for number in range(first, stop + 1):
            yield number, np.flatnonzero(owners == number), number == stop
