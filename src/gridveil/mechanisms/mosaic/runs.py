"""Which steps are measured together, decided from public numbers."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import numpy as np

from gridveil.cube import Window
from gridveil.estimate import Floats, Ints
from gridveil.mechanisms.mosaic.calendar_prior import MONDAY, SATURDAY, CalendarPrior, Spread, grouped

EXPECTED = Spread(0.3, 0.05, 0.05)
MOST = 480
"""More sums than this only where every step by itself is worth it."""
CLEAR = 0.03
"""Noise of a step, relative to its consumption, below which every step of a long window is measured."""
QUERIES = 66
LENGTH = 10  # steps of a short query
BETTER = 0.97  # how much better coarse sums must promise to be than every step by itself


def choose_runs(window: Window, households: float, mean_use: float, epsilon: float, bound: float) -> Ints:
    """Return for every step which of the measured sums it is part of.

    households, mean_use: about how many there are, and what one uses in the window on average, Wh.
    epsilon, bound: what the measurement may cost, and the most that a household may contribute to it, Wh.

    A sum of many steps has the noise of a single one, but does not tell its steps apart. Tried are every step by
    itself, and the same hours of the day summed over some days or all; taken is what lets the calendar prior expect
    the least error of periods, short and long.
    """
    noise = bound / (epsilon * max(households * mean_use, 1.0))  # Laplace scale, in parts of the whole
    every = np.arange(window.steps)
    if window.steps > MOST and noise * window.steps < CLEAR:
        return every
    prior = CalendarPrior.of(window)
    asked = _queries(window.steps)
    follows = prior.apply(EXPECTED, asked)
    errors, best = np.inf, every
    for runs in _candidates(window):
        worse = 1.0 if len(np.unique(runs)) == window.steps else 1 / BETTER
        error = worse * _error(prior, runs, noise, asked, follows)
        if error < errors:
            errors, best = error, runs
    return best


def _candidates(window: Window) -> Iterator[Ints]:
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
                if runs.max() < MOST and (key := runs.tobytes()) not in seen:
                    seen.add(key)
                    yield runs.astype(np.int64)


def _queries(steps: int) -> Floats:
    """Return periods (t, q) to be asked about: single steps, short ones and any; each weighted to be a mean."""
    random = np.random.default_rng(0)
    ends = np.sort(random.integers(0, steps + 1, (2, QUERIES)), axis=0)
    short = min(LENGTH, steps)
    ends[0, ::3] = random.integers(0, steps - short + 1, QUERIES // 3)
    ends[1, ::3] = ends[0, ::3] + short
    ends[0, 1::3] = random.integers(0, steps, QUERIES // 3)
    ends[1, 1::3] = ends[0, 1::3] + 1
    at = np.arange(steps)[:, None]
    inside = (at >= ends[0]) & (at < np.maximum(ends[1], ends[0] + 1))
    return np.asarray(inside / np.maximum(inside.sum(axis=0), 1.0))


def _error(prior: CalendarPrior, runs: Ints, noise: float, asked: Floats, follows: Floats) -> float:
    """Return the mean expected error of the queries, relative, once the runs are measured."""
    shape = np.full(len(runs), 1 / len(runs))
    covariance = prior.between(runs, shape).covariance(EXPECTED)
    known = shape[0] * grouped(runs, follows)
    # The whole is known from elsewhere, almost exactly: as one more sum.
    rows = np.vstack([covariance, covariance.sum(axis=0)])
    covariance = np.hstack([rows, rows.sum(axis=1, keepdims=True)])
    known = np.vstack([known, known.sum(axis=0)])
    covariance[np.diag_indices_from(covariance)] += np.append(np.full(len(known) - 1, 2 * noise**2 + 1e-12), 1e-6)
    explained = (known * np.linalg.solve(covariance, known)).sum(axis=0)
    return float(np.sqrt(np.maximum((asked * follows).sum(axis=0) - explained, 0.0)).mean())
