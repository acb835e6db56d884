"""When the invented households use electricity: peaks of the day, weekends, and spiky appliances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gridveil.model.units import Floats, Ints
from gridveil.model.window import Window

BASE = 0.5
"""What runs day and night, as a share of an average household's power."""

SPIKY = 0.5
"""The share of power that comes in spikes, from kettles to showers ..."""

SPIKE_SHAPE = 0.55
"""... as gamma variables of this shape: the smaller, the rarer and higher."""

WEEKEND_LIE_IN = 1.5
"""By how many hours the morning peak is later at the weekend."""

WEEKEND_AT_HOME = 1.6
"""By which factor daytime use is higher at the weekend."""

TIMING_HOURS = 1.0
"""Standard deviation of how much earlier or later than others of its kind a household lives."""


class Peak(NamedTuple):
    """A bump in the day: when, how many hours wide (one standard deviation), how high."""

    hour: float
    width: float
    height: float


@dataclass(frozen=True)
class Habits:
    """A household's day, as peaks on top of the base."""

    morning: Peak
    day: Peak
    evening: Peak

    def power(self, hour: Floats, *, weekend: bool) -> Floats:
        """Return power at an hour of the day (0 to 24); its mean over a weekday is 1."""
        morning, day = self.morning, self.day
        if weekend:
            morning = morning._replace(hour=morning.hour + WEEKEND_LIE_IN)
            day = day._replace(height=day.height * WEEKEND_AT_HOME)
        power = BASE + _bump(hour, morning) + _bump(hour, day) + _bump(hour, self.evening)
        return power / (BASE + sum(_bump_mean(peak) for peak in (self.morning, self.day, self.evening)))


COMMUTERS = Habits(morning=Peak(7.2, 1.1, 0.75), day=Peak(13, 3, 0.2), evening=Peak(19, 2.2, 1.3))
PENSIONERS = Habits(morning=Peak(8.5, 1.6, 0.5), day=Peak(13, 3, 0.55), evening=Peak(18, 2.2, 0.8))
LATE_RISERS = Habits(morning=Peak(9, 1.8, 0.4), day=Peak(14, 3, 0.3), evening=Peak(20.5, 2.6, 1.1))


def spikes(shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Draw how far each reading is from its expected value, as a factor of mean 1."""
    return (1 - SPIKY) + SPIKY * rng.gamma(SPIKE_SHAPE, 1 / SPIKE_SHAPE, shape)


def rhythms(habits: Sequence[Habits], kind: Ints, window: Window, rng: np.random.Generator) -> Floats:
    """Return the expected power of each household and step, as a factor on its level; `kind` says whose habits."""
    middles = [time + window.step / 2 for time in window.times()]
    hour = np.array([time.hour + time.minute / 60 for time in middles])
    weekend = np.array([time.weekday() >= 5 for time in middles])  # noqa: PLR2004 -- 5 is Saturday
    late = rng.normal(0, TIMING_HOURS, kind.size)
    factor = np.empty((kind.size, window.steps))
    for number, habit in enumerate(habits):
        here = kind == number
        own_hour = hour - late[here, None]
        factor[here] = np.where(weekend, habit.power(own_hour, weekend=True), habit.power(own_hour, weekend=False))
    return factor


def _bump(hour: Floats, peak: Peak) -> Floats:
    away = (hour - peak.hour + 12) % 24 - 12
    return peak.height * np.exp(-0.5 * (away / peak.width) ** 2)


def _bump_mean(peak: Peak) -> float:
    return float(peak.height * peak.width * np.sqrt(2 * np.pi) / 24)
