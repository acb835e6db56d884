"""How many numbers of an error model range queries need."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridveil.model.arrays import Floats

Stored = Any  # an array (time, y, x) in memory, or in a file: h5py has no types
TIME_Y_X = [4, 2, 0]  # where ranges have the starts along these axes; ends are the next column


def numbers_in(shape: tuple[int, ...], ranges: NDArray[np.int64]) -> Floats:
    """Return how many numbers of an array lie in each range (x0, x1, y0, y1, t0, t1); axes of size 1 count once.

    >>> numbers_in((24, 1, 8), np.array([[0, 4, 0, 5, 0, 6]])).tolist()
    [24.0]
    """
    lengths = (ranges[:, 1::2] - ranges[:, ::2])[:, ::-1]
    return np.asarray(np.where(np.array(shape) > 1, lengths, 1).astype(float).prod(axis=1))


def numbers_read(array: Stored, ranges: NDArray[np.int64]) -> Floats:
    """Return how many numbers are read for each range: those in it or, in a file, all of every chunk it meets."""
    chunks = getattr(array, "chunks", None)
    if chunks is None:
        return numbers_in(array.shape, ranges)
    starts, stops = (ranges[:, [column + end for column in TIME_Y_X]] for end in (0, 1))
    met = np.where(np.array(array.shape) > 1, -(-stops // np.array(chunks)) - starts // np.array(chunks), 1)
    return np.asarray(met.astype(float).prod(axis=1) * float(np.prod(chunks)))
