"""Windows of a series: by the calendar of a place, with summer time, and never two of the same name."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from tests.codes import has_code

from gridveil.model.errors import UsageError
from gridveil.publishing.schedule import Schedule
from gridveil.publishing.spec import make_spec


def schedule(zone: str = "Europe/London", **settings: Any) -> Schedule:
    return Schedule.of(make_spec({"readings": {"path": "readings.parquet", "timezone": zone}, **settings}))


@pytest.mark.parametrize(
    ("cadence", "start", "hours", "names"),
    [
        ("day", "2013-03-30", [24, 23, 24], ["2013-03-30", "2013-03-31", "2013-04-01"]),
        ("day", "2013-10-26", [24, 25, 24], ["2013-10-26", "2013-10-27", "2013-10-28"]),
        ("week", "2013-03-18", [168, 167, 168], ["2013-03-18", "2013-03-25", "2013-04-01"]),
        ("week", "2013-10-21", [169, 168, 168], ["2013-10-21", "2013-10-28", "2013-11-04"]),
        ("month", "2013-02-01", [672, 743, 720], ["2013-02", "2013-03", "2013-04"]),
        ("month", "2013-10-01", [745, 720, 744], ["2013-10", "2013-11", "2013-12"]),
        ("year", "2011-01-01", [8760, 8784, 8760], ["2011", "2012", "2013"]),
    ],
)
def test_windows_are_those_of_local_clocks(cadence: str, start: str, hours: list[int], names: list[str]) -> None:
    turns = list(islice(schedule(cadence=cadence, start=start).turns(), 3))
    assert [turn.window.steps for turn in turns] == hours
    assert [turn.name for turn in turns] == names
    assert all(before.window.end == after.window.start for before, after in pairwise(turns))


@pytest.mark.parametrize("zone", ["Europe/London", "America/Sao_Paulo", "Pacific/Apia", "Australia/Lord_Howe"])
@pytest.mark.parametrize("cadence", ["day", "week", "month", "year"])
def test_they_cut_time_without_gaps_into_pieces_of_different_names(zone: str, cadence: str) -> None:
    """Where midnight is skipped, a day is missing altogether, or clocks change by half an hour, too."""
    first = datetime(2007, 1, 1, tzinfo=ZoneInfo(zone))  # a Monday
    turns = list(islice(schedule(zone, cadence=cadence, start=first, step="30min").turns(), 2000))
    turns = [turn for turn in turns if turn.window.start.year < 2013]
    assert all(before.window.end == after.window.start for before, after in pairwise(turns))
    assert len({turn.name for turn in turns}) == len(turns)
    assert [turn.name for turn in turns] == sorted(turn.name for turn in turns)


@pytest.mark.parametrize(
    ("cadence", "start", "nearest"),
    [
        ("day", "2013-02-04T01:00", "2013-02-04T00:00:00+00:00"),
        ("day", "2013-06-04T00:00Z", "2013-06-04T00:00:00+01:00"),  # midnight is at 23:00 UTC
        ("week", "2013-02-05", "2013-02-04T00:00:00+00:00"),
        ("week", "2013-02-09", "2013-02-11T00:00:00+00:00"),
        ("month", "2013-06-28", "2013-07-01T00:00:00+01:00"),
        ("year", "2013-02-01", "2013-01-01T00:00:00+00:00"),
    ],
)
def test_a_start_that_is_no_border_is_refused_with_the_nearest(cadence: str, start: str, nearest: str) -> None:
    with pytest.raises(UsageError, check=has_code("start-not-on-cadence", "Europe/London")) as refused:
        schedule(cadence=cadence, start=start)
    assert str(refused.value).endswith(f"give start = {nearest}")
    assert next(schedule(cadence=cadence, start=nearest).turns())


def test_steps_that_do_not_fit_every_window_are_refused_before_the_first() -> None:
    with pytest.raises(UsageError, check=has_code("step-does-not-divide", "week 2013-03-25", "167 hours")):
        schedule(cadence="week", start="2012-12-31", step="1d")
    with pytest.raises(UsageError, check=has_code("step-does-not-divide", "2013-03-31", "23 hours")):
        schedule(cadence="day", start="2013-02-04", step="2h")
    assert next(schedule("UTC", cadence="week", start="2012-12-31", step="1d").turns()).window.steps == 7
    assert next(schedule(cadence="week", start="2012-12-31", step="15min").turns()).window.steps == 7 * 96


def test_a_series_needs_a_cadence_and_no_steps() -> None:
    with pytest.raises(UsageError, check=has_code("cadence-not-stated")):
        schedule(start="2013-02-04", steps=168)
    with pytest.raises(UsageError, check=has_code("steps-with-cadence")):
        schedule(cadence="week", start="2013-02-04", steps=168)
    with pytest.raises(UsageError, check=has_code("settings-missing", "--start")):
        schedule(cadence="week")
    with pytest.raises(UsageError, check=has_code("series-beyond-calendar", "1000", "8999")):
        schedule(cadence="week", start="0999-02-04")


def test_the_next_window_is_the_first_that_is_not_taken() -> None:
    weeks = schedule(cadence="week", start="2013-03-25")
    one, two, three = islice(weeks.turns(), 3)
    assert weeks.next(set()) == one
    assert weeks.next({one.window.start}) == two
    assert weeks.next({one.window.start, three.window.start}) == two
    assert weeks.next({two.window.start}) == one
    long_before = datetime(2001, 1, 1, tzinfo=UTC)
    assert weeks.next({long_before, long_before + timedelta(weeks=1)}) == one


def test_it_tells_which_steps_fit_into_all_windows() -> None:
    weeks = schedule(cadence="week", start="2012-12-31")
    taken = [
        timedelta(minutes=minutes) for minutes in (15, 30, 60, 120, 360) if weeks.takes(timedelta(minutes=minutes))
    ]
    assert taken == [timedelta(minutes=minutes) for minutes in (15, 30, 60)]
    assert schedule("UTC", cadence="week", start="2012-12-31").takes(timedelta(days=1))
