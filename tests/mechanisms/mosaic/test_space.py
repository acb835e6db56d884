from __future__ import annotations

import numpy as np
import pytest

from gridveil.geography.grid import Grid
from gridveil.mechanisms.bounds.population import TotalsDistribution
from gridveil.mechanisms.inference.space import choose_level, estimate_space
from gridveil.simulate.sources import SeededLaplace
from gridveil.trusted.kernel.session import Measurement
from gridveil.trusted.kernel.staircase import choose_staircase

BOUND = 80_000


def population(households: float) -> TotalsDistribution:
    random = np.random.default_rng(0)
    support = np.geomspace(2_000, 300_000, 60)
    weights = np.exp(-0.5 * (np.log(support / 40_000) / 0.8) ** 2)
    weights /= weights.sum()
    return TotalsDistribution(
        households, 0.1, support, weights, households * random.uniform(0.9, 1.1, 200), np.tile(weights, (200, 1))
    )


def measured(true: np.ndarray, epsilon: float, *, staircase: bool) -> Measurement:
    random = np.random.default_rng(1)
    if not staircase:
        scale = BOUND / epsilon
        noise = np.rint(random.laplace(0, scale, true.shape))
        return Measurement((true + noise).astype(np.int64), np.full(true.shape, scale))
    stairs = choose_staircase(BOUND, epsilon)
    noisy = SeededLaplace(1).add_staircase(true.astype(np.int64), stairs)
    return Measurement(noisy, np.full(true.shape, (stairs.variance / 2) ** 0.5), stairs)


@pytest.mark.parametrize("shape", [(1, 1), (5, 7), (1, 9), (32, 32), (4, 4)])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 8.0, 1e9])
@pytest.mark.parametrize("staircase", [False, True])
@pytest.mark.parametrize("households", [0, 200])
def test_any_grid_and_budget(shape: tuple[int, int], epsilon: float, households: int, *, staircase: bool) -> None:
    random = np.random.default_rng(2)
    grid = Grid(0, 0, 1, 1, *shape)
    level = choose_level(grid, population(max(households, 1)), epsilon, BOUND, "staircase" if staircase else "laplace")
    cells = np.zeros(shape)
    np.add.at(cells, tuple(random.integers(0, shape, (households, 2)).T), random.uniform(5_000, BOUND, households))
    noisy = measured(level.gather(cells).ravel(), epsilon, staircase=staircase)
    found = estimate_space(grid, level.labels, noisy, None, population(max(households, 1)), BOUND, 20, 0)
    assert found.mean.shape == shape
    assert found.draws.shape == (20, *shape)
    for values in (found.mean, found.draws):
        assert np.isfinite(values).all()
        assert (values >= 0).all()
    if epsilon > 1e6 and households and level.blocks == grid.cells:
        np.testing.assert_allclose(found.mean, cells, atol=0.01 * BOUND)


def town(shape: tuple[int, int], households: int, seed: int) -> np.ndarray:
    """A hill of households, each with a bounded total."""
    random = np.random.default_rng(seed)
    middle = np.array(shape) / 2
    places = np.clip(random.normal(middle, middle / 2.5, (households, 2)), 0, np.array(shape) - 1).astype(int)
    known = population(households)
    cells = np.zeros(shape)
    np.add.at(cells, tuple(places.T), np.minimum(random.choice(known.support, households, p=known.weights), BOUND))
    return cells


@pytest.mark.parametrize("epsilon", [0.6, 2.0, 6.0])
def test_estimate_beats_spreading_noise_and_draws_cover_the_truth(epsilon: float) -> None:
    """Coverage: 95 % is meant; below 80 % of 192 strongly dependent answers of 3 towns fails (seeds are fixed)."""
    grid = Grid(0, 0, 1, 1, 16, 12)
    inside, smooth, raw = [], [], []
    for seed in range(3):
        cells = town((16, 12), 400, seed)
        level = choose_level(grid, population(400), epsilon, BOUND, "staircase")
        noisy = measured(level.gather(cells).ravel(), epsilon, staircase=True)
        found = estimate_space(grid, level.labels, noisy, None, population(400), BOUND, 200, seed)
        low, high = np.quantile(found.draws, [0.025, 0.975], axis=0)
        inside.append(((cells >= low - 1) & (cells <= high + 1)).mean())
        smooth.append(np.abs(found.mean - cells).sum())
        raw.append(np.abs((noisy.values / level.cells.ravel())[level.labels] - cells).sum())
    assert np.mean(inside) > 0.8
    assert np.mean(smooth) < np.mean(raw)


def test_draws_agree_with_sums_of_regions_and_seed() -> None:
    grid = Grid(0, 0, 1, 1, 16, 16)
    cells = town((16, 16), 3000, 0)
    labels = np.arange(4).repeat(4)[:, None] * 4 + np.arange(4).repeat(4)
    noisy = measured(np.bincount(labels.ravel(), cells.ravel()), 20.0, staircase=True)
    found, again = (estimate_space(grid, labels, noisy, None, population(3000), BOUND, 50, 7) for _ in range(2))
    np.testing.assert_array_equal(found.draws, again.draws)
    for values in (found.mean, *found.draws):
        np.testing.assert_allclose(np.bincount(labels.ravel(), values.ravel()), noisy.values, atol=0.2 * BOUND)
    assert (found.draws == 0).any()
    assert found.draws.std(axis=0).min() > 0


def test_noisy_total_is_heeded() -> None:
    grid = Grid(0, 0, 1, 1, 8, 8)
    cells = town((8, 8), 300, 0)
    noisy = measured(cells.ravel().astype(np.int64), 0.3, staircase=False)
    labels = np.arange(64).reshape(8, 8)
    found = estimate_space(grid, labels, noisy, (cells.sum(), 1e6), population(300), BOUND, 50, 0)
    assert found.mean.sum() == pytest.approx(cells.sum(), rel=1e-3)


def test_level_grows_with_budget_and_households() -> None:
    grid = Grid(0, 0, 1, 1, 32, 32)
    sides = [
        [choose_level(grid, population(n), epsilon, BOUND, "staircase").shape[0] for epsilon in (0.1, 0.6, 2.0, 20.0)]
        for n in (250, 1024, 4000)
    ]
    assert np.all(np.diff(sides, axis=0) >= 0)
    assert np.all(np.diff(sides, axis=1) >= 0)
    assert sides[0][-1] == 32
    assert choose_level(grid, population(1), 0.01, BOUND, "laplace").blocks == 1
