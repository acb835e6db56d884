"""Towns that are not lognormal do not break the fit; towns that are, are covered by the draws."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from gridveil.mechanisms.bounds import DRAWS, choose_common_bound, choose_space_bound
from gridveil.mechanisms.bounds.bounds import compute_noise_variance
from gridveil.mechanisms.bounds.population import Bins, TotalsDistribution, fit_population
from gridveil.model.window import Window
from gridveil.trusted.budget import Bound

HOURS = 120
BINS = Bins.of(Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), HOURS), Bound(23_000, 23_000 * HOURS))


def fitted(totals: np.ndarray, epsilon: float, seed: int) -> TotalsDistribution:
    counts = np.histogram(totals, np.append(BINS.edges, np.inf))[0]
    noisy = counts + np.random.default_rng([seed, 1]).laplace(0.0, 1 / epsilon, len(counts))
    return fit_population(BINS, noisy, 1 / epsilon, epsilon)


def ratio(totals: np.ndarray, bound: float) -> float:
    return float(totals.sum() / np.minimum(totals, bound).sum())


def kinds(kind: str) -> np.ndarray:
    random, n = np.random.default_rng(5), 2000
    usual = random.lognormal(np.log(400 * HOURS), 0.8, n)
    heated = random.lognormal(np.log(1800 * HOURS), 0.35, n)
    flats = random.lognormal(np.log(220 * HOURS), 0.4, n)
    return {
        "flats and heating": np.where(random.random(n) < 0.25, heated, flats),
        "businesses": np.minimum(np.where(random.random(n) < 0.05, 20 * usual, usual), 23_000 * HOURS),
        "solar": random.lognormal(np.log(120 * HOURS), 1.1, n) * (random.random(n) > 0.15),
        "all equal": np.full(n, 500.0 * HOURS),
        "nobody uses anything": np.zeros(n),
        "all at the cap": np.full(n, 23_000.0 * HOURS),
    }[kind]


@pytest.mark.parametrize(
    "kind", ["flats and heating", "businesses", "solar", "all equal", "nobody uses anything", "all at the cap"]
)
@pytest.mark.parametrize("epsilon", [0.1, 100.0])
def test_other_populations(kind: str, epsilon: float) -> None:
    totals = kinds(kind)
    population = fitted(totals, epsilon, 0)
    for cells in (1, 1024):
        bound = choose_common_bound(population, 3.0, "laplace", cells, HOURS)
        assert 1 <= bound <= 23_000 * HOURS
        assert np.isfinite(population.debias_draws(bound)).all()
    assert population.households == pytest.approx(len(totals), rel=0.5)
    if epsilon == 100 and totals.any():
        # Exact counts: where in a bin they are is all that is not known. Its middle is off by the root of its ratio at
        # most: 1.5, and 2.7 of the last.
        assert population.mean() == pytest.approx(totals.mean(), rel=0.39 if kind == "all at the cap" else 0.22)
        high = float(np.quantile(totals, 0.9)) * 1.3
        assert population.debias(high) == pytest.approx(ratio(totals, high), rel=0.05)


@pytest.mark.parametrize("n", [250, 2000])
def test_draws_cover_the_town_s_own_factor(n: int) -> None:
    # 30 towns and intervals of 95 %: by the binomial, 19 or fewer are covered with a chance of 1.1e-7.
    covered = 0
    for seed in range(30):
        totals = np.random.default_rng([seed, 2]).lognormal(np.log(400 * HOURS), 0.8, n)
        bound = float(np.quantile(totals, 0.8))
        low, high = np.quantile(fitted(totals, 0.2, seed).debias_draws(bound), [0.025, 0.975])
        covered += bool(low <= ratio(totals, bound) <= high)
    assert covered > 19


def test_fits_repeat_and_draws_are_around_the_mean() -> None:
    totals = np.random.default_rng(3).lognormal(np.log(400 * HOURS), 0.8, 1000)
    population, again = (fitted(totals, 1.0, 0) for _ in range(2))
    np.testing.assert_array_equal(population.draws_weights, again.draws_weights)
    assert len(population.draws_households) == DRAWS
    assert np.mean(population.draws_households) == pytest.approx(population.households, rel=0.02)
    bound = population.quantile(0.8)
    assert np.mean(population.debias_draws(bound)) == pytest.approx(population.debias(bound), rel=0.02)


def test_noise_of_the_staircase() -> None:
    # The figures of mosaic.md: standard deviations at epsilon 10 and 16, in units of the bound.
    assert compute_noise_variance("staircase", 10.0) ** 0.5 == pytest.approx(0.029, abs=5e-4)
    assert compute_noise_variance("staircase", 16.0) ** 0.5 == pytest.approx(0.004, abs=5e-4)
    for epsilon in (1e-9, 0.1, 1.0, 10.0, 1e9):
        assert 0 <= compute_noise_variance("staircase", epsilon) <= compute_noise_variance("laplace", epsilon)


def test_bounds_stay_among_the_households() -> None:
    totals = np.random.default_rng(3).lognormal(np.log(400 * HOURS), 0.8, 1000)
    population = fitted(totals, 1.0, 0)
    assert choose_space_bound(population, 1e9, "staircase", 1024) <= population.quantile(1 - 0.1 / 1000)
    assert choose_space_bound(population, 1e-6, "laplace", 1024) == pytest.approx(population.quantile(0.3), rel=0.03)
