"""How fine a grid is worth its noise, and where to split it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gridveil.mechanisms.base import Progress, silent
from gridveil.mechanisms.literature.grids import (
    TOTAL_SHARE,
    Boxes,
    Positive,
    Shape,
    Share,
    TreeLevel,
    choose_parts,
    count_worthwhile_blocks,
    find_max_contribution,
    make_consistent,
    make_whole_box,
    measure_total,
    paint,
    shape_of,
    sides_of,
    spread_boxes,
    subdivide,
)
from gridveil.model.arrays import Floats, Ints
from gridveil.trusted.kernel.session import Session
from gridveil.uncertainty import Estimate

# Where to split boxes in two: a noisy search for the place that leaves both sides most homogeneous.


def find_longest_axes(boxes: Boxes, shape: Shape) -> Ints:
    """Return for each box the axis along which it is longest, as a fraction of the cube and if it can be split there.

    >>> find_longest_axes(np.array([[[0, 2], [0, 4], [0, 8]], [[0, 1], [0, 2], [0, 1]]]), (4, 4, 16)).tolist()
    [1, 1]
    """
    sides = sides_of(boxes)
    return np.asarray(np.where(sides > 1, sides / shape, 0.0).argmax(axis=1))


def halve(boxes: Boxes, axes: Ints, at: Ints) -> tuple[Boxes, Ints]:
    """Split each box along its axis after `at` places; return the halves and the number of the box each came from.

    A box that has one place along its axis stays as it is.
    """
    numbers = np.arange(len(boxes))
    split = sides_of(boxes)[numbers, axes] > 1
    left, right = boxes.copy(), boxes[split]
    middle = boxes[numbers, axes, 0] + at
    left[numbers[split], axes[split], 1] = middle[split]
    right[np.arange(len(right)), axes[split], 0] = middle[split]
    parents = np.concatenate([numbers, numbers[split]])
    order = np.argsort(parents, kind="stable")
    return np.concatenate([left, right])[order], parents[order]


class Search:
    """Searches the best split of all boxes at once: where `sum |value - mean|` of the two sides is least.

    Boxes are disjoint, so a candidate of each box is one measurement together. Starting from the middle, `rounds`
    times the places halfway to both ends of what is left of the box are tried; the best of three is kept and the ends
    move in. That is `2 * rounds + 1` measurements at most, each with `epsilon`.
    """

    def __init__(self, measure: Session, boxes: Boxes, axes: Ints, epsilon: float) -> None:
        self._measure, self._epsilon = measure, epsilon
        numbers = np.arange(len(boxes))
        self._sides = sides_of(boxes)[numbers, axes]
        self._box = paint(boxes, shape_of(measure))
        places = np.indices(self._box.shape, sparse=True)
        along: Ints = np.choose(axes[self._box], places)
        self._place = along - boxes[numbers, axes, 0][self._box]

    def best(self, rounds: int) -> Ints:
        """Return how many places of each box are to be left of its split: at least one, and not all."""
        low, high = np.ones_like(self._sides), np.maximum(self._sides - 1, 1)
        at = (low + high) // 2
        score = self._scores(at, high > low, np.zeros(len(at)))
        for _ in range(rounds):
            lower, upper = (low + at) // 2, (at + high + 1) // 2
            scores = np.stack([score, self._scores(lower, lower < at, score), self._scores(upper, upper > at, score)])
            choice = scores.argmin(axis=0)
            low, high = np.choose(choice, [lower, low, at]), np.choose(choice, [upper, at, high])
            at, score = np.choose(choice, [at, lower, upper]), scores.min(axis=0)
        return np.asarray(at)

    def _scores(self, at: Ints, asked: NDArray[np.bool_], known: Floats) -> Floats:
        """Measure the deviations left by splits of the boxes that are asked for; of others repeat what is known."""
        scores = known.copy()
        if asked.any():
            numbers = np.where(asked, np.cumsum(asked) - 1, -1)[self._box]
            labels = np.where(numbers < 0, -1, 2 * numbers + (self._place >= at[self._box]))
            answers = self._measure.deviations(labels, self._epsilon)
            scores[asked] = answers.values.reshape(-1, 2).sum(axis=1)
        return scores


# A tree that cuts one axis per level, each node as finely as its own noisy sum is worth.

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Granularity:
    """Cut x, then y, then time, each block as finely as its noisy sum allows (density-aware, after Shaham 2022).

    After Shaham, Ghinita and Shahabi, Differentially-Private Publication of Origin-Destination Matrices with
    Intermediate Stops (EDBT 2022), whose full text was not at hand. From it, as known second hand: a tree with one
    dimension per level, the fan-out of each node by the granularity rule of extended uniform grids from the node's own
    noisy count, and a node that is not worth cutting gets the rest of its budget. Ours: the user-level accounting,
    the order of the axes, budgets of levels in proportion to the cube root of their expected number of nodes, and
    consistency. Its entropy-based rule is not implemented: it could not be established.

    total_share: of epsilon, for the root. constant: of the rule; larger means fewer blocks.
    """

    total_share: Share = TOTAL_SHARE
    constant: Positive = 10.0

    def release(self, measure: Session, progress: Progress = silent) -> Estimate:
        """Measure the root, then level by level what it was cut into.

        The error model has each leaf's variance after consistency, and takes leaves for independent: bars of large
        regions are wider than needed.
        """
        shape, most = shape_of(measure), find_max_contribution(measure)
        epsilon_total = self.total_share * measure.epsilon
        epsilon = measure.epsilon - epsilon_total
        root = measure_total(measure, epsilon_total)
        nodes = make_whole_box(shape)
        levels = [TreeLevel(np.zeros(1, dtype=np.int64), root.values.astype(np.float64), 2 * root.scales**2)]
        axes = [axis for axis, length in enumerate(shape) if length > 1] or [2]
        budgets = epsilon * divide_levels(self._counts(nodes, levels[0].sums / most, epsilon, axes)[0, axes])
        settled = np.zeros(1, dtype=bool)
        for number, axis in enumerate(axes):
            progress("measure levels", number / len(axes))
            rest = float(budgets[number:].sum())
            counts = self._counts(nodes, levels[-1].sums / most, rest, axes[number:])
            stop = counts.prod(axis=1) == 1
            fan_out = np.ones_like(counts)
            fan_out[:, axis] = np.where(settled, 1, counts[:, axis])
            nodes, parents = subdivide(nodes, fan_out)
            before, stop = settled[parents], stop[parents]
            levels[-1:] = hand_down(levels[-1], settled, parents)
            if not before.all():
                level_epsilons = np.where(stop, rest, budgets[number])[~before]
                levels[-1] = measure_level(measure, nodes, levels[-1], before, level_epsilons)
            settled = before | stop
        sums, variances = make_consistent(levels)
        progress("measure levels", 1.0)
        return spread_boxes(nodes, sums, variances, shape, {"nodes": [len(level.sums) for level in levels]})

    def _counts(self, nodes: Boxes, people: Floats, epsilon: float, axes: list[int]) -> Ints:
        """Return into how many parts to cut each node along the axes that are left."""
        left = np.isin(np.arange(3), axes)
        sides = np.where(left, sides_of(nodes), 1)
        return choose_parts(sides, count_worthwhile_blocks(people, epsilon, sides, self.constant))


def divide_levels(fan_outs: Ints) -> Floats:
    """Return how to divide a budget among levels: by the cube root of the expected number of their nodes.

    >>> divide_levels(np.array([8, 8])).round(3).tolist()
    [0.333, 0.667]
    """
    weights = np.cumprod(fan_outs, dtype=np.float64) ** (1 / 3)
    return np.asarray(weights / weights.sum())


def hand_down(level: TreeLevel, settled: Bools, parents: Ints) -> tuple[TreeLevel, TreeLevel]:
    """Return a level without the measurements of its settled nodes, and the next with them; the rest not measured.

    A settled node is its own only child, down to the leaves: its measurement goes with it.
    """
    upper = TreeLevel(level.parents, level.sums, np.where(settled, np.inf, level.variances))
    return upper, TreeLevel(parents, level.sums[parents], np.where(settled, level.variances, np.inf)[parents])


def measure_level(measure: Session, nodes: Boxes, level: TreeLevel, settled: Bools, epsilons: Floats) -> TreeLevel:
    """Measure the nodes of a level that are not settled, each with its epsilon.

    Time is cut last, so nodes with different epsilons are in different pillars: each pays its own.
    """
    numbers = np.where(settled, -1, np.cumsum(~settled) - 1)
    labels = numbers[paint(nodes, shape_of(measure))]
    most = float(epsilons.max())
    measured = measure.sums(labels, most, relative=most / epsilons)
    sums, variances = level.sums.copy(), level.variances.copy()
    sums[~settled], variances[~settled] = measured.values, 2 * measured.scales**2
    return TreeLevel(level.parents, sums, variances)
