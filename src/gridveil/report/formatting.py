"""Numbers, steps, dates and lists as the text of a page."""

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
    """Return a number of steps.

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
    """Return a period; a day that both ends share is named once.

    >>> span(datetime(2013, 2, 5, 18), datetime(2013, 2, 5, 19))
    'Tuesday 5 February 2013, 18:00 to 19:00'
    >>> span(datetime(2013, 2, 5), datetime(2013, 2, 6)), span(datetime(2013, 2, 4), datetime(2013, 2, 11))
    ('Tuesday 5 February 2013', '4 to 10 February 2013')
    >>> span(datetime(2013, 2, 28, 18), datetime(2013, 3, 1)), span(datetime(2013, 2, 28), datetime(2013, 3, 1, 6))
    ('Thursday 28 February 2013, 18:00 to 24:00', 'Thursday 28 February 2013, 00:00 to Friday 1 March 2013, 06:00')
    """
    day, last = timedelta(days=1), end - timedelta(microseconds=1)
    whole = _midnight(start) == start and _midnight(end) == end
    if whole:
        return moment(start) if end - start == day else _dates(start, last)
    if _midnight(start) == _midnight(last):
        return f"{start:%A} {day_of(start)}, {start:%H:%M} to {'24:00' if _midnight(end) == end else f'{end:%H:%M}'}"
    return " to ".join(f"{time:%A} {day_of(time)}, {time:%H:%M}" for time in (start, end))


def _midnight(time: datetime) -> datetime:
    return time.replace(hour=0, minute=0, second=0, microsecond=0)


def _dates(first: date, last: date) -> str:
    """Return two days; a month or year that they share is named once.

    >>> _dates(date(2013, 2, 28), date(2013, 3, 3)), _dates(date(2013, 12, 30), date(2014, 1, 5))
    ('28 February to 3 March 2013', '30 December 2013 to 5 January 2014')
    """
    if first.year != last.year:
        return f"{day_of(first)} to {day_of(last)}"
    return f"{first.day}{'' if first.month == last.month else f' {first:%B}'} to {day_of(last)}"


def html_list(lines: list[str]) -> str:
    """Return lines as an HTML list, escaped."""
    return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>"
