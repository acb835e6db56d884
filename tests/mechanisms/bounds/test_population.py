"""The population behind a noisy histogram, and the bounds and factors it gives."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from gridveil.geography.grid import Grid
from gridveil.mechanisms.bounds import (
    DRAWS,
    TotalsDistribution,
    choose_bound,
    choose_space_bound,
    debias_estimate,
    histogram_epsilon,
    measure_population,
)
from gridveil.model.window import Window
from gridveil.simulate.sources import ArraySource, SeededLaplace
from gridveil.trusted.budget import Bound, PureDP
from gridveil.trusted.kernel.kernel import Kernel
from gridveil.uncertainty import Estimate, LinearNoise, NoisyParts, Replicates

START = datetime(2013, 2, 4, tzinfo=UTC)


def town(totals: np.ndarray, steps: int = 24, step: timedelta = timedelta(hours=1), epsilon: str = "3") -> Kernel:
    """Households with these window totals (Wh), spread evenly over the window, on 4 x 4 cells."""
    readings = np.repeat((totals // steps)[:, None], steps, axis=1).astype(np.int64)
    window = Window(START, step, steps)
    cells = np.random.default_rng(0).integers(0, 4, (len(totals), 2))
    source = ArraySource(Grid(0, 0, 4, 4, 4, 4), window, cells, readings)
    largest = int(23_000 * (step / timedelta(hours=1)))
    bound = Bound(largest, largest * steps)
    return Kernel(source, window, budget=PureDP(epsilon), bound=bound, noise=SeededLaplace(1))


def lognormal(n: int, hours: float, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).lognormal(np.log(400 * hours), 0.8, n)


@pytest.mark.parametrize(("steps", "minutes"), [(1, 60), (24, 60), (96, 15), (365, 1440), (120, 60)])
def test_steps_of_any_length(steps: int, minutes: int) -> None:
    hours = steps * minutes / 60
    totals = lognormal(2000, hours)
    got = measure_population(town(totals, steps, timedelta(minutes=minutes)).session(), 1.0)
    assert got.households == pytest.approx(2000, rel=0.05)
    assert got.mean() == pytest.approx(totals.mean(), rel=0.1)
    bound = float(np.quantile(totals, 0.8))
    assert got.debias(bound) == pytest.approx(totals.mean() / np.minimum(totals, bound).mean(), rel=0.05)


@pytest.mark.parametrize("n", [0, 1, 40])
@pytest.mark.parametrize("epsilon", ["0.01", "1", "1e9"])
@pytest.mark.parametrize("steps", [1, 24])
def test_small_towns_and_odd_budgets_stay_finite(n: int, epsilon: str, steps: int) -> None:
    kernel = town(lognormal(n, steps), steps, epsilon=epsilon)
    chosen = choose_bound(kernel.session())
    population = chosen.population
    assert kernel.spent == pytest.approx(histogram_epsilon(float(epsilon)))
    assert 1 <= chosen.bound.window <= 23_000 * steps
    for numbers in (population.weights, population.draws_weights, population.draws_households):
        assert np.isfinite(numbers).all()
        assert (numbers >= 0).all()
    assert population.weights.sum() == pytest.approx(1)
    assert population.draws_weights.shape == (DRAWS, len(population.support))
    assert 1 <= population.debias(chosen.bound.window) < 100
    assert np.isfinite(population.debias_draws(chosen.bound.window)).all()


def known(totals: np.ndarray) -> TotalsDistribution:
    """A population of which all is known: the totals themselves."""
    weights = np.full(len(totals), 1 / len(totals))
    draws = np.tile(weights, (DRAWS, 1))
    return TotalsDistribution(
        float(len(totals)), 1.0, np.sort(totals), weights, np.full(DRAWS, float(len(totals))), draws
    )


def test_moments_of_a_known_population() -> None:
    population = known(np.array([4.0, 1.0, 2.0, 3.0]))
    assert population.mean() == 2.5
    assert population.mean(2.0) == 1.75
    assert population.second(2.0) == 3.25
    assert population.debias(2.0) == pytest.approx(2.5 / 1.75)
    assert population.quantile(0.5) == 2.0
    assert population.quantile(1.0) == 4.0
    np.testing.assert_allclose(population.debias_draws(2.0), 2.5 / 1.75)


def test_bounds_rise_with_the_budget_and_with_better_noise() -> None:
    population = known(lognormal(1000, 120))
    bounds = [choose_space_bound(population, epsilon, "laplace", 1024) for epsilon in (0.01, 0.3, 1, 3, 10, 30, 1e9)]
    assert bounds == sorted(bounds)
    assert bounds[-1] == pytest.approx(population.support[-1], abs=1)
    assert choose_space_bound(population, 10, "staircase", 1024) >= bounds[4]


def test_a_factor_takes_values_and_errors_along() -> None:
    chosen = choose_bound(town(lognormal(500, 24)).session())
    factor = chosen.population.debias(chosen.bound.window)
    assert factor > 1
    values = np.ones((4, 4, 24))
    parts = debias_estimate(Estimate(values, NoisyParts(None, np.full((1, 1, 1), 2.0), np.ones((1, 1, 1)))), chosen)
    np.testing.assert_allclose(parts.values, factor)
    assert isinstance(parts.errors, NoisyParts)
    np.testing.assert_allclose(parts.errors.scales, 2 * factor)
    for time in (None, np.full((24, 3), 0.5)):
        linear = debias_estimate(Estimate(values, LinearNoise(None, None, time)), chosen)
        assert isinstance(linear.errors, LinearNoise)
        np.testing.assert_allclose(linear.errors.time, factor * (np.eye(24) if time is None else time))
    many = debias_estimate(Estimate(values, Replicates(np.ones((DRAWS + 5, 4, 4)), np.ones((DRAWS + 5, 24)))), chosen)
    assert isinstance(many.errors, Replicates)
    factors = chosen.population.debias_draws(chosen.bound.window)
    np.testing.assert_allclose(many.errors.space[:, 0, 0], np.append(factors, factors[:5]))
