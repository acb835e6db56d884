"""The values of a cube that need not be in memory: some steps of them are computed when they are wanted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gridveil.model.units import Floats, Ints

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
