"""A tree of boxes that are as homogeneous as a noisy search can make them, with noisy sums of all its nodes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from gridveil.mechanisms.base import Progress, silent
from gridveil.mechanisms.literature.granularity import Search, find_longest_axes, halve
from gridveil.mechanisms.literature.grids import (
    TOTAL_SHARE,
    Positive,
    Shape,
    Share,
    TreeLevel,
    find_max_contribution,
    make_consistent,
    make_whole_box,
    measure_total,
    paint,
    shape_of,
    spread_boxes,
)
from gridveil.trusted.kernel.session import Session
from gridveil.uncertainty import Estimate


@dataclass(frozen=True)
class Htf:
    """A tree that splits the cube where a noisy search finds the most homogeneous halves; sums of all nodes (HTF).

    Shaham, Ghinita, Ahuja, Krumm and Shahabi, HTF: Homogeneous Tree Framework for Differentially-Private Release of
    Location Data (SIGSPATIAL 2021), in three dimensions.

    total_share: of epsilon, for the noisy total that decides on the height of the tree.
    split_share: of epsilon, for the search; the sums of nodes get the rest.
    rounds: of the search; each measures two places per node.
    constant: of the height; larger means a lower tree.
    """

    total_share: Share = TOTAL_SHARE
    split_share: Share = 0.1
    rounds: Annotated[int, Field(ge=0)] = 3
    constant: Positive = 10.0

    def release(self, measure: Session, progress: Progress = silent) -> Estimate:
        """Measure the total, split level by level, then measure the nodes of every level.

        The error model has each leaf's variance after consistency, and takes leaves for independent: bars of large
        regions are wider than needed.
        """
        shape = shape_of(measure)
        total = measure_total(measure, self.total_share * measure.epsilon)
        levels = [TreeLevel(np.zeros(1, dtype=np.int64), total.values.astype(np.float64), 2 * total.scales**2)]
        nodes, parents = make_whole_box(shape), np.zeros(1, dtype=np.int64)
        height = self._height(float(total.values[0]) / find_max_contribution(measure), measure.epsilon, shape)

        tree = [(nodes, parents)]
        for depth in range(height):
            axes = find_longest_axes(nodes, shape)
            epsilon = self.split_share * measure.epsilon / (height * (2 * self.rounds + 1))
            at = Search(measure, nodes, axes, epsilon).best(self.rounds)
            nodes, parents = halve(nodes, axes, at)
            tree.append((nodes, parents))
            progress("split", (depth + 1) / height)

        # The search may cost less than it was given (small boxes move less, and not every place needs measuring). What
        # every level costs is the same in all pillars, so whatever is left can be spent to the end.
        shares = 2.0 ** (np.arange(height + 1) / 3)
        budgets = measure.remaining() * (1 - 1e-12) * shares / shares.sum()
        for depth, (boxes, above) in enumerate(tree):
            measured = measure.sums(paint(boxes, shape), budgets[depth])
            levels.append(TreeLevel(above, measured.values.astype(np.float64), 2 * measured.scales**2))
            progress("measure nodes", (depth + 1) / len(tree))
        sums, variances = make_consistent(levels)
        return spread_boxes(nodes, sums, variances, shape, {"height": height})

    def _height(self, people: float, epsilon: float, shape: Shape) -> int:
        """Return the height that makes as many leaves as a uniform grid of the plane would have cells."""
        leaves = min(people * epsilon / self.constant, math.prod(shape))
        return math.ceil(math.log2(max(leaves, 1.0)))
