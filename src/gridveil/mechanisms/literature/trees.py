"""Noisy sums on the levels of a tree, made consistent: the best linear unbiased estimate of the leaves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.model.units import Floats, Ints


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
