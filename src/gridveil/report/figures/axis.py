"""Round numbers and times to write along axes."""

from __future__ import annotations

import math
from datetime import datetime, timedelta

from gridveil.model.window import Window

MAX_TIMES = 7
MAX_LEVELS = 5
INTERVALS = [timedelta(hours=hours) for hours in (1, 3, 6, 12, 24, 48, 7 * 24, 14 * 24, 28 * 24)]
MONTHS = (2, 3, 6, 12, 24, 60, 120)
MONTHLY_FROM = timedelta(days=28 * MAX_TIMES)


def short(kwh: float) -> str:
    """Return a number with three significant digits.

    >>> short(4063.7), short(15.36), short(0)
    ('4,060', '15.4', '0')
    """
    return f"{float(f'{kwh:.3g}'):,.10g}"


def round_levels(bottom: float, top: float) -> list[float]:
    """Return at most six round numbers in a span.

    >>> round_levels(-3, 97)
    [0.0, 20.0, 40.0, 60.0, 80.0]
    """
    rough = (top - bottom) / MAX_LEVELS
    power = 10.0 ** math.floor(math.log10(rough))
    every = next(power * digit for digit in (1, 2, 2.5, 5, 10) if power * digit >= rough * (1 - 1e-9))
    return [every * number for number in range(math.ceil(bottom / every), math.floor(top / every) + 1)]


def round_times(window: Window) -> list[tuple[float, str]]:
    """Return the positions of round times, in steps from the window's start, with their names.

    >>> from datetime import UTC
    >>> round_times(Window(datetime(2013, 2, 4, 18, tzinfo=UTC), timedelta(hours=1), 48))
    [(6.0, 'Tue 5'), (18.0, '12:00'), (30.0, 'Wed 6'), (42.0, '12:00')]
    >>> round_times(Window(datetime(2013, 12, 9, tzinfo=UTC), timedelta(days=1), 300))[:2]
    [(23.0, 'Jan 2014'), (82.0, 'Mar 2014')]
    """
    first, length = window.start, window.steps * window.step
    if length > MONTHLY_FROM:
        return [((time - first) / window.step, f"{time:%b %Y}") for time in _months(first, window.end)]
    every = next((interval for interval in INTERVALS if length / interval <= MAX_TIMES), INTERVALS[-1])
    midnight = first.replace(hour=0, minute=0, second=0)
    times = [midnight + number * every for number in range(int((first - midnight + length) / every) + 1)]
    weeks = every >= timedelta(days=7)
    return [((time - first) / window.step, _name(time, weeks=weeks)) for time in times if first <= time < window.end]


def _months(first: datetime, end: datetime) -> list[datetime]:
    """Return beginnings of months, a round number of them apart."""
    months = [12 * year + month for year in range(first.year, end.year + 1) for month in range(12)]
    for every in MONTHS:
        starts = [first.replace(year=m // 12, month=m % 12 + 1, day=1, hour=0, minute=0, second=0) for m in months]
        times = [time for m, time in zip(months, starts, strict=True) if m % every == 0 and first <= time < end]
        if len(times) <= MAX_TIMES:
            break
    return times


def _name(time: datetime, *, weeks: bool) -> str:
    if weeks:
        return f"{time.day} {time:%b}"
    return f"{time:%H:%M}" if time.hour or time.minute else f"{time:%a} {time.day}"
