"""Rehearsals: one invented town on every grid and in every step, in memory, and errors as they are."""

import math
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from gridveil.model.window import Window
from gridveil.publishing.plan import Plan
from gridveil.publishing.spec import make_spec
from gridveil.simulate.rehearse import MAX_READINGS, ErrorTally, draw_ranges, invent_town, max_households, rehearse
from gridveil.simulate.town import OWN_DAYS, SHARED_DAYS, SHARED_HOURS, draw_variation


def plan_of(**settings: Any) -> Plan:
    place = {"extent": [0, 0, 800, 800], "grid": "8x8", "start": "2013-02-04T00:00", "steps": 48}
    return Plan.of(make_spec({**place, "mechanism": "even", **settings}))


def test_a_town_is_the_same_on_every_grid_and_in_every_step() -> None:
    fine, coarse = plan_of(), plan_of(grid="4x2", step="1d", steps=2)
    many, few = (invent_town(plan, 300, 0).cube(plan.window) for plan in (fine, coarse))
    assert many.shape == (8, 8, 48)
    np.testing.assert_allclose(many.reshape(4, 2, 2, 4, 2, 24).sum(axis=(1, 3, 5)), few)


def test_seeds_have_towns_of_their_own() -> None:
    plan = plan_of()
    first, again, other = (invent_town(plan, 50, seed).consumption for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_training_steps_are_invented_too_and_not_part_of_the_truth() -> None:
    plan = plan_of(mechanism="stpt")
    town = invent_town(plan, 20, 0)
    assert town.window.steps > 48
    assert town.cube(plan.window).shape == (8, 8, 48)


def test_without_noise_or_bounds_the_map_is_exact_and_its_cells_are_not() -> None:
    plan = plan_of(bound_window=23 * 48)
    rehearsal = rehearse(plan, 1e9, 300)
    assert rehearsal.tally((8, 8, 48)).percent == pytest.approx(0, abs=1e-3)
    assert rehearsal.tally((1, 1, 1)).percent > 20


@pytest.mark.parametrize("mechanism", ["even", "outer", "identity"])
@pytest.mark.parametrize("bound_window", [None, 100.0])
def test_noise_grows_as_epsilon_falls_and_bars_know(mechanism: str, bound_window: float | None) -> None:
    plan = plan_of(mechanism=mechanism, bound_window=bound_window)
    weak, strong = (rehearse(plan, epsilon, 300).tally((8, 8, 48), bars=True) for epsilon in (100.0, 0.01))
    assert strong.percent > weak.percent
    assert strong.interval_percent > weak.interval_percent >= 0


def test_tallies_add_up_and_one_that_went_wrong_is_not_typical() -> None:
    both = ErrorTally() + ErrorTally(10, 1, 2) + ErrorTally(30, 9, 10)
    assert both.interval_percent == 30
    three = both + ErrorTally(10, 6)
    assert (three.percent, three.each) == (30, (10, 30, 60))
    assert math.isnan(ErrorTally().percent)


def test_ranges_lie_inside_and_reach_both_ends() -> None:
    ranges = draw_ranges((2, 3, 1), (4, 3, 5))
    np.testing.assert_array_equal(ranges[:, 1::2] - ranges[:, ::2], np.tile([2, 3, 1], (len(ranges), 1)))
    assert ranges[:, ::2].min(axis=0).tolist() == [0, 0, 0]
    assert ranges[:, 1::2].max(axis=0).tolist() == [4, 3, 5]


def test_memory_limits_households() -> None:
    assert max_households(plan_of()) == MAX_READINGS // 48
    assert max_households(plan_of(step="1d", steps=365)) == MAX_READINGS // (24 * 365)


def test_days_differ_for_all_together_and_for_each_alone() -> None:
    window = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 24 * 200)
    logs = np.log(draw_variation(100, window, np.random.default_rng(0)))
    assert np.exp(logs).mean() == pytest.approx(1, abs=0.01)
    together = logs.mean(axis=0)
    own_days = (logs - together).reshape(100, 200, 24)
    np.testing.assert_allclose(own_days, own_days[:, :, :1].repeat(24, axis=2))
    assert own_days.std() == pytest.approx(OWN_DAYS, rel=0.05)
    spread = math.sqrt(SHARED_DAYS**2 + SHARED_HOURS**2 + OWN_DAYS**2 / 100)
    assert together.std() == pytest.approx(spread, rel=0.1)
    hours = together - together.reshape(200, 24).mean(axis=1).repeat(24)
    assert 0.5 < np.corrcoef(hours[1:], hours[:-1])[0, 1] < 0.9
