"""Ledger windows: calendars of places, across changes of their clocks."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.codes import has_code

from gridveil.model.errors import BudgetError, UsageError
from gridveil.trusted.ledger.population import LENGTHS, Population, Read, find_window, find_windows, parse_cap

HOUR = timedelta(hours=1)
# St John's put its clocks back at 00:01, so that a day began twice; Beirut and Sao Paulo skip a midnight; Samoa
# skipped a day; Lord Howe moves by half an hour; Kolkata is half an hour off.
ZONES = [
    *("UTC", "Europe/London", "America/St_Johns", "Asia/Beirut", "America/Sao_Paulo", "Pacific/Apia"),
    *("Australia/Lord_Howe", "Asia/Kolkata", "America/New_York"),
]
instants = st.datetimes(datetime(1987, 1, 1), datetime(2037, 1, 1), timezones=st.just(UTC)).map(  # noqa: DTZ001  # Hypothesis adds the timezone
    lambda instant: instant.replace(microsecond=0)
)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text)


@pytest.mark.parametrize(
    ("instant", "length", "zone", "name", "hours"),
    [
        ("2013-02-04T00:00Z", "day", "UTC", "2013-02-04", 24),
        ("2013-03-31T12:00Z", "day", "Europe/London", "2013-03-31", 23),
        ("2013-10-27T23:59Z", "day", "Europe/London", "2013-10-27", 25),
        ("2013-03-30T23:59Z", "week", "Europe/London", "2013-W13", 167),
        ("2013-03-31T23:00Z", "week", "Europe/London", "2013-W14", 168),
        ("2012-12-31T00:00Z", "week", "UTC", "2013-W01", 168),
        ("2016-01-03T23:59Z", "week", "UTC", "2015-W53", 168),
        ("2013-03-31T22:59Z", "month", "Europe/London", "2013-03", 743),
        ("2013-03-31T23:00Z", "month", "Europe/London", "2013-04", 720),
        ("2012-02-29T23:59Z", "month", "UTC", "2012-02", 29 * 24),
        ("2012-12-31T23:59Z", "year", "UTC", "2012", 366 * 24),
        ("2013-01-01T04:59Z", "year", "America/New_York", "2012", 366 * 24),
        ("2011-12-30T10:00Z", "day", "Pacific/Apia", "2011-12-31", 24),  # the 30th was skipped
        ("2018-11-04T03:00Z", "day", "America/Sao_Paulo", "2018-11-04", 23),  # began at one o'clock
        ("1919-03-31T04:30Z", "day", "America/Toronto", "1919-03-30", 24),  # clocks went from 23:30 to 00:30
        ("2006-10-29T02:30Z", "day", "America/St_Johns", "2006-10-29", 25),  # the first of two midnights...
        ("2006-10-29T02:31Z", "day", "America/St_Johns", "2006-10-29", 25),  # ...when clocks showed the 28th again
        ("2006-10-29T02:29Z", "day", "America/St_Johns", "2006-10-28", 24),
    ],
)
def test_windows_are_those_of_the_calendar(instant: str, length: str, zone: str, name: str, hours: int) -> None:
    window = find_window(at(instant), length, zone)
    assert (window.name, (window.end - window.start) / HOUR) == (name, hours)
    assert window.start <= at(instant) < window.end


@given(instant=instants, length=st.sampled_from(LENGTHS), zone=st.sampled_from(ZONES))
def test_windows_leave_no_gap_and_do_not_overlap(instant: datetime, length: str, zone: str) -> None:
    window = find_window(instant, length, zone)
    assert window.start <= instant < window.end
    for inside in (window.start, window.start + (window.end - window.start) / 2, window.end - timedelta(seconds=1)):
        assert find_window(inside, length, zone) == window
    after, before = (
        find_window(window.end, length, zone),
        find_window(window.start - timedelta(seconds=1), length, zone),
    )
    assert after.start == window.end
    assert before.end == window.start
    assert len({before.name, window.name, after.name}) == 3


@given(instant=instants, zone=st.sampled_from([zone for zone in ZONES if zone != "America/St_Johns"]))
def test_the_name_is_that_of_the_local_date(instant: datetime, zone: str) -> None:
    local = instant.astimezone(ZoneInfo(zone)).date()
    year, week, _ = local.isocalendar()
    names = [find_window(instant, length, zone).name for length in LENGTHS]
    assert names == [str(local), f"{year}-W{week:02}", f"{local:%Y-%m}", f"{local:%Y}"]


@given(instant=instants, hours=st.integers(1, 24 * 60), length=st.sampled_from(LENGTHS), zone=st.sampled_from(ZONES))
def test_a_read_touches_the_windows_of_its_hours(instant: datetime, hours: int, length: str, zone: str) -> None:
    touched = find_windows(instant, instant + hours * HOUR, length, zone)
    seconds = [instant + i * HOUR for i in range(hours)] + [instant + hours * HOUR - timedelta(seconds=1)]
    assert {window.name for window in touched} == {find_window(second, length, zone).name for second in seconds}


def test_a_read_may_end_at_a_border() -> None:
    weeks = Population("weeks", parse_cap(1), "household-window", "week", "Europe/London")
    border = at("2013-03-31T23:00Z")  # midnight of summer time
    weeks.refuse_crossing([Read("a", border - 167 * HOUR, border), Read("b", border, border + 168 * HOUR)])
    second = timedelta(seconds=1)
    for start, end in ((border - second, border + second), (border - 168 * HOUR, border)):
        with pytest.raises(UsageError, check=has_code("read-crosses-windows", "2013-W1")):
            weeks.refuse_crossing([Read("a", start, end)])


def test_a_read_that_came_to_cross_a_border_costs_twice() -> None:
    """Taking away the readings of one side can change what the bounds leave of the other."""
    days = Population("days", parse_cap(1), "household-window", "day", "UTC")
    noon = at("2013-02-04T12:00Z")
    charges = days.charges([Read("a", noon, noon + HOUR), Read("b", noon, noon + 24 * HOUR)], parse_cap("0.3"))
    assert {window.name: charge for window, charge in charges.items()} == {
        "2013-02-04": parse_cap("0.6"),
        "2013-02-05": parse_cap("0.6"),
    }


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"name": ""}, "population-name"),
        ({"name": " town"}, "population-name"),
        ({"name": "to\nwn"}, "population-name"),
        ({"name": 101 * "a"}, "population-name"),
        ({"unit": "person"}, "unit-unknown"),
        ({"window": "week"}, "unit-without-window"),
        ({"timezone": "UTC"}, "unit-without-window"),
        ({"unit": "household-window", "timezone": "UTC"}, "ledger-window-unknown"),
        ({"unit": "household-window", "window": "hour", "timezone": "UTC"}, "ledger-window-unknown"),
        ({"unit": "household-window", "window": "week"}, "ledger-timezone-missing"),
        ({"unit": "household-window", "window": "week", "timezone": "Europe"}, "timezone-unknown"),
        ({"unit": "household-window", "window": "week", "timezone": "localtime"}, "timezone-unknown"),
        ({"unit": "household-window", "window": "week", "timezone": "../../etc/passwd"}, "timezone-unknown"),
    ],
)
def test_impossible_populations_are_refused(settings: dict[str, str], code: str) -> None:
    with pytest.raises(UsageError, check=has_code(code)):
        Population(**{"name": "town", "cap": parse_cap(1), **settings})


@pytest.mark.parametrize("cap", ["0", "-1", "nan", "inf", "1e99", "much", ""])
def test_a_cap_is_a_positive_number(cap: str) -> None:
    with pytest.raises(BudgetError, check=has_code("cap-invalid")):
        parse_cap(cap)
    with pytest.raises(BudgetError, check=has_code("cap-invalid")):
        Population("town", parse_cap("1." + 100 * "0" + "1"))


def test_impossible_reads_are_refused() -> None:
    start = at("2013-02-04T00:00Z")
    local = datetime.combine(date(2013, 2, 4), datetime.min.time())
    for end, code in (
        (start, "read-not-whole"),
        (start - HOUR, "read-not-whole"),
        (start + timedelta(microseconds=1), "read-not-whole"),
        (local, "read-invalid"),
        (at("9000-01-01T00:00Z"), "read-beyond-calendar"),
    ):
        with pytest.raises(UsageError, check=has_code(code)):
            Read("a", start, end)
    with pytest.raises(UsageError, check=has_code("read-invalid")):
        Read("", start, start + HOUR)


def test_a_refused_read_is_told_the_borders_that_fit() -> None:
    """In summer a week of London begins on Sunday at 23:00 UTC."""
    weekly = Population("weekly", Fraction(3), "household-window", "week", "Europe/London")
    monday = datetime(2024, 4, 8, tzinfo=UTC)
    week = Read("published", monday, monday + timedelta(days=7))
    fits = "2024-W15 of Europe/London", "2024-04-07T23:00:00Z to 2024-04-14T23:00:00Z"
    with pytest.raises(UsageError, check=has_code("read-crosses-windows", *fits, "--start 2024-04-07T23:00:00Z")):
        weekly.refuse_crossing([week])
    with pytest.raises(UsageError, check=has_code("read-crosses-windows", *fits, "training window")):
        weekly.refuse_crossing([replace(week, name="training")])
    weekly.refuse_crossing([Read("published", monday - timedelta(hours=1), monday + timedelta(days=6, hours=23))])
