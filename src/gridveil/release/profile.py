"""Profiles: how much an area uses at each time of a typical day or week, by the clock on the wall."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from gridveil.cube import Window
from gridveil.errors import UsageError
from gridveil.estimate import Floats
from gridveil.release.area import Area
from gridveil.release.open import Answers, Release

DAY, WEEK_DAYS, WORK_DAYS = 86_400, 7, 5
MOST_WEIGHTS = 2**22  # in memory at a time: 32 MB


@dataclass(frozen=True)
class TypicalDay:
    """Average kWh of each step of the day; `minutes` after midnight at which it starts.

    Weekdays are Monday to Friday; a kind of day of which the window has no whole one is None.
    """

    minutes: Floats
    all: Answers
    weekday: Answers | None
    weekend: Answers | None


@dataclass(frozen=True)
class TypicalWeek:
    """Average kWh of each step of the week; `minutes` after the start of Monday at which it starts."""

    minutes: Floats
    all: Answers


def typical_day(release: Release, area: Area, zone: str = "UTC") -> TypicalDay | None:
    """Return an area's typical day, or None where steps do not divide a day or the window has no whole one."""
    clock = _wall_clock(release.window, zone)
    if clock is None or release.window.steps < clock.per_day:
        return None
    slot, day = clock.slot % clock.per_day, clock.slot // clock.per_day
    present = np.unique(slot)
    every = np.ones(len(slot), bool)
    whole, weekday, weekend = (
        _averages(release, area, np.where(chosen, slot, -1), present)
        for chosen in (every, day < WORK_DAYS, day >= WORK_DAYS)
    )
    if whole is None:
        return None
    return TypicalDay(clock.minutes(present), whole, weekday, weekend)


def typical_week(release: Release, area: Area, zone: str = "UTC") -> TypicalWeek | None:
    """Return an area's typical week, or None where steps do not divide a day or the window has no whole week."""
    clock = _wall_clock(release.window, zone)
    if clock is None or release.window.steps < WEEK_DAYS * clock.per_day:
        return None
    present = np.unique(clock.slot)
    answers = _averages(release, area, clock.slot, present)
    return None if answers is None else TypicalWeek(clock.minutes(present), answers)


@dataclass(frozen=True)
class _WallClock:
    """For each step of a window, its slot in the week: slots are a step long and begin `phase` seconds after Monday."""

    slot: NDArray[np.int64]
    phase: int
    step: int

    @property
    def per_day(self) -> int:
        return DAY // self.step

    def minutes(self, slots: NDArray[np.int64]) -> Floats:
        """Return the minutes at which slots begin."""
        return (self.phase + slots * self.step) / 60


def _wall_clock(window: Window, zone: str) -> _WallClock | None:
    """Return the slots of local time; None where steps do not divide a day.

    Slots begin as the first step does. Where a change to summer time shifts steps against the slots (steps longer than
    the shift), a step belongs to the slot that most of it lies in.
    """
    step = window.step // timedelta(seconds=1)
    if DAY % step:
        return None
    place = time_zone(zone)
    local = [time.astimezone(place) for time in window.times()]
    seconds = np.array([t.weekday() * DAY + t.hour * 3600 + t.minute * 60 + t.second for t in local])
    phase = int(seconds[0]) % step
    slot = np.ceil((seconds - phase) / step - 0.5).astype(np.int64)
    return _WallClock(slot % (WEEK_DAYS * DAY // step), phase, step)


def _averages(release: Release, area: Area, slot: NDArray[np.int64], present: NDArray[np.int64]) -> Answers | None:
    """Return the average over the steps of each slot; None where a slot has no steps."""
    if not np.isin(present, slot).all():
        return None
    rows = max(1, MOST_WEIGHTS // len(slot))
    answers = []
    for some in np.array_split(present, -(-len(present) // rows)):
        chosen = slot == some[:, None]
        answers.append(release.at(area, chosen / chosen.sum(axis=1, keepdims=True)))
    return Answers(
        *(
            np.concatenate([getattr(answer, name) for answer in answers])
            for name in ("value", "standard_error", "low", "high")
        )
    )


def time_zone(name: str) -> ZoneInfo:
    """Return a time zone by its name, or say that there is none.

    >>> time_zone("Europe/London").key
    'Europe/London'
    """
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, LookupError) as error:
        msg = f"timezone {name}: not known; give a name such as Europe/London, or UTC"
        raise UsageError(msg) from error
