"""Prefix sums: the sum of any box of a cube from its corners."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from gridveil.estimate import Floats
from gridveil.release.files import Stored

HELD_BYTES = 256 * 2**20
FEW_POINTS = 1000


def prefix_sums(array: Floats, axes: tuple[int, ...]) -> Floats:
    """Return the sums from the origin up to, not including, every index along some axes.

    >>> prefix_sums(np.array([1.0, 2.0]), axes=(0,))
    array([0., 1., 3.])
    """
    for axis in axes:
        zero = np.zeros_like(array.take([0], axis=axis))
        array = np.concatenate([zero, array.cumsum(axis=axis)], axis=axis)
    return array


def box_sums(prefix: Floats | StoredPrefix, ranges: NDArray[np.int64]) -> Floats:
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
    """Prefix sums in a file: a few points are read from it; for many, all are held in memory if they fit."""

    def __init__(self, dataset: Stored) -> None:
        self.dataset = dataset
        self.shape: tuple[int, ...] = dataset.shape
        self._held: Floats | None = None

    def __getitem__(self, points: tuple[NDArray[np.int64], ...]) -> Floats:
        """Return the values at points, one index array for each axis."""
        if self._held is None and len(points[0]) > FEW_POINTS and self.dataset.nbytes <= HELD_BYTES:
            self._held = self.dataset[()]
        return self._read(points) if self._held is None else self._held[points]

    def _read(self, points: tuple[NDArray[np.int64], ...]) -> Floats:
        """Read each chunk that has points once."""
        sizes = self.dataset.chunks
        places = [index // size for index, size in zip(points, sizes, strict=True)]
        chunks = [-(-length // size) for length, size in zip(self.shape, sizes, strict=True)]
        numbers = np.ravel_multi_index(places, chunks)
        order = np.argsort(numbers, kind="stable")
        values = np.empty(len(numbers))
        starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
        for group in np.split(order, starts)[1:]:
            corner = [int(place[group[0]]) * size for place, size in zip(places, sizes, strict=True)]
            block = self.dataset[tuple(slice(c, c + size) for c, size in zip(corner, sizes, strict=True))]
            values[group] = block[tuple(index[group] - c for index, c in zip(points, corner, strict=True))]
        return values
