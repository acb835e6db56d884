from dataclasses import replace

import numpy as np
import pytest

from gridveil.mechanisms.inference.space import QuadtreeLevel
from gridveil.mechanisms.stpt.blocks import BlockSums, distribute, sum_runs
from gridveil.mechanisms.stpt.mechanism import replicate
from gridveil.mechanisms.stpt.series import Pattern

PATTERN = Pattern(
    np.full((8, 8), 500.0), np.ones(48), total_variance=150_000.0**2, shape_variance=0.02, shape_memory=0.7
)


def noisy_sums(space: np.ndarray, time: np.ndarray, run: int, depth: int, scale: float, seed: int) -> BlockSums:
    random, level = np.random.default_rng(seed), QuadtreeLevel(*space.shape, depth)  # type: ignore[call-arg]  # two axes
    of_time, of_space = sum_runs(space.sum() * time, run), level.gather(space)
    return BlockSums(
        of_time + random.laplace(0, scale, of_time.shape),
        scale,
        run,
        of_space + random.laplace(0, scale, of_space.shape),
        scale,
        level,
    )


@pytest.mark.parametrize("sd", [150_000.0, 3_000.0])
def test_the_total_spreads_as_its_posterior_does(sd: float) -> None:
    pattern = replace(PATTERN, total_variance=sd**2)
    sums = noisy_sums(24_000 / 500 * PATTERN.space, np.full(48, 1 / 48), run=2, depth=3, scale=500.0, seed=0)
    space, time = distribute(sums, pattern)
    replicates = replicate(sums, pattern, space, time, seed=0)
    totals = replicates.space.sum(axis=(1, 2)) * replicates.time.sum(axis=1)
    precision = 1 / (24 * 2 * 500**2) + 1 / (64 * 2 * 500**2) + 1 / sd**2
    assert totals.std() == pytest.approx(precision**-0.5, rel=0.3)
    assert abs(totals.mean() - space.sum()) < precision**-0.5


@pytest.mark.parametrize(("run", "depth", "scale"), [(2, 3, 5_000.0), (8, 2, 20_000.0)])
def test_error_bars_cover_towns_that_deviate_from_the_pattern(run: int, depth: int, scale: float) -> None:
    """Bars of 90 %, on ten towns whose cells and rhythm deviate as the model says. False-alarm rate far below 1 %."""
    covered: dict[str, list[bool]] = {"cells": [], "steps": []}
    for seed in range(10):
        random = np.random.default_rng(seed)
        true_space = 24_000 * random.gamma(2.0, 0.5, (8, 8))
        true_time = np.exp(0.14 * np.repeat(random.normal(size=16), 3))
        true_time /= true_time.sum()
        sums = noisy_sums(true_space, true_time, run, depth, scale, seed)
        space, time = distribute(sums, PATTERN)
        drawn = replicate(sums, PATTERN, space, time, seed=0)
        cells, steps = drawn.space.std(axis=0), (drawn.space.sum(axis=(1, 2))[:, None] * drawn.time).std(axis=0)
        covered["cells"] += (np.abs(space - true_space) < 1.645 * cells).ravel().tolist()
        covered["steps"] += (np.abs(space.sum() * time - true_space.sum() * true_time) < 1.645 * steps).tolist()
    for what, hits in covered.items():
        assert 0.75 < np.mean(hits) < 0.99, what


def test_replicates_are_positive_separable_and_repeat() -> None:
    random = np.random.default_rng(0)
    sums = BlockSums(random.laplace(0, 1e5, 48), 1e5, 1, random.laplace(0, 1e5, (2, 2)), 1e5, QuadtreeLevel(8, 8, 1))
    space, time = distribute(sums, PATTERN)
    first, again, other = (replicate(sums, PATTERN, space, time, seed) for seed in (0, 0, 1))
    assert first.space.shape == (40, 8, 8)
    assert first.time.shape == (40, 48)
    assert (first.space > 0).all()
    assert (first.time > 0).all()
    assert np.array_equal(first.space, again.space)
    assert np.array_equal(first.time, again.time)
    assert not np.array_equal(first.space, other.space)
