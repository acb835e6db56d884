"""A tree that cuts one axis per level, each node as finely as its own noisy sum is worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gridveil.mechanisms.base import Progress, silent
from gridveil.mechanisms.literature.boxes import Boxes, paint, shape_of, sides_of, spread, subdivide, whole
from gridveil.mechanisms.literature.grids import (
    TOTAL_SHARE,
    Positive,
    Share,
    blocks_worth,
    measure_total,
    most_of,
    near_cubes,
)
from gridveil.mechanisms.literature.trees import TreeLevel, make_consistent
from gridveil.model.estimate import Estimate
from gridveil.model.units import Floats, Ints
from gridveil.trusted.kernel.session import Session

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
        shape, most = shape_of(measure), most_of(measure)
        epsilon_total = self.total_share * measure.epsilon
        epsilon = measure.epsilon - epsilon_total
        root = measure_total(measure, epsilon_total)
        nodes = whole(shape)
        levels = [TreeLevel(np.zeros(1, dtype=np.int64), root.values.astype(np.float64), 2 * root.scales**2)]
        axes = [axis for axis, length in enumerate(shape) if length > 1] or [2]
        budgets = epsilon * level_shares(self._counts(nodes, levels[0].sums / most, epsilon, axes)[0, axes])
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
        return spread(nodes, sums, variances, shape, {"nodes": [len(level.sums) for level in levels]})

    def _counts(self, nodes: Boxes, people: Floats, epsilon: float, axes: list[int]) -> Ints:
        """Return into how many parts to cut each node along the axes that are left."""
        left = np.isin(np.arange(3), axes)
        sides = np.where(left, sides_of(nodes), 1)
        return near_cubes(sides, blocks_worth(people, epsilon, sides, self.constant))


def level_shares(fan_outs: Ints) -> Floats:
    """Return how to divide a budget among levels: by the cube root of the expected number of their nodes.

    >>> level_shares(np.array([8, 8])).round(3).tolist()
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
