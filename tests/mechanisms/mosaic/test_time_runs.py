"""Which steps are measured together."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from gridveil.mechanisms.mosaic.steps import choose_runs, plan_time
from gridveil.model.window import Window

START = datetime(2013, 1, 14, tzinfo=UTC)


@pytest.mark.parametrize("minutes", [15, 30, 60, 420, 1440])
@pytest.mark.parametrize("steps", [1, 24, 365])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 1e9])
def test_labels_are_a_partition_without_gaps(minutes: int, steps: int, epsilon: float) -> None:
    runs = choose_runs(Window(START, timedelta(minutes=minutes), steps), 500.0, 5e4, epsilon, 7e4)
    assert runs.shape == (steps,)
    assert runs.dtype == np.int64
    assert set(runs) == set(range(runs.max() + 1))


def test_with_much_budget_every_step_is_measured() -> None:
    window = Window(START, timedelta(hours=1), 120)
    np.testing.assert_array_equal(choose_runs(window, 1e4, 6e4, 100.0, 7e4), np.arange(120))


def test_with_little_budget_days_are_summed() -> None:
    window = Window(START, timedelta(hours=1), 120)
    runs = choose_runs(window, 250, 6e4, 0.3, 7e4)
    assert runs.max() < 24
    np.testing.assert_array_equal(runs[:24], runs[24:48])


@pytest.mark.parametrize("households", [0.0, 1e7])
def test_a_year_of_quarters_of_an_hour(households: float) -> None:
    runs = choose_runs(Window(START, timedelta(minutes=15), 35_040), households, 4e6, 0.5, 6e6)
    assert runs.max() < 480 or runs.max() == 35_039


class Uniform:
    """Households' totals, any from 0 to 100 kWh alike."""

    def __init__(self, households: float) -> None:
        self.households = households

    def quantile(self, q: float) -> float:
        return 1e5 * q

    def mean(self, bound: float = 1e5) -> float:
        bound = min(bound, 1e5)
        return bound - bound**2 / 2e5


def test_a_plan_cuts_less_where_noise_is_less() -> None:
    window = Window(START, timedelta(hours=1), 120)
    low, high = (plan_time(window, Uniform(households), 0.5) for households in (100.0, 1e6))
    assert low.bound < high.bound
    assert low.runs.max() < high.runs.max() == 119


@pytest.mark.parametrize("households", [0.0, 1e9])
def test_a_plan_is_made_for_nobody_and_for_everybody(households: float) -> None:
    plan = plan_time(Window(START, timedelta(hours=1), 24), Uniform(households), 1.0)
    assert plan.bound >= 1
    assert plan.runs.shape == (24,)
