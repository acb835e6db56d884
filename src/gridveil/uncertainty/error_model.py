"""A release's error model: from the noise of the measurements to the error of a cell or of a range query.

Arrays have the file's axes (time, y, x) and kWh. An axis of size 1 means that nothing varies along it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from gridveil.model.arrays import WH_PER_KWH, Floats, box_sums, prefix_sums
from gridveil.model.errors import UsageError
from gridveil.model.estimate import NoisyParts, Replicates
from gridveil.uncertainty.area_errors import AreaErrors, Bars, SpreadArea, around
from gridveil.uncertainty.area_parts import SLAB_NUMBERS, PartsArea
from gridveil.uncertainty.boxes import numbers_in, numbers_read
from gridveil.uncertainty.cells_parts import noise_of_cells
from gridveil.uncertainty.intervals import Weights, errors_of, t_quantile

Number = TypeVar("Number", bound=np.number)
Labels = NDArray[np.int32]
Shape = tuple[int, int, int]
Box = tuple[slice, slice, slice]
BATCH = 256
SLAB_CELLS = 1024  # all replicates of as many fit a processor's cache
FEWEST_REPLICATES = 5  # fewer do not make an error bar


class ErrorBars(Protocol):
    """What queries ask of errors."""

    def bars(self, ranges: NDArray[np.int64], values: Floats) -> Bars:
        """Return standard error and both ends of the 95 % interval of range queries (x0, x1, y0, y1, t0, t1)."""

    def of_area(self, weights: Floats) -> AreaErrors:
        """Return the errors of an area: the share of each cell (y, x) that is in it, 0 to 1."""

    def of_cells(self, start: int, stop: int, values: Floats) -> Bars:
        """Return the bars of every single cell over one period, as arrays (y, x) like the values."""


class ErrorModel(ErrorBars, Protocol):
    """What every kind of error model can do."""

    def cell_errors(self, steps: slice, shape: Shape) -> Floats:
        """Return the standard error of every cell in some steps; `shape` is the whole cube's."""


class Symmetric:
    """An error model of the noise alone: as far above the value as below."""

    def errors_of(self, ranges: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Return standard error and half-width of the 95 % interval of each range query."""
        raise NotImplementedError

    def bars(self, ranges: NDArray[np.int64], values: Floats) -> Bars:
        """Return standard error and both ends of the 95 % interval of each range query."""
        return around(values, *self.errors_of(ranges))


@dataclass(frozen=True)
class Parts(Symmetric):
    """Independent Laplace noise on the sums of parts; see `NoisyParts`."""

    labels: Labels | None
    scales: Floats
    shares: Floats

    @classmethod
    def of(cls, errors: NoisyParts, shape: Shape) -> Parts:
        """Take over a mechanism's error model, in the least room."""
        scales = np.asarray(errors.scales, float) / WH_PER_KWH
        shares = smallest(np.asarray(errors.shares, float), shape)
        if not (np.isfinite(shares).all() and np.isfinite(scales).all() and (scales >= 0).all()):
            msg = "an estimate has noise scales or shares that make no sense; this is a fault of its mechanism"
            raise UsageError(msg, code="error-model-invalid")
        if errors.labels is None:
            return cls(None, smallest(scales, shape), shares)
        labels = smallest(np.asarray(errors.labels, np.int32), shape)
        if scales.ndim != 1 or labels.min() < -1 or labels.max() >= len(scales):
            msg = f"labels from {labels.min()} to {labels.max()} do not fit noise scales of shape {scales.shape}"
            raise UsageError(msg, code="error-model-labels")
        return cls(labels, scales, shares)

    def cell_errors(self, steps: slice, shape: Shape) -> Floats:
        """Return the standard error of every cell in some steps."""
        box = (steps, slice(None), slice(None))
        shares = np.abs(cut(self.shares, box))
        if self.labels is None:
            errors = cut(self.scales, box) * shares
        else:
            labels = cut(self.labels, box)
            errors = np.where(labels >= 0, self.scales[labels], 0.0) * shares
        rows = len(range(*steps.indices(shape[0])))
        return np.broadcast_to(np.sqrt(2) * errors, (rows, *shape[1:]))

    def errors_of(self, ranges: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Return standard error and half-width of the 95 % interval of each range query."""
        # What is large is read a slab at a time: a map over a year is more than memory holds.
        shapes = [array.shape for array in self._arrays]
        if self.labels is None:
            shapes = [np.broadcast_shapes(*shapes)]
        large = np.max([numbers_in(shape, ranges) for shape in shapes], axis=0) > SLAB_NUMBERS
        error, width = np.empty(len(ranges)), np.empty(len(ranges))
        error[~large], width[~large] = errors_of(
            self._weights((slice(t0, t1), slice(y0, y1), slice(x0, x1)))
            for x0, x1, y0, y1, t0, t1 in ranges[~large].tolist()
        )
        for row in np.flatnonzero(large):
            x0, x1, y0, y1, *period = ranges[row].tolist()
            weights = np.zeros((y1, x1))
            weights[y0:, x0:] = 1.0
            (error[row],), (width[row],) = self.of_area(weights).noise_over(np.array([period]))
        return error, width

    def cost_of(self, ranges: NDArray[np.int64]) -> Floats:
        """Return how many stored numbers the error bars of each range query must read."""
        return np.asarray(sum(numbers_read(array, ranges) for array in self._arrays))

    @property
    def _arrays(self) -> list[Floats | Labels]:
        """Those with axes (time, y, x)."""
        return [self.scales if self.labels is None else self.labels, self.shares]

    def of_area(self, weights: Floats) -> PartsArea:
        """Return the noise of an area, weights (y, x)."""
        return PartsArea(self.labels, self.scales, self.shares, weights)

    def of_cells(self, start: int, stop: int, values: Floats) -> Bars:
        """Return the bars of every single cell over one period; half-widths of several parts are 5e-4 off at most."""
        return around(values, *noise_of_cells(self.labels, self.scales, self.shares, (start, stop), values.shape))

    def _weights(self, box: Box) -> Weights:
        """Return the distinct weights `a_i` of the parts a box touches, and how many parts have each."""
        lengths = [side.stop - side.start for side in box]
        shares = cut(self.shares, box)
        if self.labels is None:
            weights = cut(self.scales, box) * shares
            repeats = float(np.prod([n for n, held in zip(lengths, weights.shape, strict=True) if held == 1]))
            distinct, counts = np.unique(np.abs(weights), return_counts=True)
            return distinct, counts.astype(float) * repeats
        labels = cut(self.labels, box)
        for axis, length in enumerate(lengths):
            if labels.shape[axis] == 1:
                shares = shares * length if shares.shape[axis] == 1 else shares.sum(axis=axis, keepdims=True)
        if labels.min() < -1 or labels.max() >= len(self.scales):
            msg = f"labels from {labels.min()} to {labels.max()} for {len(self.scales)} parts"
            raise ValueError(msg)
        covered = np.bincount(labels.ravel() + 1, np.broadcast_to(shares, labels.shape).ravel())[1:]
        weights = np.abs(covered * self.scales[: len(covered)])
        distinct, counts = np.unique(weights[weights != 0], return_counts=True)
        return distinct, counts.astype(float)


@dataclass(frozen=True)
class ReplicateErrors(Symmetric):
    """Replicates `space[r] * time[r]`; see `Replicates`. Axes (replicate, y, x) and (replicate, time)."""

    space: Floats
    time: Floats

    @classmethod
    def of(cls, errors: Replicates, shape: Shape) -> ReplicateErrors:
        """Take over a mechanism's replicates."""
        space, time = np.asarray(errors.space, float), np.asarray(errors.time, float)
        steps, ny, nx = shape
        if len(space) < FEWEST_REPLICATES or space.shape != (len(time), nx, ny) or time.shape != (len(space), steps):
            msg = f"replicates of shapes {space.shape} and {time.shape} do not fit a cube of {(nx, ny, steps)}"
            raise UsageError(msg, code="replicates-shape")
        if not (np.isfinite(space).all() and np.isfinite(time).all()):
            msg = "an estimate has replicates that are not finite; this is a fault of its mechanism"
            raise UsageError(msg, code="replicates-not-finite")
        return cls(space.transpose(0, 2, 1) / WH_PER_KWH, time)

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

    def of_area(self, weights: Floats) -> SpreadArea:
        """Return the spread of an area, weights (y, x)."""
        return SpreadArea(np.tensordot(self.space, weights, axes=2), self._sums[1])

    def of_cells(self, start: int, stop: int, values: Floats) -> Bars:
        """Return the bars of every single cell over one period."""
        time = self.time[:, start:stop].sum(axis=1)[:, None]
        cells = self.space.reshape(len(time), -1)
        slabs = [slice(first, first + SLAB_CELLS) for first in range(0, values.size, SLAB_CELLS)]
        error = np.concatenate([np.std(cells[:, slab] * time, axis=0, ddof=1) for slab in slabs]).reshape(values.shape)
        return around(values, error, error * t_quantile(len(time) - 1))

    def errors_of(self, ranges: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Return standard deviation over replicates, and that times Student's t quantile, of each range query."""
        space, time = self._sums
        errors = [
            np.std(box_sums(space, some[:, [2, 3, 0, 1]]) * box_sums(time, some[:, 4:]), axis=1, ddof=1)
            for some in np.array_split(ranges, len(ranges) // BATCH + 1)
        ]
        joined = np.concatenate(errors)
        return joined, joined * t_quantile(len(self.time) - 1)


def smallest(array: NDArray[Number], shape: Shape) -> NDArray[Number]:
    """Return an array broadcastable to the cube (x, y, t) as (t, y, x), with size 1 where nothing varies.

    >>> smallest(np.array([[[1, 2]], [[1, 2]]]), (2, 1, 2)).shape
    (2, 1, 1)
    """
    whole = array.reshape((1,) * (3 - array.ndim) + array.shape).transpose(2, 1, 0)
    if any(size not in {1, full} for size, full in zip(whole.shape, shape, strict=True)):
        msg = f"an array of shape {array.shape} does not broadcast to a cube of {shape[::-1]} (x, y, t)"
        raise UsageError(msg, code="error-model-shape")
    for axis in range(3):
        first = whole.take([0], axis=axis)
        if whole.strides[axis] == 0 or bool((whole == first).all()):
            whole = first
    return whole


def cut(array: NDArray[Number], box: Box) -> NDArray[Number]:
    """Return the part of an array inside a box; axes of size 1 stay."""
    return array[tuple(side if n > 1 else slice(None) for side, n in zip(box, array.shape, strict=True))]
