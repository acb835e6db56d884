"""Towns unlike London's: what a histogram shows of them is believed, and what it hides widens the draws."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from gridveil.mechanisms.bounds import choose_common_bound, choose_space_bound
from gridveil.mechanisms.bounds.population import (
    HEAVY_CHANCE,
    RATIO,
    WIDE_RATIOS,
    Bins,
    Shapes,
    TotalsDistribution,
    fit_population,
)
from gridveil.model.window import Window
from gridveil.trusted.budget import Bound

HOURS, TOWNS = 120, 20
BINS = Bins.of(Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), HOURS), Bound(23_000, 23_000 * HOURS))


def usual(n: int, random: np.random.Generator) -> np.ndarray:
    return random.lognormal(np.log(400 * HOURS), 0.8, n)


def with_businesses(n: int, random: np.random.Generator) -> np.ndarray:
    many = np.where(random.random(n) < 0.05, 20, 1)
    return np.minimum(many * usual(n, random), 23_000.0 * HOURS)


def with_heating(n: int, random: np.random.Generator) -> np.ndarray:
    flats, heated = (random.lognormal(np.log(each * HOURS), 0.4, n) for each in (220, 1800))
    return np.where(random.random(n) < 0.25, heated, flats)


def with_solar(n: int, random: np.random.Generator) -> np.ndarray:
    return random.lognormal(np.log(120 * HOURS), 1.1, n) * (random.random(n) > 0.15)


def all_equal(n: int, random: np.random.Generator) -> np.ndarray:
    return np.full(n, random.uniform(300, 700) * HOURS)


def fitted(totals: np.ndarray, epsilon: float, random: np.random.Generator) -> TotalsDistribution:
    counts = np.histogram(totals, np.append(BINS.edges, np.inf))[0]
    return fit_population(BINS, counts + random.laplace(0.0, 1 / epsilon, len(counts)), 1 / epsilon, epsilon)


def ratio(totals: np.ndarray, bound: float) -> float:
    return float(totals.sum() / np.minimum(totals, bound).sum())


TownMaker = Callable[[int, np.random.Generator], np.ndarray]


@pytest.mark.parametrize("make", [with_businesses, with_heating, with_solar, all_equal])
def test_what_the_histogram_shows_is_believed(make: TownMaker) -> None:
    # 2000 households, noise of scale 3. Measured in 40 towns: businesses are worst, 5.5 % low (some are piled up at
    # the cap) with a deviation of 2.5 %, and 33 covered. The mean of 20 is beyond 0.085 at 5.3 deviations (1e-7), and
    # 6 or fewer of 20 are covered with a chance of 4e-7.
    errors, covered = [], 0
    for seed in range(TOWNS):
        random = np.random.default_rng([seed, 6])
        totals = make(2000, random)
        population = fitted(totals, 0.316, random)
        bound = choose_space_bound(population, 6.0, "laplace", 1024)
        true = ratio(totals, bound)
        low, high = np.quantile(population.debias_draws(bound), [0.025, 0.975])
        errors.append(np.log(population.debias(bound) / true))
        covered += bool(low - 1e-3 <= true <= high + 1e-3)
    assert abs(np.mean(errors)) < 0.085
    assert covered > 6


def test_a_heavy_kind_that_cannot_be_seen_is_in_one_draw_of_ten() -> None:
    # Nothing but noise of the largest scale: the posterior is the prior.
    population = fitted(usual(250, np.random.default_rng(0)), 0.001, np.random.default_rng(1))
    factors = population.debias_draws(400.0 * HOURS)
    low, middle, high = np.quantile(factors, [0.025, 0.5, 0.975])
    assert high / middle > middle / low
    assert high / middle > 1.5
    # The estimate stays with what is likely.
    assert population.debias(400.0 * HOURS) == pytest.approx(middle, rel=0.25)


def test_counts_far_from_every_shape_are_believed() -> None:
    # All but equal households, and 40 at the cap: no shape has both. Noise of scale 1 (none is 25 scales off: 1e-10).
    totals = np.append(np.full(1000, 500.0 * HOURS), np.full(40, 22_000.0 * HOURS))
    population = fitted(totals, 1.0, np.random.default_rng(2))
    seen = population.households * population.weights[population.support > BINS.edges[-1]].sum()
    assert seen == pytest.approx(40, abs=25)
    assert population.households == pytest.approx(1040, rel=0.1)


def test_equal_households_are_anywhere_in_their_bin() -> None:
    # Exact counts: all that is not known is where in a bin of ratio 1.5 they are.
    population = fitted(np.full(1000, 500.0 * HOURS), 100.0, np.random.default_rng(3))
    means = population.draws_weights @ population.support
    at = int(np.searchsorted(BINS.edges, 500.0 * HOURS)) - 1
    assert np.std(np.log(means)) > 0.25 * np.log(BINS.edges[at + 1] / BINS.edges[at]) / np.sqrt(12)


def test_businesses_do_not_raise_the_bound_to_theirs_unless_it_pays() -> None:
    random = np.random.default_rng(4)
    population = fitted(with_businesses(2000, random), 1.0, random)
    bounds = [choose_common_bound(population, epsilon, "laplace", 1024, HOURS) for epsilon in (0.5, 3.0, 10.0, 1000.0)]
    assert bounds == sorted(bounds)
    assert bounds[0] < population.quantile(0.9)
    assert bounds[-1] > population.quantile(0.97)


def test_shapes_are_distributions_and_their_chances_add_up() -> None:
    shapes = Shapes.of(BINS)
    assert np.exp(shapes.prior).sum() == pytest.approx(1)
    assert np.exp(shapes.prior[shapes.heavy]).sum() == pytest.approx(HEAVY_CHANCE)
    np.testing.assert_allclose(shapes.parts.sum(axis=1), 1)
    some = np.arange(0, len(shapes.parts), 97)
    np.testing.assert_allclose(BINS.masses(shapes.points(some)), shapes.parts[some])


def test_bins_are_wide_where_few_households_are() -> None:
    ratios = BINS.edges[2:] / BINS.edges[1:-1]
    np.testing.assert_allclose(ratios[:-1], RATIO, rtol=1e-3)
    assert ratios[-1] == pytest.approx(RATIO**WIDE_RATIOS, rel=1e-3)
    assert (np.diff(BINS.support) > 0).all()
    for at in range(len(BINS.edges)):
        places = BINS.places[np.digitize(BINS.support, BINS.edges) == at + 1]
        assert places.sum() == pytest.approx(0, abs=1e-9)
        assert np.ptp(places) < 1
