"""Grids and trees of boxes over cells and steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from gridveil.model.arrays import Floats, Ints
from gridveil.trusted.kernel.session import Measurement, Session
from gridveil.uncertainty import Estimate, NoisyParts

# Boxes of cells and steps: cutting the cube into them, labelling them, and spreading their sums.

Boxes = NDArray[np.int64]
"""Axes (box, axis, 2): for x, y and t, where a box begins and the place after its last."""

Shape = tuple[int, int, int]


def shape_of(measure: Session) -> Shape:
    """Return the shape of the published cube."""
    return measure.grid.nx, measure.grid.ny, measure.window.steps


def make_whole_box(shape: Shape) -> Boxes:
    """Return the cube as one box."""
    return np.array([[[0, length] for length in shape]], dtype=np.int64)


def sides_of(boxes: Boxes) -> Ints:
    """Return how long every box is along each axis, axes (box, axis)."""
    return np.asarray(boxes[:, :, 1] - boxes[:, :, 0])


def sizes_of(boxes: Boxes) -> Ints:
    """Return how many cells and steps are in every box."""
    return np.asarray(sides_of(boxes).prod(axis=1))


def subdivide(boxes: Boxes, counts: Ints) -> tuple[Boxes, Ints]:
    """Cut each box into a grid of `counts` (box, axis) blocks of almost equal sides.

    Returns the blocks, box by box, and the number of the box that each came from.

    >>> blocks, parents = subdivide(make_whole_box((4, 1, 3)), np.array([[2, 1, 2]]))
    >>> blocks[:, 2].tolist()
    [[0, 1], [1, 3], [0, 1], [1, 3]]
    """
    blocks = counts.prod(axis=1)
    parents = np.repeat(np.arange(len(boxes)), blocks)
    within = np.arange(len(parents)) - np.repeat(np.cumsum(blocks) - blocks, blocks)
    _, along_y, along_t = counts[parents].T
    index = np.stack([within // (along_y * along_t), within // along_t % along_y, within % along_t], axis=1)
    begin, side, parts = boxes[parents, :, 0], sides_of(boxes)[parents], counts[parents]
    return np.stack([begin + index * side // parts, begin + (index + 1) * side // parts], axis=2), parents


def paint(boxes: Boxes, shape: Shape) -> Ints:
    """Return for every cell and step the number of the box it is in, -1 for none. The boxes must be disjoint.

    >>> paint(np.array([[[0, 1], [0, 1], [2, 4]]]), (1, 1, 5)).ravel().tolist()
    [-1, -1, 0, 0, -1]
    """
    # Each box adds its number, counted from 1, at its corners with alternating signs; sums along the axes fill it.
    corners = np.zeros([length + 1 for length in shape], dtype=np.int64)
    numbers = np.arange(1, len(boxes) + 1)
    for corner in np.ndindex(2, 2, 2):
        place = tuple(boxes[:, axis, end] for axis, end in enumerate(corner))
        np.add.at(corners, place, (-1) ** sum(corner) * numbers)
    for axis in range(3):
        np.cumsum(corners, axis=axis, out=corners)
    return corners[:-1, :-1, :-1] - 1


def spread_boxes(boxes: Boxes, sums: Floats, variances: Floats, shape: Shape, details: dict[str, Any]) -> Estimate:
    """Spread the sum of each box evenly over it. The boxes must cover the cube; `variances` are of the sums' noise.

    The error model has a box's variance as that of one Laplace variable, and boxes as independent.
    """
    labels, sizes = paint(boxes, shape), sizes_of(boxes)
    errors = NoisyParts(labels, np.sqrt(variances / 2), (1 / sizes)[labels])
    return Estimate((sums / sizes)[labels], errors, {"parts": len(boxes), **details})


# How fine a grid is worth its noise: the rule of uniform grids, in one to three dimensions.

Share = Annotated[float, Field(gt=0, lt=1)]
"""A fraction of the budget."""

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]

TOTAL_SHARE = 0.02
"""Of the budget, for the noisy total that decides how fine a grid will be."""


def measure_total(measure: Session, epsilon: float) -> Measurement:
    """Measure the total of the cube."""
    return measure.sums(np.zeros((1, 1, 1), dtype=np.int64), epsilon)


def find_max_contribution(measure: Session) -> int:
    """Return the most that one household can add to the sum of the whole window, Wh."""
    return min(measure.bound.step * measure.window.steps, measure.bound.window)


def count_worthwhile_blocks(people: Floats, epsilon: float, sides: Ints, constant: float) -> Floats:
    """Return how many blocks boxes of these sides (box, axis) are worth, between 1 and all their cells and steps.

    People: each box's sum in units of what one household can add. The error of a block's noise and that of taking the
    block for uniform balance at `(people * epsilon / constant) ** (2 / (d + 2))` blocks per axis, in `d` axes that can
    be cut at all: `sqrt(people * epsilon / constant)` in two, the rule of Qardaji, Yang and Li.

    >>> count_worthwhile_blocks(np.array([1000.0, -3.0]), 1.0, np.array([[32, 32, 1], [32, 32, 1]]), 10.0)
    array([100.,   1.])
    """
    dimensions = (sides > 1).sum(axis=1)
    blocks = np.maximum(people * epsilon / constant, 1.0) ** (2 * dimensions / (dimensions + 2))
    return np.asarray(np.minimum(blocks, sides.prod(axis=1, dtype=np.float64)))


def choose_parts(sides: Ints, blocks: Floats) -> Ints:
    """Return into how many parts to cut each axis so that about `blocks` blocks of equal sides come out.

    An axis that is shorter than the side of a block stays whole, and the others take over.

    >>> choose_parts(np.array([[32, 32, 120], [2, 32, 32]]), np.array([1920.0, 16.0])).tolist()
    [[8, 8, 30], [1, 4, 4]]
    """
    cut = sides > 1
    for _ in range(sides.shape[1]):
        product = np.where(cut, sides, 1).prod(axis=1, dtype=np.float64)
        side = (product / blocks) ** (1 / np.maximum(cut.sum(axis=1), 1))
        cut &= sides >= side[:, None]
    parts = np.where(cut, np.rint(sides / np.maximum(side, 1.0)[:, None]), 1.0)
    return np.clip(parts, 1, sides).astype(np.int64)


# Noisy sums on the levels of a tree, made consistent: the best linear unbiased estimate of the leaves.


@dataclass(frozen=True)
class TreeLevel:
    """Noisy sums of the nodes of one depth, which together cover everything; infinite variance: not measured.

    `parents` are numbers of nodes one level up; a node that is not split has one child, itself.
    """

    parents: Ints
    sums: Floats
    variances: Floats


def make_consistent(levels: list[TreeLevel]) -> tuple[Floats, Floats]:
    """Return the least-squares estimate of the last level's sums from all levels, from the root on, and its variances.

    Upwards, a node is averaged with the sum of its children by inverse variance; downwards, what a parent differs from
    its children is shared among them by their variance. Two leaves' errors are never positively correlated (the
    inverse of a matrix of nested sums with positive weights has no positive entry off its diagonal), so taking leaves
    for independent overstates the error of a query, if anything.
    """
    up = [(levels[-1].sums, levels[-1].variances)]
    below: list[tuple[Floats, Floats]] = []
    for upper, lower in zip(levels[-2::-1], levels[:0:-1], strict=True):
        sums = np.bincount(lower.parents, up[0][0], len(upper.sums)).astype(np.float64)
        variances = np.bincount(lower.parents, up[0][1], len(upper.sums)).astype(np.float64)
        below.insert(0, (sums, variances))
        variance = 1 / (1 / upper.variances + 1 / variances)
        up.insert(0, ((upper.sums / upper.variances + sums / variances) * variance, variance))
    final, spread = up[0]
    for lower, (sums, variances), (children, before) in zip(levels[1:], up[1:], below, strict=True):
        parents = lower.parents
        share = variances / before[parents]
        final = sums + share * (final - children)[parents]
        spread = variances - share**2 * (before - spread)[parents]
    return final, spread
