"""The default sanitisation: noisy sums over blocks of time and over blocks of space, fused with the pattern.

Cells that the pattern believes equal, as the quantized partition groups them, can only correct an error they share.
Blocks of time for the whole map, and blocks of space for the whole window, correct the rhythm and the levels.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.mechanisms.inference.quadtree import QuadtreeLevel, depth_of_pillars, levels
from gridveil.mechanisms.stpt.pattern import Pattern
from gridveil.model.units import Floats, Ints
from gridveil.trusted.kernel.session import Session

TIME_BUDGET = 0.15
"""The fraction of the sanitising epsilon that blocks of time take, if there are any."""
FEWEST_TIME_BLOCKS = 4
LARGEST_TIME_NOISE = 0.1
"""Standard deviation of the noise on a block of time, relative to its expected sum."""


@dataclass(frozen=True)
class BlockSums:
    """Sanitised sums, Wh: `time` over runs of `run` steps (empty if there was too little to see), `space` over blocks.

    Each has Laplace noise of the scale given.
    """

    time: Floats
    time_scale: float
    run: int
    space: Floats
    space_scale: float
    level: QuadtreeLevel


def measure_blocks(measure: Session, pattern: Pattern, epsilon: float) -> BlockSums:
    """Choose blocks by what the pattern lets expect, and measure them for `epsilon` altogether.

    The choice reads released numbers only. Each of the two partitions covers every (cell, step) once, so a household
    moves its sums by no more than the window bound, however many blocks there are.
    """
    most = min(measure.bound.step * measure.window.steps, measure.bound.window)
    epsilon_time = TIME_BUDGET * epsilon
    run = run_length(pattern.total, most / epsilon_time, measure.window.steps)
    time, time_scale = np.zeros(0), 1.0
    if run:
        noisy = measure.sums(np.arange(measure.window.steps) // run, epsilon_time)
        time, time_scale = noisy.values.astype(np.float64), float(noisy.scales[0])
    epsilon_space = epsilon - epsilon_time if run else epsilon
    candidates = levels(measure.grid, depth_of_pillars(measure.grid))
    level = deepest_visible(candidates, pattern.total, most / epsilon_space)
    noisy = measure.sums(level.labels[:, :, None], epsilon_space)
    space = noisy.values.astype(np.float64).reshape(level.shape)
    return BlockSums(time, time_scale, run, space, float(noisy.scales[0]), level)


def run_length(total: float, scale: float, steps: int) -> int:
    """Return how long blocks of time must be to stand out of the noise, in steps; 0 if too few blocks would be left.

    >>> run_length(total=55_000, scale=45, steps=120)
    2
    >>> run_length(total=55_000, scale=450, steps=120)
    15
    >>> run_length(total=55_000, scale=4500, steps=120)
    0
    """
    most_blocks = min(int(LARGEST_TIME_NOISE * total / (2**0.5 * scale)), steps)
    if most_blocks < FEWEST_TIME_BLOCKS:
        return 0
    run = -(-steps // most_blocks)
    return run if -(-steps // run) >= FEWEST_TIME_BLOCKS else 0


def deepest_visible(candidates: list[QuadtreeLevel], total: float, scale: float) -> QuadtreeLevel:
    """Return the deepest level whose blocks are expected to be no smaller than the noise; at least the root."""
    return max(
        (level for level in candidates if total / level.blocks >= scale),
        key=lambda level: level.depth,
        default=candidates[0],
    )


def sum_runs(values: Floats, run: int) -> Floats:
    """Sum a series over runs of `run` steps; the last may be shorter."""
    starts: Ints = np.arange(0, len(values), run)
    return np.asarray(np.add.reduceat(values, starts), dtype=np.float64)
