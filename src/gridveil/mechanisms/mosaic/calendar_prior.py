"""The prior of a profile in time: the covariance of steps by the calendar.

A step's consumption is its expected part of the whole, times one plus a relative departure. Departures are the sum of
a shape of the day (another one at weekends), a level of the day, a season, something that lasts for hours, and a little
of each step's own. Each is a Gaussian process over few places (hours of the day, days) or a Markov chain, so that no
matrix of steps by steps is needed.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from gridveil.model.arrays import Floats, Ints
from gridveil.model.window import Window

DAY = 24.0
QUARTERS = 4  # the hour of the day is kept in quarters of an hour
MONDAY = datetime(1970, 1, 5, tzinfo=UTC)
SATURDAY = 5

HOUR_REACH = 3.0  # hours: how far a bump in the shape of the day reaches
WEEKEND = 0.25  # how much weekends have a shape of their own, relative to the shape's spread
DAY_REACH = 3.0  # days: how long a cold spell lasts
SPELL, SPELL_REACH = 0.15, 10.0  # relative spread; days
SEASON, SEASON_REACH = 0.15, 60.0
LOST_HOUR, LOST_DAY, LOST_POWER = 0.125, 0.07, 0.7
"""How far a profile is from that of what a bound leaves of it, by hour of the day and by day, if `cut` is cut away:
times `cut**LOST_POWER`, as relative standard deviations.

Measured on London households (24, 120 and 504 hours; 250, 1,024 and 2,262 of them): 0.038 to 0.056 where a third is
cut, 0.012 to 0.019 where 5 to 7.5 % are, 0.003 to 0.009 where 1.2 to 1.7 % are; most of it the same every day.
"""
SHORT_REACH = 3.0  # hours
NUGGET = 4e-4  # what every step has of its own, relative variance
LEVEL = 1.0  # of the whole: wide, as the whole is measured


@dataclass(frozen=True)
class PriorSpread:
    """How much a profile departs from its expected shape, as relative standard deviations."""

    hour: float
    day: float
    short: float

    def log_prior(self, *, shaped: bool) -> float:
        """Return the log of how believable it is, up to a constant; a public shape leaves less to the hour."""
        expected = (0.1 if shaped else 0.3, 0.05, 0.05)
        return -0.5 * sum(
            math.log(s / e) ** 2 for s, e in zip((self.hour, self.day, self.short), expected, strict=True)
        )


SPREADS = tuple(
    PriorSpread(*s) for s in itertools.product((0.05, 0.15, 0.3, 0.5), (0.02, 0.05, 0.1), (0.02, 0.05, 0.12))
)


@dataclass(frozen=True)
class CalendarPrior:
    """The prior of a window's relative departures. Every step is of one kind (hour and kind of day) and on one day."""

    kind: Ints
    day: Ints
    shape_of_day: Floats  # correlation between kinds
    level_of_day: Floats  # correlation between days
    spell: Floats  # correlation between days, of what takes weeks
    season: Floats  # covariance between days, of what takes weeks and months
    decay: float  # correlation of what lasts for hours between a step and the next

    @classmethod
    def of(cls, window: Window) -> CalendarPrior:
        """Return the prior of a window's steps, by the calendar of UTC."""
        step = window.step / timedelta(hours=1)
        hours = (window.start - MONDAY) / timedelta(hours=1) + step * (np.arange(window.steps) + 0.5)
        days = np.floor(hours / DAY).astype(np.int64)
        quarter = np.floor(hours % DAY * QUARTERS).astype(np.int64)
        weekend = (days % 7 >= SATURDAY).astype(np.int64)
        kinds, kind = np.unique(weekend * int(DAY) * QUARTERS + quarter, return_inverse=True)
        known, day = np.unique(days, return_inverse=True)
        turn = 2 * np.pi * (kinds[:, None] - kinds) / (DAY * QUARTERS)
        # The circular form of a Gaussian bump: positive definite at any reach, as a bump of the distance is not.
        alike = np.exp((np.cos(turn) - 1) / (2 * np.pi * HOUR_REACH / DAY) ** 2)
        same = (kinds[:, None] < DAY * QUARTERS) == (kinds < DAY * QUARTERS)
        apart = np.abs(known[:, None] - known)
        spell = np.exp(-0.5 * (apart / SPELL_REACH) ** 2)
        return cls(
            kind.astype(np.int64),
            day.astype(np.int64),
            alike * (1 + WEEKEND**2 * same),
            np.exp(-apart / DAY_REACH),
            spell,
            SPELL**2 * spell + SEASON**2 * np.exp(-0.5 * (apart / SEASON_REACH) ** 2),
            math.exp(-step / SHORT_REACH),
        )

    def apply(self, spread: PriorSpread, weights: Floats) -> Floats:
        """Return the covariance of departures (t, t) times weights (t, r)."""
        shape = spread.hour**2 * self.shape_of_day @ sum_groups(self.kind, weights)
        days = (spread.day**2 * self.level_of_day + self.season) @ sum_groups(self.day, weights)
        before = self._chain(weights)
        after = self._chain(weights[::-1])[::-1]
        chained = spread.short**2 * (before + after - weights)
        return np.asarray(shape[self.kind] + days[self.day] + chained + NUGGET * weights + LEVEL * weights.sum(axis=0))

    def draw(self, spread: PriorSpread, count: int, random: np.random.Generator) -> Floats:
        """Return `count` departures (t, count) drawn from the prior."""
        steps = len(self.kind)
        shape = spread.hour * _factorise(self.shape_of_day) @ random.standard_normal((len(self.shape_of_day), count))
        days = _factorise(spread.day**2 * self.level_of_day + self.season)
        days = days @ random.standard_normal((len(days), count))
        fresh = random.standard_normal((steps, count))
        fresh[1:] *= math.sqrt(1 - self.decay**2)
        own = math.sqrt(NUGGET) * random.standard_normal((steps, count))
        level = math.sqrt(LEVEL) * random.standard_normal(count)
        return np.asarray(shape[self.kind] + days[self.day] + spread.short * self._chain(fresh) + own + level)

    def draw_lost(self, cut: float, count: int, random: np.random.Generator) -> Floats:
        """Return `count` departures (t, count) of a profile from that of the part that a bound left of it.

        cut: the part that it did not leave.
        """
        shape = _factorise(self.shape_of_day) @ random.standard_normal((len(self.shape_of_day), count))
        days = _factorise(self.spell) @ random.standard_normal((len(self.spell), count))
        return np.asarray(cut**LOST_POWER * (LOST_HOUR * shape[self.kind] + LOST_DAY * days[self.day]))

    def lost(self, cut: float, weights: Floats) -> Floats:
        """Return the variances (r,) of sums of such departures with weights (t, r)."""
        kinds, days = sum_groups(self.kind, weights), sum_groups(self.day, weights)
        of_kinds = (kinds * (self.shape_of_day @ kinds)).sum(axis=0)
        of_days = (days * (self.spell @ days)).sum(axis=0)
        return np.asarray(cut ** (2 * LOST_POWER) * (LOST_HOUR**2 * of_kinds + LOST_DAY**2 * of_days))

    def sum_runs(self, runs: Ints, shape: Floats) -> SummedPrior:
        """Return the prior of sums over runs of steps, each step weighted by its part of the shape."""
        count = int(runs.max()) + 1
        kinds = np.bincount(runs * len(self.shape_of_day) + self.kind, shape, count * len(self.shape_of_day))
        days = np.bincount(runs * len(self.season) + self.day, shape, count * len(self.season))
        kinds, days = kinds.reshape(count, -1), days.reshape(count, -1)
        short = np.asarray(np.diag(np.bincount(runs, shape**2, count)), dtype=np.float64)
        lag, weight = 1, self.decay
        while weight > 3e-4 and lag < len(runs):  # noqa: PLR2004  # far below the steps' own variance
            later, earlier = slice(lag, None), slice(None, -lag)
            pairs = runs[later] * count + runs[earlier]
            once = np.bincount(pairs, weight * shape[later] * shape[earlier], count * count).reshape(count, count)
            short = short + once + once.T
            lag, weight = lag + 1, weight * self.decay
        sums = np.bincount(runs, shape, count)
        always = days @ self.season @ days.T + LEVEL * np.outer(sums, sums)
        always[np.diag_indices(count)] += NUGGET * np.bincount(runs, shape**2, count)
        hour, day = kinds @ self.shape_of_day @ kinds.T, days @ self.level_of_day @ days.T
        return SummedPrior(hour, day, short, always)

    def _chain(self, fresh: Floats) -> Floats:
        """Return the running sums (t, r) in which what came before decays from step to step."""
        out = fresh.copy()
        for step in range(1, len(out)):
            out[step] += self.decay * out[step - 1]
        return out


@dataclass(frozen=True)
class SummedPrior:
    """Covariances (run, run) of the parts of relative departures, summed over runs of steps."""

    hour: Floats
    day: Floats
    short: Floats
    always: Floats

    def covariance(self, spread: PriorSpread) -> Floats:
        """Return the covariance for given spreads."""
        return np.asarray(
            spread.hour**2 * self.hour + spread.day**2 * self.day + spread.short**2 * self.short + self.always
        )


def sum_groups(labels: Ints, weights: Floats) -> Floats:
    """Return the sums (label, r) of weights (t, r) over steps with the same label."""
    order = np.argsort(labels, kind="stable")
    firsts = np.flatnonzero(np.diff(labels[order], prepend=-1))
    return np.asarray(np.add.reduceat(weights[order], firsts, axis=0))


def _factorise(covariance: Floats) -> Floats:
    """Return a matrix whose product with its transpose is the covariance."""
    return np.asarray(np.linalg.cholesky(covariance + 1e-9 * np.eye(len(covariance))), dtype=np.float64)
