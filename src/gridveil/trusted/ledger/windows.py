"""Ledger windows: time cut into days, weeks, months or years of a place's calendar."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal, get_args
from zoneinfo import ZoneInfo

from gridveil.model.errors import UsageError

Length = Literal["day", "week", "month", "year"]
LENGTHS: tuple[str, ...] = get_args(Length)

NO_PLACES = {"localtime", "posixrules", "Factory"}
"""Names that mean another time on another machine."""

FIRST_YEAR, LAST_YEAR = 1000, 8999
"""Reads lie in these years: calendars go on a little further, so that no border is missing."""


@dataclass(frozen=True, order=True)
class LedgerWindow:
    """One window of a ledger: from `start` until before `end`, both UTC."""

    start: datetime
    end: datetime
    name: str
    """As people write it: 2013-02-04, 2013-W06, 2013-02 or 2013."""


def zone_of(timezone: str) -> ZoneInfo:
    """Return the timezone of this name."""
    try:
        zone = None if timezone in NO_PLACES else ZoneInfo(timezone)
    except (ValueError, OSError, KeyError):  # a path, a folder, no such zone: as zoneinfo tells them
        zone = None
    if zone is None:
        msg = f"timezone {timezone!r}: not known; give a name such as Europe/London, or UTC"
        raise UsageError(msg, code="timezone-unknown")
    return zone


def window_at(instant: datetime, length: str, timezone: str) -> LedgerWindow:
    """Return the ledger window in which an instant lies.

    Guarantee: for one length and timezone these windows cut time into pieces without gaps or overlaps. A window is
    named by its first day and reaches from that day's border to the border of the next window's first day; the loops
    find the one that holds the instant, and borders grow with the day. A day's border is its midnight on local clocks:
    where clocks show it twice, the first; where they skip it, when the clock before the change would have shown it.

    >>> window_at(datetime(2013, 3, 31, 23, 30, tzinfo=UTC), "day", "Europe/London").name
    '2013-04-01'
    """
    zone = zone_of(timezone)
    first = _first_day(instant.astimezone(zone).date(), length)
    # Clocks that go back over midnight show the day after for a while: the date alone does not decide.
    while _border(first, zone) > instant:
        first = _first_day(first - timedelta(days=1), length)
    while _border(_next(first, length), zone) <= instant:
        first = _next(first, length)
    return LedgerWindow(_border(first, zone), _border(_next(first, length), zone), _name(first, length))


def windows_touched(start: datetime, end: datetime, length: str, timezone: str) -> list[LedgerWindow]:
    """Return the ledger windows that have an instant in common with the time from `start` until before `end`."""
    touched = [window_at(start, length, timezone)]
    while touched[-1].end < end:
        touched.append(window_at(touched[-1].end, length, timezone))
    return touched


def _border(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time(), zone).astimezone(UTC)


def _first_day(day: date, length: str) -> date:
    match length:
        case "day":
            return day
        case "week":
            return day - timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)
        case _:
            return day.replace(month=1, day=1)


def _next(first: date, length: str) -> date:
    days = {"day": 1, "week": 7, "month": 31, "year": 366}[length]
    return _first_day(first + timedelta(days=days), length)


def _name(first: date, length: str) -> str:
    match length:
        case "day":
            return first.isoformat()
        case "week":
            year, week, _ = first.isocalendar()
            return f"{year}-W{week:02}"
        case "month":
            return f"{first.year}-{first.month:02}"
        case _:
            return str(first.year)
