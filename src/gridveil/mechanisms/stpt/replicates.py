"""Error bars of the block partition: the estimate again, with all that was uncertain drawn anew. Post-processing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gridveil.mechanisms.stpt.blocks import BlockSums, sum_runs
from gridveil.mechanisms.stpt.distribute import distribute
from gridveil.mechanisms.stpt.pattern import Pattern
from gridveil.mechanisms.stpt.shrinkage import LEAST
from gridveil.model.estimate import RegionSums, Replicates
from gridveil.model.units import Floats

REPLICATES = 40
LARGEST_CELL_VARIANCE = 20.0
"""Of a cell's relative deviation from the pattern: a cell in twenty holding everything."""


def replicate(sums: BlockSums, pattern: Pattern, space: Floats, time: Floats, seed: int) -> Replicates:
    """Return estimates from redrawn noise around the estimate's own sums, and from redrawn patterns.

    Noise alone would make the error bars of a shrunk estimate far too short, for it leaves out what shrinking hides.
    If an expectation with variance `t` and a measurement with variance `v` are both redrawn and weighted as before
    (`v / (t + v)` and `t / (t + v)`), the result has variance `t v / (t + v)`: that of the posterior.
    """
    random = np.random.default_rng(seed)
    of_time = sum_runs(space.sum() * time, sums.run) if sums.run else sums.time
    of_space = sums.level.gather(space)
    times = _other_times(pattern, random)
    spread = _cell_variance(sums, pattern, float(space.sum()))
    drawn = [
        distribute(
            replace(
                sums,
                time=of_time + random.laplace(0.0, sums.time_scale, of_time.shape),
                space=of_space + random.laplace(0.0, sums.space_scale, of_space.shape),
            ),
            replace(pattern, space=_other_space(pattern.space, spread, random), time=other),
        )
        for other in times
    ]
    measured = RegionSums(sums.level.labels, sums.space.ravel(), sums.space_scale)
    return Replicates(np.stack([each[0] for each in drawn]), np.stack([each[1] for each in drawn]), measured)


def _other_times(pattern: Pattern, random: np.random.Generator) -> Floats:
    """Return profiles that might as well have been forecast, axes (replicate, step)."""
    error = random.normal(size=(REPLICATES, len(pattern.time)))
    for step in range(1, len(pattern.time)):
        fresh = (1 - pattern.shape_memory**2) ** 0.5
        error[:, step] = pattern.shape_memory * error[:, step - 1] + fresh * error[:, step]
    shapes = pattern.time * np.exp(pattern.shape_variance**0.5 * error)
    relative_sd = pattern.total_variance**0.5 / pattern.total
    totals = np.maximum(1 + relative_sd * random.normal(size=REPLICATES), LEAST)
    return np.asarray(shapes * (totals * pattern.time.sum() / shapes.sum(axis=1))[:, None], dtype=np.float64)


def _cell_variance(sums: BlockSums, pattern: Pattern, total: float) -> float:
    """Return the variance of a cell's relative deviation from the pattern, as far as the blocks tell.

    Cells that deviate independently deviate more than the blocks they make up, by as much as a block has cells.
    """
    expected = sums.level.gather(pattern.space) * (total / pattern.space.sum())
    excess = float(np.sum((sums.space - expected) ** 2 - 2 * sums.space_scale**2))
    of_blocks = max(excess, 0.0) / float(np.sum(expected**2))
    return min(of_blocks * pattern.space.size / sums.level.blocks, LARGEST_CELL_VARIANCE)


def _other_space(space: Floats, variance: float, random: np.random.Generator) -> Floats:
    """Return levels of cells that might as well have been expected, with the same sum."""
    if variance == 0:
        return space
    other = space * np.maximum(random.gamma(1 / variance, variance, space.shape), LEAST)
    return np.asarray(other * (space.sum() / other.sum()), dtype=np.float64)
