"""The shape of the day that releases tell: by the local clock, positive whatever noise made of it, or none at all."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from gridveil.mechanisms.base import make
from gridveil.mechanisms.mosaic.time import PublicShape
from gridveil.model.window import Window
from gridveil.publishing.next_release import MIN_HOUR, compute_average_day

HOUR = timedelta(hours=1)
MONDAY = datetime(2013, 6, 3, tzinfo=UTC)


def hourly(window: Window, values: list[float] | np.ndarray, zone: str = "UTC") -> np.ndarray:
    shape = compute_average_day([(window, np.asarray(values, dtype=float))], zone)
    assert shape is not None
    assert make("mosaic", {"profile": shape, "profile_zone": zone})  # which wants 48 positive numbers
    return np.reshape(shape, (2, 24))


def test_hours_are_those_of_the_local_clock_and_kinds_of_day_are_kept_apart() -> None:
    week = Window(MONDAY - HOUR, HOUR, 168)  # begins at midnight in London
    day = np.where(np.arange(168) // 24 < 5, 1.0, 2.0) * np.where(np.arange(168) % 24 == 18, 3.0, 1.0)
    found = hourly(week, day, "Europe/London")
    assert found.argmax(axis=1).tolist() == [18, 18]
    assert found[1] / found[0] == pytest.approx(2, rel=1e-3)
    assert hourly(week, day).argmax(axis=1).tolist() == [17, 17]


@pytest.mark.parametrize("minutes", [15, 30, 60, 120, 360])
def test_steps_may_be_of_any_length_that_fits_a_day(minutes: int) -> None:
    """A step's consumption is its power times its length: the shape does not depend on how it was cut."""
    step = timedelta(minutes=minutes)
    week = Window(MONDAY, step, timedelta(weeks=1) // step)
    hours = np.array([(time.hour // 6) + 1 for time in week.times()])
    found = hourly(week, hours * minutes / 60)
    assert found[0] / found[0, 0] == pytest.approx(np.arange(24) // 6 + 1, rel=1e-3)


def test_what_was_not_published_yet_is_taken_from_the_other_kind_of_day_or_from_the_average() -> None:
    monday = Window(MONDAY, HOUR, 24)
    found = hourly(monday, np.arange(1.0, 25))
    assert (found[0] == found[1]).all()
    morning = hourly(Window(MONDAY, HOUR, 12), np.arange(1.0, 13))
    assert (morning[:, 12:] == 1).all()


def test_several_releases_are_averaged() -> None:
    days = [
        (Window(MONDAY + number * 24 * HOUR, HOUR, 24), np.where(np.arange(24) == 3 + number, 25.0, 1.0))
        for number in range(2)
    ]
    shape = compute_average_day(days, "UTC")
    assert shape is not None
    assert shape[3] == shape[4] == max(shape)


def test_noise_makes_no_hour_worth_nothing_and_nothing_is_no_shape() -> None:
    day = Window(MONDAY, HOUR, 24)
    found = hourly(day, [-50.0, 100.0] * 12)
    assert found.min() == MIN_HOUR
    assert compute_average_day([(day, np.zeros(24))], "UTC") is None
    assert compute_average_day([(day, np.full(24, -1.0))], "UTC") is None
    assert compute_average_day([], "UTC") is None


def test_a_day_without_a_shape_teaches_nothing() -> None:
    """As releases with much noise have it: mosaic then believes that all hours are alike."""
    day, wave = Window(MONDAY, HOUR, 24), np.sin(np.arange(24) * np.pi / 12)
    assert compute_average_day([(day, 1 + 0.05 * wave)], "UTC") is None
    assert compute_average_day([(day, 1 + 0.3 * wave)], "UTC") is not None


def test_it_is_what_mosaic_makes_of_a_public_shape() -> None:
    """Learned from a window that a smooth shape was spread over, it gives nearly the same window again."""
    week = Window(MONDAY, HOUR, 168)
    smooth = 2 + np.sin(2 * np.pi * (np.arange(24) - 13) / 24)
    spread = PublicShape(np.stack([smooth, smooth])).sample(week, "Europe/London")
    again = PublicShape(hourly(week, spread, "Europe/London")).sample(week, "Europe/London")
    assert again == pytest.approx(spread, rel=0.02)
