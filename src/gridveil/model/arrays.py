"""Arrays of a cube: types and units, values that need not be in memory, prefix sums for range queries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

WH_PER_KWH = 1000
"""Sums are whole watt-hours up to the files of a release, which have kilowatt-hours."""


# Lazy cubes: steps are computed when they are read.

SLAB_NUMBERS = 2**22
"""Values that are computed at a time, if all of them are looked at: 32 MB."""


class Lazy:
    """Values with the axes (x, y, t), Wh, computed a few steps at a time. numpy takes it for an array."""

    @property
    def shape(self) -> tuple[int, int, int]:
        """How many there are along x, y and t."""
        raise NotImplementedError

    def steps(self, some: slice) -> Floats:
        """Return the values of some steps."""
        raise NotImplementedError

    def over_steps(self) -> Floats:
        """Return the sum of every cell over all steps (x, y)."""
        raise NotImplementedError

    def over_cells(self) -> Floats:
        """Return the sum of every step over all cells (t,)."""
        return np.concatenate([slab.sum(axis=(0, 1)) for slab in self.slabs()])

    def times(self, factor: float) -> Lazy:
        """Return all of it times a factor."""
        raise NotImplementedError

    def dense(self) -> Floats:
        """Return all values: only of a cube that is small."""
        return self.steps(slice(0, self.shape[2]))

    def slabs(self) -> Iterator[Floats]:
        """Yield all values, a few steps at a time."""
        nx, ny, steps = self.shape
        rows = max(1, SLAB_NUMBERS // (nx * ny))
        for first in range(0, steps, rows):
            yield self.steps(slice(first, min(first + rows, steps)))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:  # noqa: FBT001 - numpy's signature
        """Return all values, as numpy asks for them."""
        del copy  # they are always made anew
        return self.dense() if dtype is None else self.dense().astype(dtype)


@dataclass(frozen=True)
class HeldValues(Lazy):
    """An array that is in memory."""

    array: Floats

    @property
    def shape(self) -> tuple[int, int, int]:
        """How many there are along x, y and t."""
        nx, ny, steps = self.array.shape
        return nx, ny, steps

    def steps(self, some: slice) -> Floats:
        """Return the values of some steps."""
        return self.array[:, :, some]

    def over_steps(self) -> Floats:
        """Return the sum of every cell over all steps (x, y)."""
        return np.asarray(self.array.sum(axis=2))

    def over_cells(self) -> Floats:
        """Return the sum of every step over all cells (t,)."""
        return np.asarray(self.array.sum(axis=(0, 1)))

    def times(self, factor: float) -> HeldValues:
        """Return all of it times a factor."""
        return HeldValues(self.array * factor)

    def dense(self) -> Floats:
        """Return the array."""
        return self.array


@dataclass(frozen=True)
class Product(Lazy):
    """The cube `space[x, y] * time[region[x, y], t]`: as many numbers as there are cells, and steps of each profile."""

    space: Floats
    time: Floats
    region: Ints

    @classmethod
    def of(cls, space: Floats, time: Floats) -> Product:
        """Return the product with one profile (t,) for all cells."""
        return cls(space, time[None], np.broadcast_to(np.int64(0), space.shape))

    @property
    def shape(self) -> tuple[int, int, int]:
        """How many there are along x, y and t."""
        nx, ny = self.space.shape
        return nx, ny, self.time.shape[1]

    def steps(self, some: slice) -> Floats:
        """Return the values of some steps."""
        time = self.time[:, some]
        return self.space[:, :, None] * (time[0] if len(time) == 1 else time[self.region])

    def over_steps(self) -> Floats:
        """Return the sum of every cell over all steps (x, y)."""
        return np.asarray(self.space * self.time.sum(axis=1)[self.region])

    def over_cells(self) -> Floats:
        """Return the sum of every step over all cells (t,)."""
        regions = np.bincount(self.region.ravel(), self.space.ravel(), len(self.time))
        return np.asarray(regions @ self.time)

    def times(self, factor: float) -> Product:
        """Return all of it times a factor."""
        return replace(self, space=self.space * factor)


@dataclass(frozen=True)
class Scaled(Lazy):
    """Whole numbers (x, y, t) times a factor: noisy answers as they came, in no more room than they took."""

    counts: Ints
    factor: float = 1.0

    @property
    def shape(self) -> tuple[int, int, int]:
        """How many there are along x, y and t."""
        nx, ny, steps = self.counts.shape
        return nx, ny, steps

    def steps(self, some: slice) -> Floats:
        """Return the values of some steps."""
        return np.asarray(self.counts[:, :, some] * self.factor, dtype=np.float64)

    def over_steps(self) -> Floats:
        """Return the sum of every cell over all steps (x, y)."""
        return np.asarray(self.counts.sum(axis=2) * self.factor)

    def over_cells(self) -> Floats:
        """Return the sum of every step over all cells (t,)."""
        return np.asarray(self.counts.sum(axis=(0, 1)) * self.factor)

    def times(self, factor: float) -> Scaled:
        """Return all of it times a factor."""
        return replace(self, factor=self.factor * factor)


# Prefix sums: the sum of any box of a cube from its corners.

HELD_BYTES = 256 * 2**20
MAX_SINGLE_POINTS = 1000
MAX_SINGLE_EDGES = 8
MAX_ROW_GAP = 8  # between two others that are worth reading apart


def prefix_sums(array: Floats, axes: tuple[int, ...]) -> Floats:
    """Return the sums from the origin up to, not including, every index along some axes.

    >>> prefix_sums(np.array([1.0, 2.0]), axes=(0,))
    array([0., 1., 3.])
    """
    sums = np.pad(array, [(1, 0) if axis in axes else (0, 0) for axis in range(array.ndim)])
    for axis in axes:
        np.cumsum(sums, axis=axis, out=sums)
    return sums


class Prefix(Protocol):
    """Prefix sums (time, y, x) that are not an array: differences in time count, not from where sums were taken."""

    shape: tuple[int, ...]

    def __getitem__(self, points: tuple[NDArray[np.int64], ...]) -> Floats:
        """Return the values at points, one index array for each axis."""

    def weighted(self, weights: Floats, edges: NDArray[np.int64]) -> Floats:
        """Return the weighted sum of all cells (y, x) up to each of some edges of time."""

    def planes(self, edges: list[int]) -> Iterator[Floats]:
        """Give the sums up to some edges of time (y_edge, x_edge); edges in ascending order."""


def box_sums(prefix: Floats | Prefix, ranges: NDArray[np.int64]) -> Floats:
    """Return the sums over boxes; columns of `ranges` are start and end along each leading axis of `prefix`.

    >>> box_sums(prefix_sums(np.ones((4, 5)), axes=(0, 1)), np.array([[1, 3, 0, 5]]))
    array([10.])
    """
    axes = ranges.shape[1] // 2
    corners = list(product((0, 1), repeat=axes))
    points = np.concatenate([ranges[:, [2 * axis + end for axis, end in enumerate(corner)]] for corner in corners])
    values = prefix[tuple(points.T)].reshape(len(corners), len(ranges), *prefix.shape[axes:])
    signs = np.array([(-1.0) ** (axes - sum(corner)) for corner in corners])
    return np.asarray(np.tensordot(signs, values, axes=(0, 0)))


class StoredPrefix:
    """Prefix sums (time, y, x) in a file: a few are read from it; for many, all are held in memory if they fit."""

    def __init__(self, dataset: Any, most: int | None = None) -> None:  # noqa: ANN401  # h5py has no types
        self.dataset = dataset
        self._most = most
        self.shape: tuple[int, ...] = dataset.shape
        self._held: Floats | None = None

    def __getitem__(self, points: tuple[NDArray[np.int64], ...]) -> Floats:
        """Return the values at points, one index array for each axis."""
        if len(points[0]) > MAX_SINGLE_POINTS:
            self._hold()
        return self._read(points) if self._held is None else self._held[points]

    def weighted(self, weights: Floats, edges: NDArray[np.int64]) -> Floats:
        """Return the weighted sum of all cells (y, x) from the beginning up to each of some edges of time.

        Summation by parts: the sum of `weights * values` is that of the prefix sums times the second difference of the
        weights, which is 0 but for the outline of an area.
        """
        corners = np.diff(np.diff(np.pad(weights, 1), axis=0), axis=1)
        corners[0], corners[:, 0] = 0.0, 0.0  # where prefix sums are 0
        rows, columns = np.nonzero(corners)
        if len(edges) > MAX_SINGLE_EDGES:
            self._hold()
        if self._held is not None:
            return np.asarray(self._held[edges[:, None], rows, columns] @ corners[rows, columns])
        total = np.zeros(len(edges))
        for some in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(rows) > MAX_ROW_GAP) + 1):
            if len(some) == 0:
                continue
            own, left = (rows[some[0]], rows[some[-1]] + 1), columns[some].min()
            block = (slice(*own), slice(left, columns[some].max() + 1))
            inner = (rows[some] - own[0], columns[some] - left)
            factors = corners[rows[some], columns[some]]
            total += [self.dataset[int(edge), *block][inner] @ factors for edge in edges]
        return total

    def planes(self, edges: list[int]) -> Iterator[Floats]:
        """Give the sums up to some edges of time (y_edge, x_edge)."""
        sums = self.dataset if self._held is None else self._held
        return (np.asarray(sums[edge]) for edge in edges)

    def _hold(self) -> None:
        if self._held is None and self.dataset.nbytes <= (HELD_BYTES if self._most is None else self._most):
            self._held = self.dataset[()]

    def _read(self, points: tuple[NDArray[np.int64], ...]) -> Floats:
        """Read each chunk that has points once; of what has no chunks, the part of a plane with points."""
        sizes = self.dataset.chunks or (1, *self.shape[1:])
        places = [index // size for index, size in zip(points, sizes, strict=True)]
        chunks = [-(-length // size) for length, size in zip(self.shape, sizes, strict=True)]
        numbers = np.ravel_multi_index(places, chunks)
        order = np.argsort(numbers, kind="stable")
        values = np.empty(len(numbers))
        starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
        for group in np.split(order, starts)[1:]:
            inner = [index[group] for index in points]
            block = self.dataset[tuple(slice(int(index.min()), int(index.max()) + 1) for index in inner)]
            values[group] = block[tuple(index - index.min() for index in inner)]
        return values
