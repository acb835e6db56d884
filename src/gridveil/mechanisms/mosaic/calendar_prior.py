"""What is believed about a profile in time before anything is measured: how alike two steps are by the calendar."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from gridveil.cube import Window
from gridveil.estimate import Floats, Ints

DAY = 24.0
EPOCH = datetime(1970, 1, 5, tzinfo=UTC)  # a Monday
SATURDAY = 5

HOUR_REACH = 3.0  # hours: how far a bump in the shape of the day reaches
DAY_REACH = 3.0  # days: how long a cold spell lasts
SHORT_REACH = 2.0  # hours
NUGGET = 1e-4  # what every step has of its own, relative variance


@dataclass(frozen=True)
class Calendar:
    """Where steps are in the calendar: hours since a Monday midnight (their middle), hour of the day, day."""

    hours: Floats
    hour: Floats
    day: Ints
    weekend: Ints

    @classmethod
    def of(cls, window: Window) -> Calendar:
        """Return the calendar of a window's steps, in UTC."""
        first = (window.start - EPOCH) / timedelta(hours=1)
        step = window.step / timedelta(hours=1)
        hours = np.asarray(first + step * (np.arange(window.steps) + 0.5), dtype=np.float64)
        day = np.floor(hours / DAY).astype(np.int64)
        return cls(hours, np.asarray(hours % DAY, dtype=np.float64), day, (day % 7 >= SATURDAY).astype(np.int64))


@dataclass(frozen=True)
class Spread:
    """How much a profile departs from its expected shape, as relative standard deviations."""

    hour: float
    day: float
    short: float

    def log_prior(self) -> float:
        """Return the log of how believable it is, up to a constant."""
        halves = math.log(self.day / 0.06) ** 2 + math.log(self.short / 0.06) ** 2
        return -0.3 * (math.log(self.hour / 0.15) ** 2 + 0.5 * halves)


SPREADS = tuple(Spread(*s) for s in itertools.product((0.05, 0.15, 0.35), (0.02, 0.08), (0.02, 0.06, 0.15)))


@dataclass(frozen=True)
class Kernels:
    """Correlations between steps, one matrix (t, t) for every part of a departure."""

    hour: Floats
    day: Floats
    short: Floats

    @classmethod
    def of(cls, at: Calendar) -> Kernels:
        """Return the correlations of a calendar's steps with each other."""
        apart = np.abs(at.hour[:, None] - at.hour)
        around = np.minimum(apart, DAY - apart)
        return cls(
            np.exp(-0.5 * (around / HOUR_REACH) ** 2),
            np.exp(-np.abs(at.day[:, None] - at.day) / DAY_REACH),
            np.exp(-np.abs(at.hours[:, None] - at.hours) / SHORT_REACH),
        )

    def covariance(self, spread: Spread) -> Floats:
        """Return the covariance of relative departures."""
        sum_ = spread.hour**2 * self.hour + spread.day**2 * self.day + spread.short**2 * self.short
        sum_[np.diag_indices_from(sum_)] += NUGGET
        return sum_
