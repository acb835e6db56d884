"""A cube by labels and in slabs: exact sums, and what a pillar has of each label. Public numbers decide all shapes.

Labels keep their small shape: an axis of length 1 stands for "the same all along". Cubes that are too large to be held
are asked for and answered in slabs of rows along x.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gridveil.model.arrays import Ints
from gridveil.model.errors import UsageError
from gridveil.model.running import Limits
from gridveil.trusted.kernel.account import Marks

Slab = tuple[slice, Ints]
"""Some rows of a cube along x, and the cube's values there."""

WIDEST_RATIO = 2.0**100
"""Relative scales stay where floats have full precision."""


MAX_HELD_VALUES = 2**27
"""Cells x steps that are held at most, whatever the limits say: Lemma 3 of the proof needs fewer than 2**30."""


def is_held(values: int, limits: Limits) -> bool:
    """Return whether so many cells x steps are few enough to be held: public numbers decide."""
    return values <= min(limits.held_values, MAX_HELD_VALUES)


def check_held(shape: tuple[int, int, int], limits: Limits) -> None:
    """Refuse a cube that is too large to be held, for questions that look at it as a whole."""
    if not is_held(math.prod(shape), limits):
        most = min(limits.held_values, MAX_HELD_VALUES)
        msg = (
            f"only sums can be measured of a cube of {shape[0]} x {shape[1]} x {shape[2]}: other questions take at "
            f"most {most} cells x steps; use a coarser grid, a shorter window, or a mechanism that "
            "measures sums, as mosaic, stpt, identity and even do"
        )
        raise UsageError(msg, code="cube-too-large")


def iterate_slabs(shape: tuple[int, ...], limits: Limits) -> Iterator[slice]:
    """Give out the first axis of an array of this shape in runs of about `slab_values` values. Public numbers only.

    >>> [rows.start for rows in iterate_slabs((5, 2**23), Limits(slab_values=2**24))]
    [0, 2, 4]
    """
    rows = max(1, limits.slab_values // math.prod(shape[1:]))
    return (slice(first, min(first + rows, shape[0])) for first in range(0, shape[0], rows))


def parse_labels(labels: ArrayLike, shape: tuple[int, int, int]) -> Marks:
    """Return the labels as integers with three axes, each as long as the cube's or 1; refuse what cannot be that."""
    given = np.array(
        np.asarray(labels)
    )  # a copy: what is charged for is what is answered, whatever becomes of the caller's array
    if given.dtype.kind not in "iu" or given.ndim > len(shape):
        msg = f"labels must be integers that broadcast to the cube {shape}, not {given.dtype} of shape {given.shape}"
        raise UsageError(msg, code="labels-shape")
    if given.dtype == np.uint64:  # numpy does not index with it
        given = given.astype(np.int64)
    marks = given.reshape((1,) * (len(shape) - given.ndim) + given.shape)
    if any(have not in (1, want) for have, want in zip(marks.shape, shape, strict=True)) or not marks.size:
        msg = f"labels of shape {given.shape} do not broadcast to the cube {shape}"
        raise UsageError(msg, code="labels-shape")
    if marks.min() < -1:
        msg = f"label {marks.min()}: labels are 0, 1, 2, ...; -1 is not measured"
        raise UsageError(msg, code="labels-negative")
    return marks


def parse_relative_scales(relative: ArrayLike | None, marks: Marks) -> NDArray[np.float64]:
    """Return how large the noise scales of the labels are relative to each other, one for each label."""
    count = int(marks.max()) + 1
    if not count:
        msg = "all labels are -1: there is nothing to measure"
        raise UsageError(msg, code="nothing-to-measure")
    if relative is None:
        return np.ones(count)
    ratios = np.array(np.asarray(relative), dtype=np.float64)  # a copy: what is charged for is what is used
    within = (ratios >= 1 / WIDEST_RATIO) & (ratios <= WIDEST_RATIO)
    if ratios.ndim != 1 or len(ratios) < count or not within.all():
        msg = f"relative scales: give one positive number, neither tiny nor huge, for each of the {count} labels"
        raise UsageError(msg, code="relative-scales")
    return ratios


def sum_slabs(slabs: Iterable[Slab], marks: Marks, count: int) -> Ints:
    """Return the sum of the cube over each label 0 .. count-1: that of all its slabs, added up in exact integers."""
    sums = np.zeros(count, dtype=np.int64)
    for rows, slab in slabs:
        sums += sum_by_label(slab, marks[rows] if len(marks) > 1 else marks, count)
    return sums


def sum_by_label(cube: Ints, marks: Marks, count: int) -> Ints:
    """Return the sum of the cube over each label 0 .. count-1, in exact integer arithmetic. O(cells x steps)."""
    along = tuple(axis for axis in range(3) if marks.shape[axis] == 1)
    reduced = cube.sum(axis=along, keepdims=True) if along else cube
    sums = np.zeros(count + 1, dtype=np.int64)  # the last entry takes label -1
    for slab, slab_marks in zip(reduced, marks, strict=True):
        np.add.at(sums, slab_marks.ravel(), slab.ravel())
    return sums[:count]


def count_most_steps(marks: Marks, steps: int, count: int) -> Ints:
    """Return for each label how many steps it has in one pillar, in the pillar that has most of it.

    >>> count_most_steps(np.array([[[0, 0, 1], [2, -1, 0]]]), 3, 3)
    array([2, 1, 1])
    """
    most = np.zeros(count, dtype=np.int64)
    for slab in marks:
        _, label, length = _find_runs(slab)
        np.maximum.at(most, label, length)
    return np.asarray(most * (steps // marks.shape[-1]), dtype=np.int64)


def count_labels_and_steps(marks: Marks, steps: int) -> tuple[int, int]:
    """Return how many labels a pillar has steps in, and how many steps in one label, each in the worst pillar.

    >>> count_labels_and_steps(np.array([[[0, 0, 1], [2, -1, 0]]]), 3)
    (2, 2)
    """
    most_labels = longest = 0
    for slab in marks:
        pillar, _, length = _find_runs(slab)
        most_labels = max(most_labels, int(np.bincount(pillar).max(initial=0)))
        longest = max(longest, int(length.max(initial=0)))
    return most_labels, longest * (steps // marks.shape[-1])


def _find_runs(slab: NDArray[Any]) -> tuple[Ints, Ints, Ints]:
    """Return the pillar, label and number of steps of all that the pillars of one row of the map have steps in."""
    ordered = np.sort(slab, axis=-1)  # of one row at a time: sorting all labels would take a copy of them
    begins = np.ones(ordered.shape, dtype=bool)  # a pillar's first step begins a run
    begins[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    at = np.flatnonzero(begins)
    label, length = ordered.ravel()[at].astype(np.int64), np.diff(at, append=ordered.size)
    measured = label >= 0
    return (at // ordered.shape[-1])[measured], label[measured], length[measured]
