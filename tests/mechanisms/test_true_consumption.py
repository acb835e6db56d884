"""Draws of what households may truly have used, for every kind of error model."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from scipy import stats

from gridveil.geography.grid import Grid
from gridveil.mechanisms.base import make
from gridveil.mechanisms.bounds import PrivateBound, TotalsDistribution
from gridveil.mechanisms.inference.space import draw_true_cells, pin_total
from gridveil.mechanisms.inference.true_consumption import infer_true_consumption
from gridveil.model.window import Window
from gridveil.publishing.run import release_with_private_bound
from gridveil.simulate.sources import ArraySource, SeededLaplace
from gridveil.trusted.budget import Bound, PureDP
from gridveil.trusted.kernel.kernel import Kernel
from gridveil.uncertainty import Estimate, LinearNoise, NoisyParts, Posterior, Replicates

START = datetime(2013, 2, 4, tzinfo=UTC)


def lognormal_population(draws: int = 200) -> TotalsDistribution:
    support = np.geomspace(5e3, 1e6, 80)
    weights = stats.lognorm.pdf(support, 0.8, scale=5e4) * support
    weights /= weights.sum()
    return TotalsDistribution(1000.0, 0.1, support, weights, np.full(draws, 1000.0), np.tile(weights, (draws, 1)))


def test_what_a_bound_cut_comes_back_on_average_and_in_few_cells() -> None:
    population, bound = lognormal_population(), 150_000.0
    rng = np.random.default_rng(0)
    households = rng.choice(population.support, (200, 400), p=population.weights)
    bounded = np.minimum(households, bound).reshape(200, 20, 20)
    draws = draw_true_cells(bounded, population, bound, 1)
    assert draws.sum() / bounded.sum() == pytest.approx(population.debias(bound), rel=0.01)
    assert (draws >= bounded - 1e-6).all()
    more = draws > 1.1 * bounded  # where a draw has too few at the bound, all cells take a little
    assert more.mean() < 1.5 * (households > bound).mean()
    # They are those at the bound, for nobody else was cut.
    assert (bounded[more] >= 0.94 * bound).all()


@pytest.mark.parametrize("bound", [1e7, 5_001.0])
def test_any_bound_gives_finite_draws(bound: float) -> None:
    draws = draw_true_cells(np.full((50, 3, 4), 4_000.0), lognormal_population(), bound, 0)
    assert np.isfinite(draws).all()
    assert (draws > 0).all()
    assert (draw_true_cells(np.zeros((50, 3, 4)), lognormal_population(), bound, 0) == 0).all()


def test_totals_agree_with_what_was_measured_the_more_the_surer_it_is() -> None:
    rng = np.random.default_rng(3)
    draws = rng.gamma(10, 100, (200, 5, 5))
    mean = draws.mean(axis=0)
    sure, sure_draws = pin_total(mean, draws, (50_000.0, 100.0), 0)
    assert sure.sum() == pytest.approx(50_000, rel=1e-3)
    assert sure_draws.sum(axis=(1, 2)).std() == pytest.approx(10, rel=0.3)
    vague, _ = pin_total(mean, draws, (50_000.0, 1e14), 0)
    assert vague.sum() == pytest.approx(mean.sum(), rel=1e-3)
    nothing, no_draws = pin_total(np.zeros((5, 5)), np.zeros((200, 5, 5)), (0.0, 0.0), 0)
    assert not nothing.any()
    assert not no_draws.any()


def town(shape: tuple[int, int], steps: int, households: int, epsilon: str, minutes: int = 60) -> Kernel:
    rng = np.random.default_rng(1)
    window = Window(START, timedelta(minutes=minutes), steps)
    readings = rng.gamma(1.0, 10 * minutes, (households, steps)).astype(np.int64)
    cells = rng.integers(0, shape, (households, 2))
    bound = Bound(400 * minutes, 400 * minutes * steps)
    source = ArraySource(Grid(0, 0, 1, 1, *shape), window, cells, readings)
    return Kernel(source, window, budget=PureDP(epsilon), bound=bound, noise=SeededLaplace(1))


@pytest.mark.parametrize("name", ["outer", "pgm", "even"])
@pytest.mark.parametrize(
    ("shape", "steps", "households", "epsilon", "minutes"),
    [((1, 1), 1, 3, "1", 60), ((5, 7), 24, 0, "0.01", 60), ((8, 8), 30, 500, "1e6", 15), ((4, 4), 3, 80, "3", 1440)],
)
def test_error_bars_of_any_town_are_finite(
    name: str, shape: tuple[int, int], steps: int, households: int, epsilon: str, minutes: int
) -> None:
    kernel = town(shape, steps, households, epsilon, minutes)
    estimate = release_with_private_bound(kernel, make(name, {}))
    assert isinstance(estimate.errors, Posterior)
    assert estimate.errors.time.sum(axis=2) == pytest.approx(1.0)
    model = estimate.errors.to_release((steps, *shape[::-1]), minutes / 60)
    error, low, high = model.of_boxes(np.array([[0, 1, 0, 1, 0, 1]]), np.zeros(1))
    assert np.isfinite([error, low, high]).all()


def test_other_error_models_stay_about_the_noise() -> None:
    chosen = PrivateBound(Bound(23_000, 100_000), lognormal_population())
    values = np.ones((2, 2, 3))
    for errors in (NoisyParts(None, np.ones((1, 1, 1)), np.ones((1, 1, 1))), LinearNoise(None, None, None)):
        assert type(infer_true_consumption(Estimate(values, errors), chosen, 24.0).errors) is type(errors)


def test_replicates_of_a_mechanism_that_measured_no_regions() -> None:
    """The draws of a smooth map are lumpy, and their total is that of the replicates, corrected."""
    chosen = PrivateBound(Bound(23_000, 150_000), lognormal_population())
    rng = np.random.default_rng(2)
    values = np.full((16, 16, 24), 60_000 / 24)
    replicates = Replicates(60_000 * rng.normal(1, 0.05, (40, 1, 1)) * np.ones((40, 16, 16)), np.full((40, 24), 1 / 24))
    estimate = infer_true_consumption(Estimate(values, replicates), chosen, 24.0)
    assert isinstance(estimate.errors, Posterior)
    totals = estimate.errors.space.sum(axis=(1, 2))
    assert totals.mean() == pytest.approx(estimate.dense().sum(), rel=0.03)
    assert totals.std() / totals.mean() == pytest.approx(0.05, rel=0.4)
    assert (estimate.errors.space == 0).mean() > 0.1
