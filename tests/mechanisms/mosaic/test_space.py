from __future__ import annotations

import numpy as np
import pytest

from gridveil.cube import Grid
from gridveil.mechanisms.mosaic.levels import choose_level
from gridveil.mechanisms.mosaic.space import estimate_space
from gridveil.mechanisms.population.population import Population
from gridveil.privacy.measure import Measurement
from gridveil.privacy.staircase import best_staircase

BOUND = 80_000


def population(households: float) -> Population:
    random = np.random.default_rng(0)
    support = np.geomspace(2_000, 300_000, 60)
    weights = np.exp(-0.5 * (np.log(support / 40_000) / 0.8) ** 2)
    weights /= weights.sum()
    return Population(
        households, 0.1, support, weights, households * random.uniform(0.9, 1.1, 200), np.tile(weights, (200, 1))
    )


def measured(true: np.ndarray, epsilon: float, *, staircase: bool) -> Measurement:
    random = np.random.default_rng(1)
    if not staircase:
        scale = BOUND / epsilon
        noise = np.rint(random.laplace(0, scale, true.shape))
        return Measurement((true + noise).astype(np.int64), np.full(true.shape, scale))
    stairs = best_staircase(BOUND, epsilon)
    reach = int(min(4e6, 40 * BOUND / epsilon + 2 * BOUND))
    k = np.arange(-reach, reach + 1)
    noise = random.choice(k, true.shape, p=(mass := np.exp(stairs.log_mass(k))) / mass.sum())
    return Measurement((true + noise).astype(np.int64), np.full(true.shape, (stairs.variance / 2) ** 0.5), stairs)


@pytest.mark.parametrize("shape", [(1, 1), (5, 7), (1, 9), (32, 32), (4, 4)])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 8.0, 1e9])
@pytest.mark.parametrize("staircase", [False, True])
@pytest.mark.parametrize("households", [0, 200])
def test_any_grid_and_budget(shape: tuple[int, int], epsilon: float, households: int, *, staircase: bool) -> None:
    if staircase and epsilon < 0.5:
        pytest.skip("mosaic takes Laplace noise there")
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
