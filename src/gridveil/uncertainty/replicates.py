"""Reconstructions repeated with redrawn noise: their spread is the error."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from gridveil.model.arrays import WH_PER_KWH, Floats, Ints, box_sums, prefix_sums
from gridveil.model.errors import UsageError
from gridveil.uncertainty.laplace import t_quantile
from gridveil.uncertainty.model import (
    DOUBLE,
    KWH,
    AreaNoise,
    Boxes,
    Intervals,
    NoiseModel,
    Shape,
    StoredArray,
    StoredArrays,
    symmetric_intervals,
)

BATCH = 256
SLAB_CELLS = 1024  # all replicates of as many fit a processor's cache
FEWEST_REPLICATES = 5  # fewer make no interval
MOST_BYTES = 2**31


@dataclass(frozen=True)
class RegionSums:
    """Noisy sums over the window, Wh, of regions of cells: `labels` (x, y) numbers them row by row."""

    labels: Ints
    values: Floats
    scale: float


@dataclass(frozen=True)
class Replicates(NoiseModel):
    """Reconstructions repeated with redrawn noise, and whatever else was uncertain.

    Replicate `r` is the cube `space[r] * time[r]`: separable, so a query costs O(replicates).

    space: (replicate, x, y) energy, Wh; in a release (replicate, y, x), kWh.
    time: (replicate, t).
    measured: the sums behind `space`, if there are such: what is known of space without the mechanism's habits. Not
        in a release.
    """

    kind: ClassVar[str] = "replicates"

    space: Floats
    time: Floats
    measured: RegionSums | None = None

    def times(self, factor: float, draws: Floats, steps: int) -> Self:
        """Return each replicate times a factor that may be true as well."""
        del factor, steps
        return replace(self, space=self.space * draws[np.arange(len(self.space)) % len(draws), None, None])

    def to_release(self, shape: Shape, hours: float) -> Self:
        """Return the replicates as a release stores them."""
        del hours
        space, time = np.asarray(self.space, float), np.asarray(self.time, float)
        steps, ny, nx = shape
        if len(space) < FEWEST_REPLICATES or space.shape != (len(time), nx, ny) or time.shape != (len(space), steps):
            msg = f"replicates of shapes {space.shape} and {time.shape} do not fit a cube of {(nx, ny, steps)}"
            raise UsageError(msg, code="replicates-shape")
        if not (np.isfinite(space).all() and np.isfinite(time).all()):
            msg = "an estimate has replicates that are not finite; this is a fault of its mechanism"
            raise UsageError(msg, code="replicates-not-finite")
        return replace(self, space=space.transpose(0, 2, 1) / WH_PER_KWH, time=time, measured=None)

    def store(self) -> list[StoredArray]:
        """Return both factors."""
        return [
            StoredArray("replicate_space", ("replicate", "y", "x"), self.space, KWH),
            StoredArray("replicate_time", ("replicate", "time"), self.time),
        ]

    @classmethod
    def load(cls, stored: StoredArrays, shape: Shape, hours: float) -> Self:
        """Return the model of a release from its file."""
        del hours
        count = stored.shape("replicate_time")[0]
        if count < FEWEST_REPLICATES:
            msg = f"{count} replicates make no error bar"
            raise ValueError(msg)
        space = stored.dataset("replicate_space", (count, *shape[1:]), DOUBLE)
        time = stored.dataset("replicate_time", (count, shape[0]), DOUBLE)
        if space.nbytes + time.nbytes > MOST_BYTES:
            msg = f"{count} replicates are more than any release has"
            raise ValueError(msg)
        return cls(space[()], time[()])

    @property
    def freedom(self) -> int:
        """Degrees of freedom of the replicates' standard deviation."""
        return len(self.time) - 1

    def cell_errors(self, steps: slice, shape: Shape) -> Floats:
        """Return the standard deviation over replicates of every cell in some steps."""
        time, space, count = self.time[:, steps].T, self.space.reshape(len(self.space), -1), len(self.space)
        spread = time**2 @ self._squares - count * (time @ space / count) ** 2
        return np.asarray(np.sqrt(np.maximum(spread, 0.0) / (count - 1))).reshape(-1, *shape[1:])

    @cached_property
    def _squares(self) -> Floats:
        """The squares of cells (replicate, cell)."""
        return np.asarray(self.space.reshape(len(self.space), -1) ** 2)

    @cached_property
    def _sums(self) -> tuple[Floats, Floats]:
        """Prefix sums over y, x and over time, replicates last."""
        return prefix_sums(self.space.transpose(1, 2, 0), axes=(0, 1)), prefix_sums(self.time.T, axes=(0,))

    def of_area(self, weights: Floats) -> ReplicatesArea:
        """Return the spread of an area, weights (y, x)."""
        return ReplicatesArea(np.tensordot(self.space, weights, axes=2), self._sums[1])

    def of_cells(self, start: int, stop: int, values: Floats) -> Intervals:
        """Return the intervals of every single cell over one period."""
        time = self.time[:, start:stop].sum(axis=1)[:, None]
        cells = self.space.reshape(len(time), -1)
        slabs = [slice(first, first + SLAB_CELLS) for first in range(0, values.size, SLAB_CELLS)]
        error = np.concatenate([np.std(cells[:, slab] * time, axis=0, ddof=1) for slab in slabs]).reshape(values.shape)
        return symmetric_intervals(values, error, error * t_quantile(self.freedom))

    def errors_of(self, boxes: Boxes) -> tuple[Floats, Floats]:
        """Return standard deviation over replicates, and that times Student's t quantile, of each range query."""
        space, time = self._sums
        errors = [
            np.std(box_sums(space, some[:, 2:]) * box_sums(time, some[:, :2]), axis=1, ddof=1)
            for some in np.array_split(boxes, len(boxes) // BATCH + 1)
        ]
        joined = np.concatenate(errors)
        return joined, joined * t_quantile(self.freedom)


class ReplicatesArea(AreaNoise):
    """Replicates of an area's energy (replicate,), and of the profile, as prefix sums over steps (edge, replicate)."""

    def __init__(self, space: Floats, time_sums: Floats) -> None:
        self.space = space
        self.time_sums = time_sums

    def noise_over(self, periods: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Return the standard deviation over replicates, and that times Student's t quantile, of each period."""
        return self._spread(box_sums(self.time_sums, periods))

    def noise_at(self, schedules: Floats) -> tuple[Floats, Floats]:
        """Return the standard deviation over replicates, and that times Student's t quantile, of each schedule."""
        return self._spread(schedules @ np.diff(self.time_sums, axis=0))

    def _spread(self, time: Floats) -> tuple[Floats, Floats]:
        error = np.std(self.space * time, axis=1, ddof=1)
        return error, error * t_quantile(len(self.space) - 1)
