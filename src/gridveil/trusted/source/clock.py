"""Local clocks as public tables of offsets, so that every engine converts alike, in integers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from gridveil.model.window import Window, timezone

if TYPE_CHECKING:
    import ibis.expr.types as ir


@dataclass(frozen=True)
class Clock:
    """`offsets[i]` seconds ahead of UTC hold until the clock, in seconds since the window's start, shows `until[i]`.

    A time that occurs twice (autumn) is taken as the first of the two; one that never occurs (spring) is counted on
    with the offset before the change.
    """

    until: tuple[int, ...]
    offsets: tuple[int, ...]

    @classmethod
    def of(cls, name: str, window: Window) -> Clock:
        """Return the clock of a timezone over the window and two days around it.

        Farther away, a wrong offset does no harm: no clock is so far from UTC that it could move a time into the
        window.
        """
        zone = timezone(name)
        first, last = window.start - timedelta(days=2), window.end + timedelta(days=2)
        until, offsets = [], [_find_offset(zone, first)]
        for change in _find_changes(zone, first, last):
            before, after = offsets[-1], _find_offset(zone, change)
            until.append(int((change - window.start).total_seconds()) + max(before, after))
            offsets.append(after)
        return cls(tuple(until), tuple(offsets))

    def to_utc(self, local: ir.IntegerColumn) -> ir.IntegerColumn:
        """Return seconds of UTC for seconds that the clock shows."""
        import ibis

        if not self.until:
            return local - self.offsets[0] if self.offsets[0] else local
        branches = [(local < until, offset) for until, offset in zip(self.until, self.offsets, strict=False)]
        return local - ibis.cases(*branches, else_=self.offsets[-1])


def _find_offset(zone: ZoneInfo, instant: datetime) -> int:
    offset = instant.astimezone(zone).utcoffset()
    return int(offset.total_seconds()) if offset is not None else 0


def _find_changes(zone: ZoneInfo, first: datetime, last: datetime) -> list[datetime]:
    """Return the instants at which the zone's offset changes, to the second, by halving the days that have one."""
    changes = []
    while first < last:
        after = min(first + timedelta(days=1), last)
        if _find_offset(zone, first) != _find_offset(zone, after):
            low, high = first, after
            while high - low > timedelta(seconds=1):
                middle = low + timedelta(seconds=int((high - low).total_seconds()) // 2)
                low, high = (middle, high) if _find_offset(zone, middle) == _find_offset(zone, first) else (low, middle)
            changes.append(high)
        first = after
    return changes
