"""Exact sums of a cube by label. Labels keep their small shape: an axis of length 1 stands for "the same all along"."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gridveil.errors import UsageError
from gridveil.privacy.account import Marks

Ints = NDArray[np.int64]


def as_labels(labels: ArrayLike, shape: tuple[int, int, int]) -> Marks:
    """Return the labels as integers with three axes, each as long as the cube's or 1; refuse what cannot be that."""
    given = np.array(labels)  # a copy: what is charged for is what is answered, whatever becomes of the caller's array
    if given.dtype.kind not in "iu" or given.ndim > len(shape):
        msg = f"labels must be integers that broadcast to the cube {shape}, not {given.dtype} of shape {given.shape}"
        raise UsageError(msg)
    if given.dtype == np.uint64:  # numpy does not index with it
        given = given.astype(np.int64)
    marks = given.reshape((1,) * (len(shape) - given.ndim) + given.shape)
    if any(have not in (1, want) for have, want in zip(marks.shape, shape, strict=True)) or not marks.size:
        msg = f"labels of shape {given.shape} do not broadcast to the cube {shape}"
        raise UsageError(msg)
    if marks.min() < -1:
        msg = f"label {marks.min()}: labels are 0, 1, 2, ...; -1 is not measured"
        raise UsageError(msg)
    return marks


def sum_by_label(cube: Ints, marks: Marks, count: int) -> Ints:
    """Return the sum of the cube over each label 0 .. count-1, in exact integer arithmetic. O(cells x steps)."""
    along = tuple(axis for axis in range(3) if marks.shape[axis] == 1)
    reduced = cube.sum(axis=along, keepdims=True) if along else cube
    sums = np.zeros(count + 1, dtype=np.int64)  # the last entry takes label -1
    for slab, slab_marks in zip(reduced, marks, strict=True):
        np.add.at(sums, slab_marks.ravel(), slab.ravel())
    return sums[:count]


def steps_per_label(marks: Marks, steps: int, count: int) -> Ints:
    """Return how many steps of each pillar lie in each label, axes (x, y, label) with x and y perhaps of length 1."""
    nx, ny, nt = marks.shape
    pillar = np.arange(nx * ny).reshape(nx, ny, 1)
    flat = np.where(marks >= 0, pillar * count + marks.astype(np.int64), nx * ny * count)
    counts = np.bincount(flat.ravel(), minlength=nx * ny * count + 1)[:-1].reshape(nx, ny, count)
    return np.asarray(counts * (steps // nt), dtype=np.int64)


def crowding(marks: Marks, steps: int) -> tuple[int, int]:
    """Return how many labels a pillar has steps in, and how many steps in one label, each in the worst pillar.

    >>> crowding(np.array([[[0, 0, 1], [2, -1, 0]]]), 3)
    (2, 2)
    """
    count, most_labels, most_steps = int(marks.max()) + 1, 0, 0
    for slab in marks:  # one at a time: sorting the whole cube would take a copy of it
        pillar = np.broadcast_to(np.arange(len(slab))[:, None], slab.shape)[slab >= 0]
        pairs = pillar * count + slab[slab >= 0].astype(np.int64)
        found, counts = np.unique(pairs, return_counts=True)
        if len(found):
            most_labels = max(most_labels, int(np.bincount(found // count).max()))
            most_steps = max(most_steps, int(counts.max()))
    return most_labels, most_steps * (steps // marks.shape[-1])
