"""Steps in the calendar: the prior covariance of a profile, and which steps are measured together."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

import numpy as np

from gridveil.model.arrays import Floats, Ints
from gridveil.model.window import Window

# The prior of a profile in time: the covariance of steps by the calendar.
#
# A step's consumption is its expected part of the whole, times one plus a relative departure. Departures are the sum
# of a shape of the day (another one at weekends), a level of the day, a season, something that lasts for hours, and a
# little of each step's own. Each is a Gaussian process over few places (hours of the day, days) or a Markov chain, so
# that no matrix of steps by steps is needed.

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


# Which steps are measured together, decided from public numbers.

EXPECTED_SPREAD = PriorSpread(0.3, 0.05, 0.05)
MAX_SUMS = 480
"""More sums than this only where every step by itself is worth it."""
CLEAR_NOISE = 0.03
"""Noise of a step, relative to its consumption, below which every step of a long window is measured."""
QUANTILES = (0.3, 0.5, 0.7, 0.8, 0.87, 0.93, 0.97, 0.985, 0.995)
"""Of households' totals: bounds to choose from."""
QUERIES = 66
SHORT_QUERY = 10  # steps of a short query
COARSE_MARGIN = 0.97  # how much better coarse sums must promise to be than every step by itself


class Totals(Protocol):
    """What must be known of households' window totals: see `Population`."""

    @property
    def households(self) -> float:
        """How many there are."""

    def quantile(self, q: float) -> float:
        """Return a quantile, Wh."""

    def mean(self, bound: float = ...) -> float:
        """Return the mean, each total cut at a bound, Wh."""


@dataclass(frozen=True)
class TimePlan:
    """What to measure of time: which sum every step is part of (t,), and the window bound for it, Wh."""

    runs: Ints
    bound: int


def plan_time(window: Window, totals: Totals, epsilon: float) -> TimePlan:
    """Return the sums of steps and the bound for them that promise the least error for `epsilon`.

    A low bound needs little noise, but the profile of what it cuts away is not known.
    """
    bounds = sorted({max(1, round(totals.quantile(q))) for q in QUANTILES})
    whole = totals.mean()
    kept = [totals.mean(bound) for bound in bounds]
    offers = [
        _Offer(bound, bound / (epsilon * max(totals.households * left, 1.0)), max(0.0, 1 - left / max(whole, 1.0)))
        for bound, left in zip(bounds, kept, strict=True)
    ]
    return _choose_plan(window, offers)


def choose_runs(window: Window, households: float, mean_use: float, epsilon: float, bound: float) -> Ints:
    """Return for every step which of the measured sums it is part of, if the bound is given.

    households, mean_use: about how many there are, and what one uses in the window on average, Wh.
    epsilon, bound: what the measurement may cost, and the most that a household may contribute to it, Wh.
    """
    return _choose_plan(window, [_Offer(0, bound / (epsilon * max(households * mean_use, 1.0)), 0.0)]).runs


@dataclass(frozen=True)
class _Offer:
    """A bound, the Laplace scale that it needs (in parts of the whole), and the part of the whole that it cuts away."""

    bound: int
    noise: float
    cut: float


def _choose_plan(window: Window, offers: list[_Offer]) -> TimePlan:
    """Return the runs and the offer with which the calendar prior expects the least error of periods, short and long.

    A sum of many steps has the noise of a single one, but does not tell its steps apart. Tried are every step by
    itself, and the same hours of the day summed over some days or all.
    """
    prior = CalendarPrior.of(window)
    asked = _make_queries(window.steps)
    follows = prior.apply(EXPECTED_SPREAD, asked)
    # What is lost of the whole is put back by a factor: only how a period differs from the whole counts.
    lost = [prior.lost(offer.cut, asked - 1 / window.steps) for offer in offers]
    least, plan = np.inf, TimePlan(np.arange(window.steps), offers[-1].bound)
    clear = [offer for offer in offers if offer.noise * window.steps < CLEAR_NOISE]
    if window.steps > MAX_SUMS and clear:
        return TimePlan(plan.runs, clear[-1].bound)
    for runs in _list_candidates(window):
        known = _RunKnowledge.of(prior, runs, follows)
        worse = 1.0 if known.count == window.steps else 1 / COARSE_MARGIN
        for offer, gone in zip(offers, lost, strict=True):
            left = (asked * follows).sum(axis=0) - known.explain_variance(offer.noise)
            error = worse * float(np.sqrt(np.maximum(left, 0.0) + gone).mean())
            if error < least:
                least, plan = error, TimePlan(runs, offer.bound)
    return plan


def _list_candidates(window: Window) -> Iterator[Ints]:
    """Yield partitions of the steps: by hours of the day (one or some together), over spans of days, kinds of day."""
    step = window.step / timedelta(hours=1)
    hours = (window.start - MONDAY) / timedelta(hours=1) + step * (np.arange(window.steps) + 0.5)
    day = np.floor(hours / 24).astype(np.int64)
    weekend = day % 7 >= SATURDAY
    seen = set()
    for span in (step, 1, 2, 3, 4, 24):
        if span < step:
            continue
        hour = np.floor(hours % 24 / span).astype(np.int64)
        for days in (1, 7, 14, 28, 91, 10**6):
            for kinds in (0, 1):
                together = (day // days if days > 1 else day) * 2 + kinds * weekend
                _, runs = np.unique(together * 2000 + hour, return_inverse=True)
                if runs.max() < MAX_SUMS and (key := runs.tobytes()) not in seen:
                    seen.add(key)
                    yield runs.astype(np.int64)


def _make_queries(steps: int) -> Floats:
    """Return periods (t, q) to be asked about: single steps, short ones and any; each weighted to be a mean."""
    random = np.random.default_rng(0)
    ends = np.sort(random.integers(0, steps + 1, (2, QUERIES)), axis=0)
    short = min(SHORT_QUERY, steps)
    ends[0, ::3] = random.integers(0, steps - short + 1, QUERIES // 3)
    ends[1, ::3] = ends[0, ::3] + short
    ends[0, 1::3] = random.integers(0, steps, QUERIES // 3)
    ends[1, 1::3] = ends[0, 1::3] + 1
    at = np.arange(steps)[:, None]
    inside = (at >= ends[0]) & (at < np.maximum(ends[1], ends[0] + 1))
    return np.asarray(inside / np.maximum(inside.sum(axis=0), 1.0))


@dataclass(frozen=True)
class _RunKnowledge:
    """What sums of runs tell of periods: their covariance (run, run), and that with the periods (run, q)."""

    covariance: Floats
    known: Floats

    @classmethod
    def of(cls, prior: CalendarPrior, runs: Ints, follows: Floats) -> _RunKnowledge:
        """Return it for runs; the whole is known from elsewhere, almost exactly, and comes last."""
        shape = np.full(len(runs), 1 / len(runs))
        rows = prior.sum_runs(runs, shape).covariance(EXPECTED_SPREAD)
        rows = np.vstack([rows, rows.sum(axis=0)])
        known = sum_groups(runs, follows) / len(runs)
        return cls(np.hstack([rows, rows.sum(axis=1, keepdims=True)]), np.vstack([known, known.sum(axis=0)]))

    @property
    def count(self) -> int:
        """How many runs there are."""
        return len(self.known) - 1

    def explain_variance(self, noise: float) -> Floats:
        """Return how much of the periods' variances the sums explain, measured with this Laplace scale."""
        variances = np.append(np.full(self.count, 2 * noise**2 + 1e-12), 1e-6)
        solved = np.linalg.solve(self.covariance + np.diag(variances), self.known)
        return np.asarray((self.known * solved).sum(axis=0))
