"""From columns as publishers have them to the few types that the rules work on. Unreadable entries become null."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from gridveil.cube import Window
from gridveil.errors import InputError, UsageError

if TYPE_CHECKING:
    import ibis.expr.types as ir

OFFSET = r"(Z|z|[+-][0-9]{2}(:?[0-9]{2})?)$"
"""How a written timestamp ends that carries its own offset; `2013-01-01` must not match: see `_written`."""


def _wrong_type(path: str, column: ir.Column, want: str) -> InputError:
    return InputError(f"{path}: column {column.get_name()} is of type {column.type()}; it must be {want}")


def identifier(column: ir.Column, path: str) -> ir.StringColumn:
    """Return household ids as text; an empty one is null."""
    if column.type().is_string():
        return column.nullif("")
    if column.type().is_integer() or column.type().is_uuid():
        return column.cast("string")
    raise _wrong_type(path, column, "text or whole numbers")


def number(column: ir.Column, path: str) -> ir.FloatingColumn:
    """Return numbers in double precision: the same on every engine. Not finite or unreadable: null."""
    if column.type().is_string():
        value = column.try_cast("float64")
    elif column.type().is_numeric():
        value = column.cast("float64")
    else:
        raise _wrong_type(path, column, "a number")
    return (value.isnan() | value.isinf()).ifelse(None, value)


def timezone(name: str) -> ZoneInfo:
    """Return the timezone of that name."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        msg = f"timezone {name!r} is not known; give a name such as UTC or Europe/London"
        raise UsageError(msg) from error


def seconds(column: ir.Column, path: str, window: Window, zone: str) -> ir.IntegerColumn:
    """Return whole seconds of UTC since the window's start, rounded down; unreadable: null."""
    clock = Clock.of(zone, window)
    if column.type().is_string():
        return _written(column, window, clock)
    if column.type().is_date():
        column = column.cast("timestamp")
    if not column.type().is_timestamp():
        raise _wrong_type(path, column, "a timestamp, a date, or text such as 2013-02-04 00:30:00")
    if column.type().timezone is not None:
        return _since(column.cast("timestamp"), window)
    return clock.to_utc(_since(column, window))


def _written(text: ir.StringColumn, window: Window, clock: Clock) -> ir.IntegerColumn:
    own = text.re_search(OFFSET) & text.re_search("[0-9][T ][0-9]")
    instant = _since(text.try_cast("timestamp('UTC')").cast("timestamp"), window)
    return own.ifelse(instant, clock.to_utc(_since(text.try_cast("timestamp"), window)))


def _since(moment: ir.TimestampColumn, window: Window) -> ir.IntegerColumn:
    import ibis  # noqa: PLC0415  # slow to import

    origin = window.start.astimezone(UTC).replace(tzinfo=None)
    return moment.delta(ibis.timestamp(origin.isoformat(sep=" ")), unit="second")


@dataclass(frozen=True)
class Clock:
    """A local clock as a public table of offsets, so that every engine converts alike, in integers.

    `offsets[i]` seconds ahead of UTC holds until the clock, read as seconds since the window's start, shows
    `until[i]`. A time that occurs twice (autumn) is taken as the first of the two; one that never occurs (spring) is
    counted on with the offset before the change.
    """

    until: tuple[int, ...]
    offsets: tuple[int, ...]

    @classmethod
    def of(cls, name: str, window: Window) -> Clock:
        """Return the clock of a timezone over the window and two days around it."""
        zone = timezone(name)
        first, last = window.start - timedelta(days=2), window.end + timedelta(days=2)
        until, offsets = [], [_offset(zone, first)]
        for change in _changes(zone, first, last):
            before, after = offsets[-1], _offset(zone, change)
            until.append(int((change - window.start).total_seconds()) + max(before, after))
            offsets.append(after)
        return cls(tuple(until), tuple(offsets))

    def to_utc(self, local: ir.IntegerColumn) -> ir.IntegerColumn:
        """Return seconds of UTC for seconds that the clock shows."""
        import ibis  # noqa: PLC0415  # slow to import

        if not self.until:
            return local - self.offsets[0] if self.offsets[0] else local
        branches = [(local < until, offset) for until, offset in zip(self.until, self.offsets, strict=False)]
        return local - ibis.cases(*branches, else_=self.offsets[-1])


def _offset(zone: ZoneInfo, instant: datetime) -> int:
    offset = instant.astimezone(zone).utcoffset()
    return int(offset.total_seconds()) if offset is not None else 0


def _changes(zone: ZoneInfo, first: datetime, last: datetime) -> list[datetime]:
    """Return the instants at which the zone's offset changes, to the second, by halving the days that have one."""
    changes = []
    while first < last:
        after = min(first + timedelta(days=1), last)
        if _offset(zone, first) != _offset(zone, after):
            low, high = first, after
            while high - low > timedelta(seconds=1):
                middle = low + timedelta(seconds=int((high - low).total_seconds()) // 2)
                low, high = (middle, high) if _offset(zone, middle) == _offset(zone, first) else (low, middle)
            changes.append(high)
        first = after
    return changes
