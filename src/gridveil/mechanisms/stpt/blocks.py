"""Blocks of time and space that share a noisy sum, and its distribution over their cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.mechanisms.inference.space import QuadtreeLevel, depth_of_pillars, make_levels
from gridveil.mechanisms.stpt.parts import compute_posterior_mean, shrink
from gridveil.mechanisms.stpt.series import Pattern
from gridveil.model.arrays import Floats, Ints
from gridveil.trusted.kernel.session import Session

# The default sanitisation: noisy sums over blocks of time and over blocks of space, fused with the pattern.
#
# Cells that the pattern believes equal, as the quantized partition groups them, can only correct an error they share.
# Blocks of time for the whole map, and blocks of space for the whole window, correct the rhythm and the levels.

TIME_BUDGET = 0.15
"""The fraction of the sanitising epsilon that blocks of time take, if there are any."""
MIN_TIME_BLOCKS = 4
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
    run = choose_run_length(pattern.total, most / epsilon_time, measure.window.steps)
    time, time_scale = np.zeros(0), 1.0
    if run:
        noisy = measure.sums(np.arange(measure.window.steps) // run, epsilon_time)
        time, time_scale = noisy.values.astype(np.float64), float(noisy.scales[0])
    epsilon_space = epsilon - epsilon_time if run else epsilon
    candidates = make_levels(measure.grid, depth_of_pillars(measure.grid))
    level = find_deepest_visible(candidates, pattern.total, most / epsilon_space)
    noisy = measure.sums(level.labels[:, :, None], epsilon_space)
    space = noisy.values.astype(np.float64).reshape(level.shape)
    return BlockSums(time, time_scale, run, space, float(noisy.scales[0]), level)


def choose_run_length(total: float, scale: float, steps: int) -> int:
    """Return how long blocks of time must be to stand out of the noise, in steps; 0 if too few blocks would be left.

    >>> choose_run_length(total=55_000, scale=45, steps=120)
    2
    >>> choose_run_length(total=55_000, scale=450, steps=120)
    15
    >>> choose_run_length(total=55_000, scale=4500, steps=120)
    0
    """
    most_blocks = min(int(LARGEST_TIME_NOISE * total / (2**0.5 * scale)), steps)
    if most_blocks < MIN_TIME_BLOCKS:
        return 0
    run = -(-steps // most_blocks)
    return run if -(-steps // run) >= MIN_TIME_BLOCKS else 0


def find_deepest_visible(candidates: list[QuadtreeLevel], total: float, scale: float) -> QuadtreeLevel:
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


# Fuses noisy block sums with the pattern: post-processing of sanitised numbers. The result is positive.
#
# Every sum is drawn towards what the pattern lets expect, as far as its noise asks for, and what a block is given is
# spread over its cells and steps in proportion to the pattern.


def distribute(sums: BlockSums, pattern: Pattern) -> tuple[Floats, Floats]:
    """Return the estimate as `space[x, y] * time[t]`, Wh: `space` is per window, `time` adds up to 1."""
    total = _combine_totals(sums, pattern)
    expected = total * pattern.time / pattern.time.sum()
    if sums.run:
        blocks = sum_runs(expected, sums.run)
        shrunk = shrink(sums.time, blocks, 2 * sums.time_scale**2)
        expected = expected * np.repeat(shrunk / blocks, sums.run)[: len(expected)]
    return _rake_levels(sums, pattern.space, total), expected / expected.sum()


def _combine_totals(sums: BlockSums, pattern: Pattern) -> float:
    """Combine what both partitions and the pattern say about the total, by inverse variance."""
    guesses = [
        (pattern.total, pattern.total_variance),
        (float(sums.space.sum()), 2 * sums.space_scale**2 * sums.space.size),
    ]
    if sums.run:
        guesses.append((float(sums.time.sum()), 2 * sums.time_scale**2 * sums.time.size))
    precision = sum(1 / variance for _, variance in guesses)
    total = sum(guess / variance for guess, variance in guesses) / precision
    return float(max(total, precision**-0.5))


def _rake_levels(sums: BlockSums, space: Floats, total: float) -> Floats:
    """Return the use of every cell over the window: from the root down, each level raked to the one above.

    The measured level is raked to the total alone: its posterior mean already leans on the level above.
    """
    deepest = sums.level
    noise = 2 * sums.space_scale**2
    root = above = QuadtreeLevel(deepest.nx, deepest.ny, depth=0)
    estimate = np.full((1, 1), total)
    for depth in range(1, deepest.depth):
        here = QuadtreeLevel(deepest.nx, deepest.ny, depth)
        expected = above.rake(here.gather(space), estimate)
        noisy, count = here.gather(sums.space), deepest.blocks / here.blocks
        estimate = above.rake(shrink(noisy, expected, noise * count), estimate)
        above = here
    if deepest.depth:
        expected = above.rake(deepest.gather(space), estimate)
        estimate = root.rake(compute_posterior_mean(sums.space, expected, sums.space_scale), np.full((1, 1), total))
    return deepest.rake(space, estimate)
