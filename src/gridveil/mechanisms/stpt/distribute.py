"""Fuses noisy block sums with the pattern: post-processing of sanitised numbers. The result is positive.

Every sum is drawn towards what the pattern lets expect, as far as its noise asks for, and what a block is given is
spread over its cells and steps in proportion to the pattern.
"""

from __future__ import annotations

import numpy as np

from gridveil.mechanisms.inference.quadtree import QuadtreeLevel
from gridveil.mechanisms.stpt.blocks import BlockSums, sum_runs
from gridveil.mechanisms.stpt.pattern import Pattern
from gridveil.mechanisms.stpt.shrinkage import posterior_mean, shrink
from gridveil.model.units import Floats


def distribute(sums: BlockSums, pattern: Pattern) -> tuple[Floats, Floats]:
    """Return the estimate as `space[x, y] * time[t]`, Wh: `space` is per window, `time` adds up to 1."""
    total = _total(sums, pattern)
    expected = total * pattern.time / pattern.time.sum()
    if sums.run:
        blocks = sum_runs(expected, sums.run)
        shrunk = shrink(sums.time, blocks, 2 * sums.time_scale**2)
        expected = expected * np.repeat(shrunk / blocks, sums.run)[: len(expected)]
    return _levels(sums, pattern.space, total), expected / expected.sum()


def _total(sums: BlockSums, pattern: Pattern) -> float:
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


def _levels(sums: BlockSums, space: Floats, total: float) -> Floats:
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
        estimate = root.rake(posterior_mean(sums.space, expected, sums.space_scale), np.full((1, 1), total))
    return deepest.rake(space, estimate)
