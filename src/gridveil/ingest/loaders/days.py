"""The days of a local clock: which UTC instants its slots are."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pyarrow as pa


def instants(zone: ZoneInfo, day: date, step: timedelta) -> list[datetime]:
    """Return the starts of all intervals of a local day in order, in UTC: 46, 48 or 50 half-hours.

    >>> len(instants(ZoneInfo("Europe/Dublin"), date(2009, 10, 25), timedelta(minutes=30)))
    50
    """
    start, end = (
        datetime(at.year, at.month, at.day, tzinfo=zone).astimezone(UTC) for at in (day, day + timedelta(days=1))
    )
    return [start + i * step for i in range((end - start) // step)]


def days(first: date, last: date) -> Iterator[date]:
    """Return the days from first to last."""
    for number in range((last - first).days + 1):
        yield first + timedelta(days=number)


def slots(zone: ZoneInfo, first: date, last: date, step: timedelta) -> pa.Table:
    """Return `day`, `slot` (from 1, by what the clock shows), `start` (UTC) and `times` (how often that slot occurs).

    A slot that the clock skips has no row, one that it shows twice has two.
    """
    rows = []
    for day in days(first, last):
        starts = instants(zone, day, step)
        clock = [start.astimezone(zone) for start in starts]
        numbers = [timedelta(hours=time.hour, minutes=time.minute) // step + 1 for time in clock]
        rows += [(day, slot, start, numbers.count(slot)) for slot, start in zip(numbers, starts, strict=True)]
    columns = zip(*rows, strict=True)
    kinds = (pa.date32(), pa.int32(), pa.timestamp("us", "UTC"), pa.int32())
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.table(arrays, names=["day", "slot", "start", "times"])
