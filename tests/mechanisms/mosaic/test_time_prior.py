"""The calendar prior without matrices of steps, against the same with them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from gridveil.mechanisms.mosaic.steps import CalendarPrior, PriorSpread, sum_groups
from gridveil.model.window import Window

SPREAD = PriorSpread(0.3, 0.05, 0.1)
WINDOW = Window(datetime(2013, 1, 18, 7, tzinfo=UTC), timedelta(hours=1), 60)


@pytest.fixture
def prior() -> CalendarPrior:
    return CalendarPrior.of(WINDOW)


def test_sums_over_runs_have_the_covariance_of_their_steps(prior: CalendarPrior) -> None:
    shape = np.random.default_rng(0).uniform(0.5, 1.5, 60) / 60
    runs = np.arange(60) % 7
    whole = prior.apply(SPREAD, np.eye(60))
    np.testing.assert_allclose(whole, whole.T, atol=1e-12)
    summing = np.zeros((7, 60))
    summing[runs, np.arange(60)] = shape
    # Correlations below 3e-4 are left out.
    np.testing.assert_allclose(
        prior.sum_runs(runs, shape).covariance(SPREAD), summing @ whole @ summing.T, atol=0.1**2 * 3e-4
    )


def test_draws_have_the_covariance_of_the_prior(prior: CalendarPrior) -> None:
    # 20,000 draws: each variance is known to 1 % (sd); 8 % off among 60 would happen once in 1e13.
    drawn = prior.draw(SPREAD, 20_000, np.random.default_rng(1))
    expected = np.diag(prior.apply(SPREAD, np.eye(60)))
    np.testing.assert_allclose(drawn.var(axis=1), expected, rtol=0.08)


def test_what_is_lost_varies_as_its_draws_do(prior: CalendarPrior) -> None:
    # As above.
    weights = np.random.default_rng(2).normal(size=(60, 3))
    drawn = weights.T @ prior.draw_lost(0.3, 20_000, np.random.default_rng(3))
    np.testing.assert_allclose(drawn.var(axis=1), prior.lost(0.3, weights), rtol=0.08)


def test_weekends_have_a_shape_of_their_own() -> None:
    week = CalendarPrior.of(Window(datetime(2013, 1, 14, tzinfo=UTC), timedelta(days=1), 7))
    np.testing.assert_array_equal(week.kind, [0, 0, 0, 0, 0, 1, 1])
    assert week.shape_of_day[0, 1] < week.shape_of_day[0, 0]


def test_weights_are_summed_by_label() -> None:
    np.testing.assert_array_equal(sum_groups(np.array([1, 0, 1]), np.array([[1.0], [2.0], [4.0]])), [[2.0], [5.0]])
