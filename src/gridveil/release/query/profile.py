"""Profiles: how much an area uses at each time of a typical day or week, by the clock on the wall."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from gridveil.geography.area import Area
from gridveil.model.arrays import Floats
from gridveil.model.errors import UsageError
from gridveil.model.window import Window
from gridveil.release.query.open import QueryAnswers, Release

DAY, WEEK_DAYS, WORK_DAYS = 86_400, 7, 5
PARTS = ("value", "standard_error", "low", "high")
MOST_WEIGHTS = 2**22  # in memory at a time: 32 MB


@dataclass(frozen=True)
class TypicalDay:
    """Average kWh of each step of the day; `minutes` after midnight at which it starts.

    Weekdays are Monday to Friday; a kind of day of which the window has no whole one is None.
    """

    minutes: Floats
    all: QueryAnswers
    weekday: QueryAnswers | None
    weekend: QueryAnswers | None


@dataclass(frozen=True)
class TypicalWeek:
    """Average kWh of each step of the week; `minutes` after the start of Monday at which it starts."""

    minutes: Floats
    all: QueryAnswers


def typical_day(release: Release, area: Area, zone: str = "UTC") -> TypicalDay | None:
    """Return an area's typical day, or None where steps do not divide a day or the window has no whole one."""
    return _ask(release, area, _day(release.window, zone), None)[0]


def typical_week(release: Release, area: Area, zone: str = "UTC") -> TypicalWeek | None:
    """Return an area's typical week, or None where steps do not divide a day or the window has no whole week."""
    return _ask(release, area, None, _week(release.window, zone))[1]


def typical(release: Release, area: Area, zone: str = "UTC") -> tuple[TypicalDay | None, TypicalWeek | None]:
    """Return an area's typical day and week, asked together: of a large release that takes half as long."""
    return _ask(release, area, _day(release.window, zone), _week(release.window, zone))


@dataclass(frozen=True)
class _Kind:
    """What is averaged: for each step its slot, or -1, and the slots that there are."""

    slot: NDArray[np.int64]
    present: NDArray[np.int64]

    @property
    def whole(self) -> bool:
        """Whether every slot has steps."""
        return bool(np.isin(self.present, self.slot).all())


@dataclass(frozen=True)
class _Plan:
    """The minutes of a profile, and its kinds of days."""

    minutes: Floats
    kinds: tuple[_Kind, ...]


def _day(window: Window, zone: str) -> _Plan | None:
    clock = _wall_clock(window, zone)
    if clock is None or window.steps < clock.per_day:
        return None
    slot, day = clock.slot % clock.per_day, clock.slot // clock.per_day
    present = np.unique(slot)
    some = (np.where(chosen, slot, -1) for chosen in (day < WORK_DAYS, day >= WORK_DAYS))
    return _Plan(clock.minutes(present), (_Kind(slot, present), *(_Kind(kind, present) for kind in some)))


def _week(window: Window, zone: str) -> _Plan | None:
    clock = _wall_clock(window, zone)
    if clock is None or window.steps < WEEK_DAYS * clock.per_day:
        return None
    present = np.unique(clock.slot)
    return _Plan(clock.minutes(present), (_Kind(clock.slot, present),))


def _ask(
    release: Release, area: Area, day: _Plan | None, week: _Plan | None
) -> tuple[TypicalDay | None, TypicalWeek | None]:
    """Ask for what is wanted at once, and give each profile its part of the answers."""
    kinds = [kind for plan in (day, week) if plan is not None for kind in plan.kinds]
    answers = _averages(release, area, [kind for kind in kinds if kind.whole])
    told = iter([answers.pop(0) if kind.whole else None for kind in kinds])
    a_day = a_week = None
    if day is not None and (whole := next(told)) is not None:
        a_day = TypicalDay(day.minutes, whole, next(told), next(told))
    if week is not None and (whole := next(told)) is not None:
        a_week = TypicalWeek(week.minutes, whole)
    return a_day, a_week


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


def _averages(release: Release, area: Area, kinds: list[_Kind]) -> list[QueryAnswers]:
    """Return, for each kind, the average over the steps of each of its slots."""
    rows = [(kind.slot, number) for kind in kinds for number in kind.present.tolist()]
    most = max(1, MOST_WEIGHTS // release.window.steps)
    answers = []
    for first in range(0, len(rows), most):
        chosen = np.stack([slot == number for slot, number in rows[first : first + most]])
        answers.append(release.at(area, chosen / chosen.sum(axis=1, keepdims=True)))
    if not answers:
        return []
    ends = np.cumsum([len(kind.present) for kind in kinds])[:-1]
    columns = (np.split(np.concatenate([getattr(some, name) for some in answers]), ends) for name in PARTS)
    return [QueryAnswers(*parts) for parts in zip(*columns, strict=True)]


def time_zone(name: str) -> ZoneInfo:
    """Return a time zone by its name, or say that there is none.

    >>> time_zone("Europe/London").key
    'Europe/London'
    """
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, LookupError) as error:
        msg = f"timezone {name}: not known; give a name such as Europe/London, or UTC"
        raise UsageError(msg, code="timezone-unknown") from error
