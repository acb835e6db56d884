"""Profiles against a loop over all steps that asks the clock of the place, one step at a time."""

from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from tests.codes import has_code

from gridveil.geography.area import Area
from gridveil.geography.grid import Grid
from gridveil.model.errors import UsageError
from gridveil.model.window import Window
from gridveil.release.query.open import QueryAnswers, Release, open_release
from gridveil.release.query.profile import typical, typical_day, typical_week

GRID = Grid(0, 0, 4, 3, nx=4, ny=3)
LONDON = "Europe/London"
SPRING = datetime(2013, 3, 28, tzinfo=UTC)  # a Thursday; clocks go forward on Sunday the 31st
AUTUMN = datetime(2013, 10, 24, tzinfo=UTC)  # a Thursday; clocks go back on Sunday the 27th

Made = Callable[[Window], Release]


@pytest.fixture
def made(publish: Callable[..., Path]) -> Made:
    return lambda window: open_release(publish("scaled", GRID, window))


def minutes_of(window: Window, zone: str, *, week: bool) -> dict[float, list[int]]:
    """The steps that start at each local minute of the day or week."""
    steps: dict[float, list[int]] = defaultdict(list)
    for step in range(window.steps):
        local = (window.start + step * window.step).astimezone(ZoneInfo(zone))
        minute = local.hour * 60 + local.minute + week * local.weekday() * 1440
        steps[minute].append(step)
    return dict(sorted(steps.items()))


def averages(release: Release, groups: list[list[int]]) -> list[float]:
    """The mean of single steps' answers in the area of `corner`."""
    return [
        float(np.mean([release.query(x=(1, 3), y=(0, 2), time=(s, s + 1)).value for s in group])) for group in groups
    ]


def corner(release: Release) -> Area:
    return Area.box(release.grid, x=(1, 3), y=(0, 2))


@pytest.mark.parametrize("start", [SPRING, AUTUMN])
@pytest.mark.parametrize("zone", ["UTC", LONDON, "Asia/Kathmandu"])
@pytest.mark.parametrize("minutes", [60, 15])
def test_a_day_is_the_mean_of_the_steps_that_start_at_each_local_time(
    made: Made, start: datetime, zone: str, minutes: int
) -> None:
    window = Window(start + timedelta(hours=7), timedelta(minutes=minutes), 6 * 24 * 60 // minutes)
    release = made(window)
    day = typical_day(release, corner(release), zone)
    assert day is not None
    expected = minutes_of(window, zone, week=False)
    assert day.minutes.tolist() == list(expected)
    some = slice(0, None, 5)
    np.testing.assert_allclose(day.all.value[some], averages(release, list(expected.values())[some]), rtol=1e-5)
    for answers, is_weekend in ((day.weekday, False), (day.weekend, True)):
        groups = [
            [
                s
                for s in steps
                if ((start + timedelta(hours=7) + s * window.step).astimezone(ZoneInfo(zone)).weekday() > 4)
                == is_weekend
            ]
            for steps in expected.values()
        ]
        assert answers is not None
        np.testing.assert_allclose(answers.value[some], averages(release, groups[some]), rtol=1e-5)


@pytest.mark.parametrize("start", [SPRING, AUTUMN])
def test_a_week_is_the_mean_of_the_steps_at_each_local_time_of_the_week(made: Made, start: datetime) -> None:
    window = Window(start, timedelta(minutes=30), 48 * 8)
    release = made(window)
    week = typical_week(release, corner(release), LONDON)
    assert week is not None
    expected = minutes_of(window, LONDON, week=True)
    assert week.minutes.tolist() == list(expected)
    assert len(expected) == (336 - 2 if start == SPRING else 336)  # one Sunday has no time from 1:00 to 2:00
    np.testing.assert_allclose(week.all.value[::9], averages(release, list(expected.values())[::9]), rtol=1e-5)


def test_intervals_are_those_of_the_schedule(made: Made) -> None:
    release = made(Window(SPRING, timedelta(hours=1), 96))
    area = corner(release)
    day = typical_day(release, area, LONDON)
    assert day is not None
    steps = minutes_of(release.window, LONDON, week=False)
    schedules = np.zeros((len(steps), 96))
    for row, group in enumerate(steps.values()):
        schedules[row, group] = 1 / len(group)
    expected = release.at(area, schedules)
    for name in ("value", "standard_error", "low", "high"):
        np.testing.assert_allclose(getattr(day.all, name), getattr(expected, name))


def test_day_and_week_asked_together_are_the_same(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    release = made(Window(AUTUMN, timedelta(hours=1), 24 * 9))
    area = corner(release)
    monkeypatch.setattr("gridveil.release.query.profile.MOST_WEIGHTS", 50 * release.window.steps)  # several batches
    day, week = typical(release, area, LONDON)
    monkeypatch.undo()
    alone_day, alone_week = typical_day(release, area, LONDON), typical_week(release, area, LONDON)
    assert day is not None
    assert week is not None
    assert alone_day is not None
    assert alone_week is not None
    for one, other in (
        (day.all, alone_day.all),
        (day.weekday, alone_day.weekday),
        (day.weekend, alone_day.weekend),
        (week.all, alone_week.all),
    ):
        for name in ("value", "standard_error", "low", "high"):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name))


def test_long_steps_belong_to_the_local_hours_that_most_of_them_lies_in(made: Made) -> None:
    release = made(Window(SPRING, timedelta(hours=6), 28))
    day = typical_day(release, corner(release), LONDON)
    assert day is not None
    assert day.minutes.tolist() == [0, 360, 720, 1080]
    # After the change steps start at 1:00, 7:00, ... and still are the same quarters of the day.
    quarters = [list(range(quarter, 28, 4)) for quarter in range(4)]
    np.testing.assert_allclose(day.all.value, averages(release, quarters), rtol=1e-5)


def test_days_make_a_week(made: Made) -> None:
    release = made(Window(datetime(2013, 2, 6, tzinfo=UTC), timedelta(days=1), 14))  # from a Wednesday
    week = typical_week(release, corner(release))
    day = typical_day(release, corner(release))
    assert week is not None
    assert day is not None
    assert week.minutes.tolist() == [1440 * day for day in range(7)]
    np.testing.assert_allclose(
        week.all.value, averages(release, [[(d - 2) % 7, (d - 2) % 7 + 7] for d in range(7)]), rtol=1e-5
    )
    assert day.minutes.tolist() == [0]
    assert isinstance(day.weekend, QueryAnswers)


@pytest.mark.parametrize(
    ("step", "steps", "has_day", "has_week"),
    [
        (timedelta(hours=1), 23, False, False),
        (timedelta(hours=1), 24, True, False),
        (timedelta(hours=1), 167, True, False),
        (timedelta(hours=1), 168, True, True),
        (timedelta(hours=7), 100, False, False),
        (timedelta(days=2), 100, False, False),
    ],
)
def test_there_is_none_without_a_whole_one(
    made: Made, step: timedelta, steps: int, *, has_day: bool, has_week: bool
) -> None:
    release = made(Window(datetime(2013, 2, 4, tzinfo=UTC), step, steps))
    area = corner(release)
    assert (typical_day(release, area) is not None, typical_week(release, area) is not None) == (has_day, has_week)


def test_a_window_of_weekdays_has_no_weekend(made: Made) -> None:
    release = made(Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 120))
    day = typical_day(release, corner(release))
    assert day is not None
    assert day.weekend is None
    assert day.weekday is not None
    np.testing.assert_allclose(day.weekday.value, day.all.value)


@pytest.mark.parametrize("zone", ["Mars/Olympus", "../../etc/passwd", "", "Europe"])
def test_an_unknown_place_is_said(made: Made, zone: str) -> None:
    release = made(Window(SPRING, timedelta(hours=1), 24))
    with pytest.raises(UsageError, check=has_code("timezone-unknown")):
        typical_day(release, corner(release), zone)
