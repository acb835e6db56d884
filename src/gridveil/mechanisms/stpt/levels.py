"""How much the map uses, and which share of it each cell has: estimated from the sanitised tree alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.mechanisms.inference.quadtree import QuadtreeLevel
from gridveil.mechanisms.stpt.series import Series
from gridveil.mechanisms.stpt.shrinkage import shrink
from gridveil.model.units import Floats

HARMONIC_SD = 0.25
"""Prior standard deviation of a daily harmonic, relative to the map's level."""
MISFIT = 0.1
"""How far a map total may lie off the harmonic curve, relative to the level."""
LEAST_OF_LEVEL = 0.05
"""No hour of the map is believed to be below this fraction of its level."""


@dataclass(frozen=True)
class MapLevel:
    """The map's mean use of one step, Wh, and the variance of the noise in it, relative to its square."""

    mean: float
    noise: float


def map_level(root: Series) -> MapLevel:
    """Return the mean of the root's sanitised series, at least as much as its own noise could hide."""
    steps = root.part.steps
    mean = max(float(root.sums.mean()), root.scale * (2 / steps) ** 0.5, 1.0)
    return MapLevel(mean, 2 * (root.scale / mean) ** 2 / steps)


def hindcast(series: list[Series], level: MapLevel, waves: Floats) -> list[float]:
    """Return the map's total over each slice, from a daily curve fitted to the totals of all slices.

    Slices lie at different hours, so their totals differ even if nothing changes; a slice's own noisy total, on the
    other hand, is too poor to divide by.
    """
    rows, totals, variances = [], [], []
    for each in series:
        basis = np.column_stack([np.ones(each.part.steps), waves[each.part.start : each.part.end]])
        rows.append(basis if each.part.stepwise else basis.sum(axis=0, keepdims=True))
        totals.append(each.sums.sum(axis=(1, 2)))
        misfit = MISFIT * level.mean * each.part.steps / each.part.rows
        variances.append(np.full(each.part.rows, 2 * each.scale**2 * each.part.level.blocks + misfit**2))
    design, target = np.concatenate(rows), np.concatenate(totals) / level.mean
    weights = level.mean**2 / np.concatenate(variances)
    prior = np.diag([0.0, *[HARMONIC_SD**-2] * waves.shape[1]])
    curve = np.linalg.solve(design.T * weights @ design + prior, design.T * weights @ target)
    return [
        level.mean * max(float((block @ curve).sum()), LEAST_OF_LEVEL * each.part.steps)
        for block, each in zip(rows, series, strict=True)
    ]


def block_shares(series: list[Series], totals: list[float]) -> list[Floats]:
    """Return each block's share of the map, for every level of the tree; the shares of a level add up to 1.

    Upward, a block's own share is combined with the sum of its children's by inverse variance; downward, children
    are shrunk towards an even split of their parent and raked to it.
    """
    shares = [each.sums.sum(axis=0) / total for each, total in zip(series, totals, strict=True)]
    noise = [2 * each.scale**2 * each.part.rows / total**2 for each, total in zip(series, totals, strict=True)]
    levels = [each.part.level for each in series]
    for depth in range(len(levels) - 2, 0, -1):
        children = noise[depth + 1] * levels[depth + 1].blocks / levels[depth].blocks
        own = children / (children + noise[depth])
        shares[depth] = own * shares[depth] + (1 - own) * levels[depth].gather(shares[depth + 1])
        noise[depth] = own * noise[depth]
    estimate = [np.ones((1, 1))]
    for depth in range(1, len(levels)):
        above, here = levels[depth - 1], levels[depth]
        expected = above.rake(here.cells, estimate[-1])
        estimate.append(above.rake(shrink(shares[depth], expected, noise[depth]), estimate[-1]))
    return estimate


def cell_shares(deepest: QuadtreeLevel, shares: Floats) -> Floats:
    """Spread the shares of the deepest blocks evenly over their cells, axes (x, y)."""
    return deepest.scatter(shares / deepest.cells, (deepest.nx, deepest.ny))
