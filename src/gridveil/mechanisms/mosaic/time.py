"""The profile in time: the share of each step, from noisy sums of runs of steps and a public shape of the day."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np

from gridveil.mechanisms.inference.totals import project
from gridveil.mechanisms.mosaic.steps import SPREADS, CalendarPrior, PriorSpread, SummedPrior, sum_groups
from gridveil.model.arrays import Floats, Ints
from gridveil.model.errors import InputError
from gridveil.model.files import read_small
from gridveil.model.window import Window
from gridveil.trusted.kernel.session import Measurement

MAX_SUMS = 600
"""More sums than this are fitted a block at a time: time grows with the third power."""
BLOCK = 480
MIN_BELIEF = 0.01
"""Spreads that hold less of the belief than this are left out."""


@dataclass(frozen=True)
class TimeEstimate:
    """Each step's part of the whole, `profile` (t,), and draws (r, t) of what it may truly be. All sum to 1."""

    profile: Floats
    draws: Floats


@dataclass(frozen=True)
class _Sums:
    """Noisy sums of runs and of the whole (the last), relative to a level: as departures from what is expected."""

    runs: Ints
    shape: Floats
    gaps: Floats
    noise: Floats  # variances


Belief = list[tuple[float, PriorSpread]]
"""Spreads with the part of the belief in each; the parts sum to 1."""


def estimate_time(
    window: Window,
    runs: Ints,
    noisy: Measurement,
    total: float,
    total_sd: float,
    shape: Floats | None,
    draws: int,
    seed: int,
    cut: float = 0.0,
) -> TimeEstimate:
    """Return the profile that noisy sums of runs of steps and the calendar make likely. Post-processing.

    runs: which of the noisy sums a step is part of.
    total, total_sd: of the same bounded consumption, measured elsewhere, Wh.
    shape: what the profile is believed to look like beforehand; flat if `None`.
    draws, seed: how many draws, and the public seed of their randomness.
    cut: the part of the consumption that the bound of these sums cut away. Its profile is not known, which makes the
        draws of the true one wider.
    """
    random = np.random.default_rng(seed)
    shaped = shape is not None
    shape = np.full(window.steps, 1 / window.steps) if shape is None else shape / shape.sum()
    scales = np.maximum(noisy.scales, 0.3)  # no number is known better than to the Wh
    weights = 1 / np.array([max(total_sd, 1.0) ** 2, 2 * (scales**2).sum()])
    # The level of the whole: both measurements of it, weighted by how little noise each has; and never so low that
    # relative noise would lose its meaning.
    level = float(max(weights @ [total, noisy.values.sum()] / weights.sum(), weights.sum() ** -0.5))
    prior = CalendarPrior.of(window)
    if len(scales) <= MAX_SUMS:
        sums = _Sums(
            runs,
            shape,
            np.append(noisy.values / level - np.bincount(runs, shape), total / level - 1),
            np.append(2 * scales**2, max(total_sd, 1.0) ** 2) / level**2,
        )
        parts = _infer_parts(
            prior, sums, _weigh_spreads(prior.sum_runs(runs, shape), sums, shaped=shaped), draws, random
        )
    else:
        parts = _infer_blocks(window, runs, noisy.values / level, scales / level, shape, draws, random, shaped=shaped)
    lost = prior.draw_lost(cut, draws, random).T
    return TimeEstimate(_make_profile(parts[0]), _make_profile(_make_profile(parts[1:]) * (1 + lost)))


def _weigh_spreads(prior: SummedPrior, sums: _Sums, *, shaped: bool) -> Belief:
    """Return how likely each spread is: by its prior and by how well it explains the sums, noise taken as Gaussian."""
    count = len(sums.gaps)
    bordered = np.zeros((count + 1, count + 1))
    bordered[-1, :-1] = bordered[:-1, -1] = sums.gaps
    bordered[-1, -1] = 1 + (sums.gaps**2 / sums.noise).sum()
    evidence = []
    for spread in SPREADS:
        bordered[:-1, :-1] = _append_total(prior.covariance(spread))
        bordered[np.arange(count), np.arange(count)] += sums.noise
        root = np.linalg.cholesky(bordered)  # its last row is the gaps, made white
        fit = -0.5 * root[-1, :-1] @ root[-1, :-1] - np.log(np.diag(root)[:-1]).sum()
        evidence.append(fit + spread.log_prior(shaped=shaped))
    odds = np.exp(np.array(evidence) - max(evidence))
    odds[odds < MIN_BELIEF * odds.sum()] = 0.0
    return [(float(part), spread) for part, spread in zip(odds / odds.sum(), SPREADS, strict=True) if part]


def _infer_parts(prior: CalendarPrior, sums: _Sums, belief: Belief, draws: int, random: np.random.Generator) -> Floats:
    """Return the expected part of every step, and below it draws of the parts (1 + r, t)."""
    summed = prior.sum_runs(sums.runs, sums.shape)
    counts = random.multinomial(draws, [part for part, _ in belief])
    expected, drawn = np.zeros(len(sums.shape)), []
    for (part, spread), count in zip(belief, counts, strict=True):
        # A draw of the posterior is a draw of the prior, moved as a noisy measurement of it differs from ours. The
        # first column is not a draw: it starts from the prior's mean and is measured without noise.
        start = prior.draw(spread, count + 1, random)
        noise = np.sqrt(sums.noise)[:, None] * random.standard_normal((len(sums.gaps), count + 1))
        start[:, 0], noise[:, 0] = 0.0, 0.0
        pretended = sum_groups(sums.runs, sums.shape[:, None] * start)
        missing = sums.gaps[:, None] - noise - np.vstack([pretended, pretended.sum(axis=0)])
        solved = np.linalg.solve(_append_total(summed.covariance(spread)) + np.diag(sums.noise), missing)
        moved = start + prior.apply(spread, sums.shape[:, None] * (solved[:-1] + solved[-1])[sums.runs])
        expected += part * moved[:, 0]
        drawn.append(moved[:, 1:])
    departures = np.hstack([expected[:, None], *drawn])
    random.shuffle(departures[:, 1:], axis=1)
    return np.asarray((sums.shape[:, None] * (1 + departures)).T)


def _append_total(covariance: Floats) -> Floats:
    """Return a covariance of numbers with their sum as one more."""
    rows = np.vstack([covariance, covariance.sum(axis=0)])
    return np.hstack([rows, rows.sum(axis=1, keepdims=True)])


def _infer_blocks(
    window: Window,
    runs: Ints,
    values: Floats,
    scales: Floats,
    shape: Floats,
    draws: int,
    random: np.random.Generator,
    *,
    shaped: bool,
) -> Floats:
    """Return what `_infer_parts` does where so much was measured that blocks of steps need not learn from each other.

    A step of a longer run is taken for measured by itself: by its part of the run, with its part of the variance.
    """
    within = shape / np.bincount(runs, shape)[runs]
    values, scales = values[runs] * within, scales[runs] * np.sqrt(within)
    blocks = np.array_split(np.arange(window.steps), -(-window.steps // BLOCK))
    fits = []
    for block in blocks:
        part = Window(window.start + int(block[0]) * window.step, window.step, len(block))
        whole = max(float(values[block].sum()), float(np.sqrt(2 * (scales[block] ** 2).sum())))
        expected = shape[block] / shape[block].sum()
        sums = _Sums(
            np.arange(len(block)),
            expected,
            np.append(values[block] / whole - expected, 0.0),
            np.append(2 * (scales[block] / whole) ** 2, 100.0),  # nothing else is known of a block's sum
        )
        fits.append((CalendarPrior.of(part), sums, whole))
    prior, sums, _ = fits[len(fits) // 2]
    best = max(_weigh_spreads(prior.sum_runs(sums.runs, sums.shape), sums, shaped=shaped), key=lambda held: held[0])
    belief = [(1.0, best[1])]
    return np.hstack([whole * _infer_parts(prior, sums, belief, draws, random) for prior, sums, whole in fits])


def _make_profile(parts: Floats) -> Floats:
    """Return the nearest parts that are not negative with the same sum, as parts of 1."""
    total = np.maximum(parts.sum(axis=-1), 1e-9)
    kept = project(parts, total)
    return np.asarray(kept / kept.sum(axis=-1, keepdims=True))


# A public shape of the day, read from a file: the prior mean of the profile.

HOURS = 24
SATURDAY = 5
MAX_SHAPE_BYTES = 2**16  # bytes of a file
KINDS = ("weekday", "weekend")
SHAPE_HELP = (
    "a public shape is a CSV with a header and one row for every hour of the day: columns `hour` (0 to 23), one more "
    "with the consumption of that hour (any unit, more than 0), and perhaps `day` (weekday or weekend)"
)


@dataclass(frozen=True)
class PublicShape:
    """Consumption in each hour of the day, (2, 24): weekdays, then weekends. Only its shape counts, not its unit."""

    hourly: Floats

    def sample(self, window: Window, zone: str = "UTC") -> Floats:
        """Return the shape of a window's steps, which sums to 1. The file's hours are those of the clock of `zone`.

        Between the middles of two hours it is a straight line, so that steps may be of any length.
        """
        clock = ZoneInfo(zone)
        samples = max(1, round(window.step / timedelta(hours=1)))
        apart = window.step / samples
        offsets = np.array([_find_offset(clock, start) for start in window.times()])
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
        table = csv.DictReader(StringIO(read_small(Path(path), MAX_SHAPE_BYTES), newline=""))
        columns, rows = list(table.fieldnames or []), list(table)
    except (OSError, ValueError, csv.Error) as error:
        msg = f"profile {path} cannot be read ({error}); {SHAPE_HELP}"
        raise InputError(msg, code="profile-unreadable") from error
    values = [name for name in columns if name not in {"day", "hour"}]
    if "hour" not in columns or len(values) != 1:
        msg = f"profile {path} has the columns {', '.join(columns) or '(none)'}; {SHAPE_HELP}"
        raise InputError(msg, code="profile-columns")
    hourly = np.full((len(KINDS), HOURS), np.nan)
    for line, row in enumerate(rows, start=2):
        kinds, hour, value = _parse_row(row, values[0], f"profile {path}, line {line}")
        if not np.isnan(hourly[kinds, hour]).all():
            msg = f"profile {path}, line {line}: hour {hour} is there twice; {SHAPE_HELP}"
            raise InputError(msg, code="profile-hour-twice")
        hourly[kinds, hour] = value
    if np.isnan(hourly).any():
        kind, hour = np.argwhere(np.isnan(hourly))[0]
        msg = f"profile {path} lacks hour {hour} of a {KINDS[kind]}; {SHAPE_HELP}"
        raise InputError(msg, code="profile-hour-missing")
    return PublicShape(hourly)


def _parse_row(row: dict[str, str], column: str, where: str) -> tuple[list[int], int, float]:
    """Return which kinds of day a row is for, its hour and its value."""
    try:
        hour, value = int(row["hour"]), float(row[column])
    except (TypeError, ValueError):
        hour, value = -1, math.nan
    day = (row.get("day") or "").strip()
    known = not day or day in KINDS
    if not (known and 0 <= hour < HOURS and 0 < value < math.inf):
        msg = f"{where}: {', '.join(str(cell) for cell in row.values())}; {SHAPE_HELP}"
        raise InputError(msg, code="profile-row")
    return [KINDS.index(day)] if day else [0, 1], hour, value


def _find_offset(clock: ZoneInfo, instant: datetime) -> float:
    """Return by how many hours the clock is ahead of UTC."""
    return (instant.astimezone(clock).utcoffset() or timedelta(0)) / timedelta(hours=1)
