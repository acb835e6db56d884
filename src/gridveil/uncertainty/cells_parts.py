"""Noisy parts, in every single cell over one period."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from gridveil.model.arrays import Floats
from gridveil.uncertainty.area_parts import SLAB_NUMBERS, SLAB_STEPS, summed
from gridveil.uncertainty.heavy import quick_widths

Number = TypeVar("Number", bound=np.number)
Labels = NDArray[np.int32]
Period = tuple[int, int]
Sides = tuple[slice, slice]
Block = tuple[Sides, tuple[int, ...]]  # rows and columns, and how many there are
BLOCK = 64  # cells each way, as in a stored chunk


def noise_of_cells(
    labels: Labels | None, scales: Floats, shares: Floats, period: Period, cells: tuple[int, ...]
) -> tuple[Floats, Floats]:
    """Return standard error and half-width of the 95 % interval of every cell (y, x); arrays as in `Parts`.

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
            new = summed(*new)
        keys, sums = summed(np.append(keys, new[0]), np.append(sums, new[1])) if len(keys) else new
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
