"""Numbers, steps and dates as a reader would say them."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from html import escape
from typing import Protocol

HUNDRED, TEN = 100, 10
UNITS = (("day", timedelta(days=1)), ("hour", timedelta(hours=1)), ("minute", timedelta(minutes=1)))


class Interval(Protocol):
    """Both ends of a 95 % interval."""

    @property
    def low(self) -> float:
        """The lower end."""

    @property
    def high(self) -> float:
        """The upper end."""


def amount(kwh: float) -> str:
    """Return a number with the digits that mean something.

    >>> amount(20431.7), amount(15.36), amount(0.123), amount(-0.001)
    ('20,432', '15.4', '0.12', '0')
    """
    digits = 0 if abs(kwh) >= HUNDRED else 1 if abs(kwh) >= TEN else 2
    text = f"{kwh:,.{digits}f}"
    return "0" if float(text.replace(",", "")) == 0 else text


def interval(answer: Interval) -> str:
    """Return both ends of a 95 % interval."""
    return f"{amount(answer.low)} to {amount(answer.high)}"


def per(step: timedelta) -> str:
    """Return a step's length for "kWh per ...".

    >>> per(timedelta(hours=1)), per(timedelta(minutes=15)), per(timedelta(seconds=90))
    ('hour', '15 minutes', '90 seconds')
    """
    for name, unit in UNITS:
        if step % unit == timedelta(0):
            return name if step == unit else f"{step // unit:,} {name}s"
    return f"{step // timedelta(seconds=1):,} seconds"


def steps_of(count: int, step: timedelta) -> str:
    """Return so many steps.

    >>> steps_of(168, timedelta(hours=1)), steps_of(1, timedelta(minutes=15))
    ('168 hours', '1 time 15 minutes')
    """
    length = per(step)
    if length[0].isdigit():
        return f"{count:,} {'time' if count == 1 else 'times'} {length}"
    return f"{count:,} {length}" + ("" if count == 1 else "s")


def day_of(time: date) -> str:
    """Return a day.

    >>> day_of(datetime(2013, 2, 5))
    '5 February 2013'
    """
    return f"{time.day} {time:%B %Y}"


def moment(time: datetime) -> str:
    """Return an instant; of midnight only the day.

    >>> moment(datetime(2013, 2, 5, 18)), moment(datetime(2013, 2, 5))
    ('Tuesday 5 February 2013, 18:00', 'Tuesday 5 February 2013')
    """
    clock = f"{time:, %H:%M}" if time.hour or time.minute else ""
    return f"{time:%A} {day_of(time)}{clock}"


def span(start: datetime, end: datetime) -> str:
    """Return a period, without saying twice which day it is.

    >>> span(datetime(2013, 2, 5, 18), datetime(2013, 2, 5, 19))
    'Tuesday 5 February 2013, 18:00 to 19:00'
    >>> span(datetime(2013, 2, 5), datetime(2013, 2, 6))
    'Tuesday 5 February 2013'
    """
    midnight = start.replace(hour=0, minute=0, second=0)
    if (start, end) == (midnight, midnight + timedelta(days=1)):
        return moment(start)
    if end <= midnight + timedelta(days=1):
        return f"{start:%A} {day_of(start)}, {start:%H:%M} to {end:%H:%M}"
    return f"{moment(start)} to {moment(end)}"


def listed(lines: list[str]) -> str:
    """Return escaped lines as a list."""
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"
