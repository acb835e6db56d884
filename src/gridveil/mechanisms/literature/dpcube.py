"""A partition found in noisy cells, measured afresh: two phases."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.mechanisms.base import Progress, silent
from gridveil.mechanisms.literature.grids import (
    Boxes,
    Shape,
    Share,
    make_whole_box,
    paint,
    shape_of,
    sides_of,
    sizes_of,
    spread_boxes,
)
from gridveil.model.arrays import Ints
from gridveil.trusted.kernel.session import Session
from gridveil.uncertainty import Estimate

FALSE_CUTS = 0.05
"""How likely a box that is homogeneous may be cut."""


@dataclass(frozen=True)
class DpCube:
    """Noise on every cell and step shows where to cut the cube into homogeneous boxes; these are measured again.

    Xiao, Xiong, Fan, Goryczka and Li, DPCube: Differentially Private Histogram Release through Multidimensional
    Partitioning (Transactions on Data Privacy 2014).

    cells_share: of epsilon, for every cell and step by itself; the boxes get the rest.
    """

    cells_share: Share = 0.5

    def release(self, measure: Session, progress: Progress = silent) -> Estimate:
        """Measure cells and steps, partition what came out, measure the boxes, and merge by inverse variance.

        The error model has the variance of the merged sums as if the boxes had been known: that they were chosen by
        the noise of the first phase, which has little weight in boxes of many cells, is left out.
        """
        shape = shape_of(measure)
        epsilon_cells = self.cells_share * measure.epsilon
        progress("measure every cell and step", 0.0)
        cells = measure.sums(None, epsilon_cells)
        prefix = compute_prefix_sums(cells.values.reshape(shape))
        progress("measure every cell and step", 1.0)
        boxes = partition(prefix, shape, float(cells.scales[0]))
        progress("partition", 1.0)
        fresh = measure.sums(paint(boxes, shape), measure.epsilon - epsilon_cells)
        variance_fresh = 2 * fresh.scales**2
        variance_cells = 2 * float(cells.scales[0]) ** 2 * sizes_of(boxes)
        variances = 1 / (1 / variance_fresh + 1 / variance_cells)
        sums = (fresh.values / variance_fresh + compute_box_sums(prefix, boxes) / variance_cells) * variances
        progress("measure boxes", 1.0)
        return spread_boxes(boxes, sums, variances, shape, {})


def partition(prefix: Ints, shape: Shape, scale: float) -> Boxes:
    """Cut the cube, a box at a time, where two sides differ most, until no difference stands out of the noise."""
    open_boxes, done = make_whole_box(shape), []
    while len(open_boxes):
        box, axis, at = find_best_cuts(prefix, open_boxes, scale)
        uncut = np.ones(len(open_boxes), dtype=bool)
        uncut[box] = False
        done.append(open_boxes[uncut])
        left, right = open_boxes[box].copy(), open_boxes[box].copy()
        left[np.arange(len(box)), axis, 1] = right[np.arange(len(box)), axis, 0] = at
        open_boxes = np.concatenate([left, right])
    return np.concatenate(done)


def find_best_cuts(prefix: Ints, boxes: Boxes, scale: float) -> tuple[Ints, Ints, Ints]:
    """Return which boxes to cut, along which axis, and at which place: the cut that leaves the least squared deviation.

    A cut of a homogeneous box into `n` and `m >= n` places lowers the squared deviations of its noisy values by `z**2`
    variances of their noise, with `z > sqrt(2 q) + q / sqrt(2 n)` at most `2 exp(-q)` times (Laplace noise is
    sub-gamma). No box is cut for less than that, with `q` such that all its cuts together stay below `FALSE_CUTS`.
    """
    box, axis, at = list_cuts(boxes)
    if not len(box):
        return box, axis, at
    left = boxes[box]
    left[np.arange(len(box)), axis, 1] = at
    size, size_left = sizes_of(boxes)[box], sizes_of(left)
    size_right = size - size_left
    total, total_left = compute_box_sums(prefix, boxes)[box], compute_box_sums(prefix, left)
    difference = total_left / size_left - (total - total_left) / size_right
    z = np.abs(difference) * np.sqrt(size_left / size * size_right / 2) / scale
    q = np.log(2 * np.bincount(box)[box] / FALSE_CUTS)
    limit = np.sqrt(2 * q) + q / np.sqrt(2 * np.minimum(size_left, size_right))
    order = np.lexsort((-z, box))
    _, first = np.unique(box[order], return_index=True)
    best = order[first]
    best = best[z[best] > limit[best]]
    return box[best], axis[best], at[best]


def list_cuts(boxes: Boxes) -> tuple[Ints, Ints, Ints]:
    """Return every place where each box can be cut: number of the box, axis, place."""
    cuts = (sides_of(boxes) - 1).ravel()
    side = np.repeat(np.arange(len(cuts)), cuts)
    within = np.arange(len(side)) - np.repeat(np.cumsum(cuts) - cuts, cuts)
    return side // 3, side % 3, boxes[:, :, 0].ravel()[side] + 1 + within


def compute_prefix_sums(cube: Ints) -> Ints:
    """Return the sums of the cube before every corner."""
    return np.pad(cube, ((1, 0),) * 3).cumsum(0).cumsum(1).cumsum(2)


def compute_box_sums(prefix: Ints, boxes: Boxes) -> Ints:
    """Return the sum of the cube in every box, from its sums before every corner."""
    sums = np.zeros(len(boxes), dtype=np.int64)
    for corner in np.ndindex(2, 2, 2):
        sums += (-1) ** (1 + sum(corner)) * prefix[tuple(boxes[:, axis, end] for axis, end in enumerate(corner))]
    return sums
