"""The days of a local clock: which UTC instants its slots are."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

SECOND = 10**6
UTC_TIME = pa.timestamp("us", "UTC")


def instants(zone: ZoneInfo, day: date, step: timedelta) -> NDArray[np.int64]:
    """Return the starts of all intervals of a local day in order, microseconds of UTC: 46, 48 or 50 half-hours.

    >>> len(instants(ZoneInfo("Europe/Dublin"), date(2009, 10, 25), timedelta(minutes=30)))
    50
    """
    first, after = (
        int(datetime(at.year, at.month, at.day, tzinfo=zone).timestamp()) for at in (day, day + timedelta(days=1))
    )
    return np.arange(first, after, int(step.total_seconds()), dtype=np.int64) * SECOND


def days(first: date, last: date) -> Iterator[date]:
    """Return the days from first to last."""
    for number in range((last - first).days + 1):
        yield first + timedelta(days=number)


def slots(zone: ZoneInfo, first: date, last: date, step: timedelta) -> pa.Table:
    """Return `day`, `slot` (from 1, by what the clock shows), `start` (UTC) and `times` (how often that slot occurs).

    A slot that the clock skips has no row, one that it shows twice has two.
    """
    parts = []
    for day in days(first, last):
        starts = instants(zone, day, step)
        shown = np.arange(len(starts))
        if len(starts) != timedelta(days=1) // step:  # the clock changes
            clock = [datetime.fromtimestamp(start // SECOND, UTC).astimezone(zone) for start in starts.tolist()]
            shown = np.array([timedelta(hours=time.hour, minutes=time.minute) // step for time in clock])
        times = np.bincount(shown)[shown]
        parts.append((np.full(len(starts), day, dtype="datetime64[D]"), shown + 1, starts, times))
    day_of, slot, start, times = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return pa.table({"day": day_of, "slot": slot, "start": pa.array(start).cast(UTC_TIME), "times": times})
