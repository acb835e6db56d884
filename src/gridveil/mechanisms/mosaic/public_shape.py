"""A public shape of the day, read from a file: what a profile in time may be expected to look like."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np

from gridveil.model.errors import InputError
from gridveil.model.regular import read_small
from gridveil.model.units import Floats
from gridveil.model.window import Window

HOURS = 24
SATURDAY = 5
LARGEST = 2**16  # bytes of a file
KINDS = ("weekday", "weekend")
HOW = (
    "a public shape is a CSV with a header and one row for every hour of the day: columns `hour` (0 to 23), one more "
    "with the consumption of that hour (any unit, more than 0), and perhaps `day` (weekday or weekend)"
)


@dataclass(frozen=True)
class PublicShape:
    """Consumption in each hour of the day, (2, 24): weekdays, then weekends. Only its shape counts, not its unit."""

    hourly: Floats

    def over(self, window: Window, zone: str = "UTC") -> Floats:
        """Return the shape of a window's steps, which sums to 1. The file's hours are those of the clock of `zone`.

        Between the middles of two hours it is a straight line, so that steps may be of any length.
        """
        clock = ZoneInfo(zone)
        samples = max(1, round(window.step / timedelta(hours=1)))
        apart = window.step / samples
        offsets = np.array([_offset(clock, start) for start in window.times()])
        first = (window.start - datetime(1970, 1, 5, tzinfo=UTC)) / timedelta(hours=1)  # since a Monday
        hours = first + offsets[:, None] + window.step / timedelta(hours=1) * np.arange(window.steps)[:, None]
        hours = hours + apart / timedelta(hours=1) * (np.arange(samples) + 0.5)
        kind = ((hours // HOURS) % 7 >= SATURDAY).astype(np.int64)
        middle = hours % HOURS - 0.5
        before = np.floor(middle)
        rise = middle - before
        here = self.hourly[kind, before.astype(np.int64) % HOURS]
        after = self.hourly[kind, (before.astype(np.int64) + 1) % HOURS]
        steps = (here + rise * (after - here)).mean(axis=1)
        return np.asarray(steps / steps.sum())


def read_shape(path: Path | str) -> PublicShape:
    """Read a shape of the day from a CSV file."""
    try:
        table = csv.DictReader(StringIO(read_small(Path(path), LARGEST), newline=""))
        columns, rows = list(table.fieldnames or []), list(table)
    except (OSError, ValueError, csv.Error) as error:
        msg = f"profile {path} cannot be read ({error}); {HOW}"
        raise InputError(msg, code="profile-unreadable") from error
    values = [name for name in columns if name not in {"day", "hour"}]
    if "hour" not in columns or len(values) != 1:
        msg = f"profile {path} has the columns {', '.join(columns) or '(none)'}; {HOW}"
        raise InputError(msg, code="profile-columns")
    hourly = np.full((len(KINDS), HOURS), np.nan)
    for line, row in enumerate(rows, start=2):
        kinds, hour, value = _read(row, values[0], f"profile {path}, line {line}")
        if not np.isnan(hourly[kinds, hour]).all():
            msg = f"profile {path}, line {line}: hour {hour} is there twice; {HOW}"
            raise InputError(msg, code="profile-hour-twice")
        hourly[kinds, hour] = value
    if np.isnan(hourly).any():
        kind, hour = np.argwhere(np.isnan(hourly))[0]
        msg = f"profile {path} lacks hour {hour} of a {KINDS[kind]}; {HOW}"
        raise InputError(msg, code="profile-hour-missing")
    return PublicShape(hourly)


def _read(row: dict[str, str], column: str, where: str) -> tuple[list[int], int, float]:
    """Return which kinds of day a row is for, its hour and its value."""
    try:
        hour, value = int(row["hour"]), float(row[column])
    except (TypeError, ValueError):
        hour, value = -1, math.nan
    day = (row.get("day") or "").strip()
    known = not day or day in KINDS
    if not (known and 0 <= hour < HOURS and 0 < value < math.inf):
        msg = f"{where}: {', '.join(str(cell) for cell in row.values())}; {HOW}"
        raise InputError(msg, code="profile-row")
    return [KINDS.index(day)] if day else [0, 1], hour, value


def _offset(clock: ZoneInfo, instant: datetime) -> float:
    """Return by how many hours the clock is ahead of UTC."""
    return (instant.astimezone(clock).utcoffset() or timedelta(0)) / timedelta(hours=1)
