"""Independent Laplace noise on the sums of disjoint parts of the cube, spread over each part's cells."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from gridveil.model.arrays import WH_PER_KWH, Floats
from gridveil.model.errors import UsageError
from gridveil.uncertainty.laplace import Weights, errors_of, quick_widths
from gridveil.uncertainty.model import (
    AXES,
    DOUBLE,
    INTEGER,
    KWH,
    Boxes,
    Intervals,
    NoiseModel,
    Shape,
    StoredArray,
    StoredArrays,
    symmetric_intervals,
)
from gridveil.uncertainty.parts_area import SLAB_NUMBERS, SLAB_STEPS, Labels, PartsArea, sum_by_key

Number = TypeVar("Number", bound=np.number)
Box = tuple[slice, slice, slice]
MOST_PARTS = 2**27


@dataclass(frozen=True)
class NoisyParts(NoiseModel):
    """The noise of independent sums over disjoint parts of the cube, spread over each part's cells.

    A range query that covers the share `s_i` of part `i` has the noise `sum_i s_i * Laplace(scales[i])`.

    labels: which part a cell and step belongs to (-1: none), broadcastable to the cube; `None` when every cell and step
        is a part of its own.
    scales: Laplace scale of each part's sum; with `labels=None` broadcastable to the cube.
    shares: the fraction of its part's sum that a cell and step holds, broadcastable to the cube.
    """

    kind: ClassVar[str] = "noisy parts"

    labels: Labels | None
    scales: Floats
    shares: Floats

    def times(self, factor: float, draws: Floats, steps: int) -> Self:
        """Return the model for values times a factor."""
        del draws, steps
        return replace(self, scales=self.scales * factor)

    def to_release(self, shape: Shape, hours: float) -> Self:
        """Return the model as a release stores it, in the least room."""
        del hours
        scales = np.asarray(self.scales, float) / WH_PER_KWH
        shares = compact(np.asarray(self.shares, float), shape)
        if not (np.isfinite(shares).all() and np.isfinite(scales).all() and (scales >= 0).all()):
            msg = "an estimate has noise scales or shares that make no sense; this is a fault of its mechanism"
            raise UsageError(msg, code="error-model-invalid")
        if self.labels is None:
            return replace(self, scales=compact(scales, shape), shares=shares)
        labels = compact(np.asarray(self.labels, np.int32), shape)
        if scales.ndim != 1 or labels.min() < -1 or labels.max() >= len(scales):
            msg = f"labels from {labels.min()} to {labels.max()} do not fit noise scales of shape {scales.shape}"
            raise UsageError(msg, code="error-model-labels")
        return replace(self, labels=labels, scales=scales, shares=shares)

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

    def errors_of(self, boxes: Boxes) -> tuple[Floats, Floats]:
        """Return standard error and half-width of the 95 % interval of each range query."""
        # What is large is read a slab at a time: a map over a year is more than memory holds.
        shapes = [array.shape for array in self._arrays]
        if self.labels is None:
            shapes = [np.broadcast_shapes(*shapes)]
        large = np.max([numbers_in(shape, boxes) for shape in shapes], axis=0) > SLAB_NUMBERS
        error, width = np.empty(len(boxes)), np.empty(len(boxes))
        error[~large], width[~large] = errors_of(
            self._weights((slice(t0, t1), slice(y0, y1), slice(x0, x1)))
            for t0, t1, y0, y1, x0, x1 in boxes[~large].tolist()
        )
        for row in np.flatnonzero(large):
            *period, y0, y1, x0, x1 = boxes[row].tolist()
            weights = np.zeros((y1, x1))
            weights[y0:, x0:] = 1.0
            (error[row],), (width[row],) = self.of_area(weights).noise_over(np.array([period]))
        return error, width

    def cost_of(self, boxes: Boxes) -> Floats:
        """Return how many stored numbers the intervals of each range query must read."""
        return np.asarray(sum(numbers_read(array, boxes) for array in self._arrays))

    @property
    def _arrays(self) -> list[Floats | Labels]:
        """Those with axes (time, y, x)."""
        return [self.scales if self.labels is None else self.labels, self.shares]

    def of_area(self, weights: Floats) -> PartsArea:
        """Return the noise of an area, weights (y, x)."""
        return PartsArea(self.labels, self.scales, self.shares, weights)

    def of_cells(self, start: int, stop: int, values: Floats) -> Intervals:
        """Return the intervals of every single cell over one period; half-widths are 5e-4 off at most."""
        return symmetric_intervals(
            values, *noise_of_cells(self.labels, self.scales, self.shares, (start, stop), values.shape)
        )

    def store(self) -> list[StoredArray]:
        """Return labels, if there are any, scales and shares."""
        scales = StoredArray(
            "part_scales", ("part",) if self.scales.ndim == 1 else _axes(self.scales), self.scales, KWH
        )
        shares = StoredArray("part_shares", _axes(self.shares), self.shares)
        if self.labels is None:
            return [scales, shares]
        return [StoredArray("part_labels", _axes(self.labels), self.labels), scales, shares]

    @classmethod
    def load(cls, stored: StoredArrays, shape: Shape, hours: float) -> Self:
        """Return the model of a release from its file; large arrays stay in it."""
        del hours
        shares = stored.broadcastable("part_shares", shape, DOUBLE)
        if not stored.has("part_labels"):
            return cls(None, stored.broadcastable("part_scales", shape, DOUBLE), shares)
        labels = stored.broadcastable("part_labels", shape, INTEGER)
        parts = min(stored.shape("part_scales")[0], MOST_PARTS)
        return cls(labels, stored.dataset("part_scales", (parts,), DOUBLE)[()], shares)

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


def compact(array: NDArray[Number], shape: Shape) -> NDArray[Number]:
    """Return an array broadcastable to the cube (x, y, t) as (t, y, x), with size 1 where nothing varies.

    >>> compact(np.array([[[1, 2]], [[1, 2]]]), (2, 1, 2)).shape
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


def _axes(array: NDArray[Any]) -> tuple[str, ...]:
    return tuple(axis if size > 1 else "once" for axis, size in zip(AXES, array.shape, strict=True))


# How many numbers of the model range queries need.


def numbers_in(shape: tuple[int, ...], boxes: Boxes) -> Floats:
    """Return how many numbers of an array lie in each box; axes of size 1 count once.

    >>> numbers_in((24, 1, 8), np.array([[0, 6, 0, 5, 0, 4]])).tolist()
    [24.0]
    """
    lengths = boxes[:, 1::2] - boxes[:, ::2]
    return np.asarray(np.where(np.array(shape) > 1, lengths, 1).astype(float).prod(axis=1))


def numbers_read(array: NDArray[Any], boxes: Boxes) -> Floats:
    """Return how many numbers are read for each box: those in it or, in a file, all of every chunk it meets."""
    chunks = getattr(array, "chunks", None)
    if chunks is None:
        return numbers_in(array.shape, boxes)
    starts, stops = boxes[:, ::2], boxes[:, 1::2]
    met = np.where(np.array(array.shape) > 1, -(-stops // np.array(chunks)) - starts // np.array(chunks), 1)
    return np.asarray(met.astype(float).prod(axis=1) * float(np.prod(chunks)))


# The noise in every single cell over one period.

Period = tuple[int, int]
Sides = tuple[slice, slice]
Block = tuple[Sides, tuple[int, ...]]  # rows and columns, and how many there are
BLOCK = 64  # cells each way, as in a stored chunk


def noise_of_cells(
    labels: Labels | None, scales: Floats, shares: Floats, period: Period, cells: tuple[int, ...]
) -> tuple[Floats, Floats]:
    """Return standard error and half-width of the 95 % interval of every cell (y, x); arrays as in `NoisyParts`.

    >>> labels, shares = np.array([[[0]], [[0]], [[1]]], np.int32), np.array([[[0.5]], [[0.5]], [[1.0]]])
    >>> error, width = noise_of_cells(labels, np.array([1.0, 1.0]), shares, (0, 2), (1, 1))
    >>> error.round(4).item(), width.round(4).item()
    (1.4142, 2.9957)
    """
    if labels is None:
        powers = _of_steps(scales, shares, period)
    elif labels.shape[0] == 1:
        powers = _powers((_scales_of(labels[0], scales) * _sums(shares, period)) ** 2)
    else:
        powers = _of_parts(labels, scales, shares, period, cells)
    second = np.where(powers[0] > 0, powers[0], 1.0)
    error = np.sqrt(2 * powers[0])
    width = error * quick_widths(powers[1] / second**2, powers[2] / second**3)
    return np.broadcast_to(error, cells), np.broadcast_to(width, cells)


def _of_steps(scales: Floats, shares: Floats, period: Period) -> Floats:
    """Every step of a cell is a part: return power sums 2, 4 and 6 over the period (3, y or 1, x or 1)."""
    first, stop = period
    if scales.shape[0] == shares.shape[0] == 1:
        return _powers((scales[0] * shares[0]) ** 2) * (stop - first)
    total = np.zeros((3, 1, 1))
    for some in _slabs(period, _cells_of(scales, shares)):
        squares = (_at(scales, some) * _at(shares, some)) ** 2
        total = total + np.stack([(squares**power).sum(axis=0) for power in (1, 2, 3)])
    return total


def _of_parts(labels: Labels, scales: Floats, shares: Floats, period: Period, cells: tuple[int, ...]) -> Floats:
    """Return the power sums of every cell (3, y, x), over long periods by blocks: all that cells meet needs room."""
    powers = np.empty((3, *cells))
    side = BLOCK if np.prod(cells) * (period[1] - period[0]) > SLAB_NUMBERS else max(cells)
    for first_row in range(0, cells[0], side):
        for first_column in range(0, cells[1], side):
            block = slice(first_row, first_row + side), slice(first_column, first_column + side)
            size = powers[0][block].shape
            powers[:, *block] = _of_block(labels, scales, shares, period, (block, size))
    return powers


def _of_block(labels: Labels, scales: Floats, shares: Floats, period: Period, block: Block) -> Floats:
    """Add up each cell's shares of every part it meets, then the powers of these (3, y, x)."""
    sides, cells = block
    count, places = len(scales), np.arange(np.prod(cells)).reshape(cells)
    keys, sums = np.empty(0, int), np.empty(0)
    for some in _slabs(period, places.size):
        numbers = _at(labels, some, sides)
        noise = np.broadcast_to(_scales_of(numbers, scales) * _at(shares, some, sides), (len(numbers), *cells))
        found = places * count + np.maximum(numbers, 0)  # what is in no part has no noise: any part will do
        new = found.ravel(), noise.ravel()
        if len(numbers) > 1:
            new = sum_by_key(*new)
        keys, sums = sum_by_key(np.append(keys, new[0]), np.append(sums, new[1])) if len(keys) else new
    squares = sums**2
    owners = keys // count
    powers = [np.bincount(owners, squares**power, minlength=places.size).reshape(cells) for power in (1, 2, 3)]
    return np.stack(powers)


def _powers(squares: Floats) -> Floats:
    return np.stack([squares, squares**2, squares**3])


def _sums(shares: Floats, period: Period) -> Floats:
    """Return the sums of shares over the period (y or 1, x or 1)."""
    first, stop = period
    if shares.shape[0] == 1:
        return np.asarray(shares[0] * (stop - first))
    return np.asarray(sum(_at(shares, some).sum(axis=0) for some in _slabs(period, _cells_of(shares))))


def _scales_of(numbers: Labels, scales: Floats) -> Floats:
    """Return the scale of each part; a label of -1 has none."""
    if numbers.min() < -1 or numbers.max() >= len(scales):
        msg = f"labels from {numbers.min()} to {numbers.max()} for {len(scales)} parts"
        raise ValueError(msg)
    return np.concatenate([[0.0], scales])[numbers + 1]


def _cells_of(*arrays: NDArray[Any]) -> int:
    """Return how many cells a step of the product of arrays has."""
    return int(np.prod(np.broadcast_shapes(*(array.shape[1:] for array in arrays))))


def _slabs(period: Period, cells: int) -> Iterator[slice]:
    """Split a period where stored chunks end, so that what is read together takes little room."""
    first, stop = period
    length = max(1, SLAB_NUMBERS // cells // SLAB_STEPS) * SLAB_STEPS
    edges = [first, *range((first // length + 1) * length, stop, length), stop]
    return (slice(*pair) for pair in pairwise(edges))


def _at(array: NDArray[Number], steps: slice, sides: Sides = (slice(None), slice(None))) -> NDArray[Number]:
    """Return some steps of some cells; axes of size 1 stay."""
    wanted = zip((steps, *sides), array.shape, strict=True)
    return array[tuple(side if size > 1 else slice(None) for side, size in wanted)]
