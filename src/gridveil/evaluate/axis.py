"""Round numbers and times to write along axes."""

from __future__ import annotations

from datetime import datetime, timedelta

from gridveil.cube import Window

MOST_TIMES = 7
INTERVALS = [timedelta(hours=hours) for hours in (1, 3, 6, 12, 24, 48, 7 * 24, 28 * 24)]


def short(kwh: float) -> str:
    """Return three digits of a number, as people write it.

    >>> short(4063.7), short(15.36), short(0)
    ('4,060', '15.4', '0')
    """
    return f"{float(f'{kwh:.3g}'):,.10g}"


def round_times(window: Window) -> list[tuple[float, str]]:
    """Return where, in steps from the window's start, round times lie, and their names: days or times of day.

    >>> from datetime import UTC
    >>> round_times(Window(datetime(2013, 2, 4, 18, tzinfo=UTC), timedelta(hours=1), 48))
    [(6.0, 'Tue 5'), (18.0, '12:00'), (30.0, 'Wed 6'), (42.0, '12:00')]
    """
    length = window.steps * window.step
    every = next((interval for interval in INTERVALS if length / interval <= MOST_TIMES), INTERVALS[-1])
    first = window.times()[0]
    midnight = first.replace(hour=0, minute=0, second=0)
    times = [midnight + number * every for number in range(int((first - midnight + length) / every) + 1)]
    return [((time - first) / window.step, _name(time)) for time in times if first <= time < window.end]


def _name(time: datetime) -> str:
    return f"{time:%H:%M}" if time.hour or time.minute else f"{time:%a} {time.day}"
