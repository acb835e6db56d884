"""Parts of the day, or of the week, that maps are drawn of."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from gridveil.model.arrays import Floats
from gridveil.model.window import Window
from gridveil.release.query.profile import time_zone

DAY = timedelta(days=1)
QUARTERS = (
    ("Night", "0:00 to 6:00"),
    ("Morning", "6:00 to 12:00"),
    ("Afternoon", "12:00 to 18:00"),
    ("Evening", "18:00 to 24:00"),
)
HALVES = (("Weekdays", "Monday to Friday"), ("Weekends", "Saturday and Sunday"))
WORK_DAYS = 5


@dataclass(frozen=True)
class DayPart:
    """A part of the day or week, with a weight for each step: one over their number, 0 for the others."""

    name: str
    when: str
    schedule: Floats


def parts_of(window: Window, zone: str) -> list[DayPart]:
    """Return the quarters of the day by the clock on the wall; with longer steps weekdays and weekends, or nothing.

    A step belongs to the part that its middle lies in.
    """
    short = window.step <= DAY / len(QUARTERS)
    names, number = (QUARTERS, _quarter) if short else (HALVES, _half)
    if window.step > DAY or window.steps * window.step < DAY:
        return []
    place = time_zone(zone)
    numbers = np.array([number((time + window.step / 2).astimezone(place)) for time in window.times()])
    counts = np.bincount(numbers, minlength=len(names))
    if not counts.all():
        return []
    return [DayPart(*name, (numbers == part) / counts[part]) for part, name in enumerate(names)]


def _quarter(local: datetime) -> int:
    return local.hour * len(QUARTERS) // 24


def _half(local: datetime) -> int:
    return int(local.weekday() >= WORK_DAYS)
