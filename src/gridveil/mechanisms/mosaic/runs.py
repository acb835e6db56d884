"""Which steps are measured together, decided from public numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol

import numpy as np

from gridveil.mechanisms.mosaic.calendar_prior import MONDAY, SATURDAY, CalendarPrior, PriorSpread, sum_groups
from gridveil.model.arrays import Floats, Ints
from gridveil.model.window import Window

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
