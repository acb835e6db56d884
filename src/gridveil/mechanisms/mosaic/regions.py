"""Regional profiles: when districts live by different clocks, one profile for the whole map is wrong.

A small look tells whether they do; only if so is more spent on how. Both are sums over blocks of the map and parts of
the day, all days together: a partition of the cube, so that a household's window bound is all they see of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import numpy as np

from gridveil.cube import Grid, Window
from gridveil.estimate import Floats, Ints
from gridveil.mechanisms.mosaic.interaction import Setting, deviations
from gridveil.privacy.measure import Measurement

ENOUGH = 5_500
"""Households times epsilon below which even strong differences go unseen in a look that costs little."""

TEST = 400
"""What the first look needs of that product ..."""

TEST_SHARES = (0.0075, 0.03)
"""... and the least and the most that it may take of the budget."""

TEST_BLOCKS, TEST_PARTS = 3, 3

CONVINCED = 4.0
"""Log odds of differences against none, at which they are believed. Where there are none, heavy tails of the noise
reach it about once in a hundred looks."""

FULL_SHARE = 0.12

RESOLUTIONS = ((200_000, 16, 8), (20_000, 8, 6), (0, 8, 4))
"""From which product on the map is cut into how many blocks each way, and the day into how many parts."""

DRAWS = 200
FLOOR = 0.05
"""No region uses less than this part of what the map does, at any time."""

SWEEPS = 20


@dataclass(frozen=True)
class Look:
    """A question: sums over blocks (x, y) of the map and parts (t,) of the day, for an epsilon."""

    blocks: tuple[int, int]
    region: Ints
    part: Ints
    epsilon: float

    def labels(self) -> Ints:
        """Return the labels for `Measure.sums`: region after region, in each the parts of the day."""
        return np.asarray(self.region[:, :, None] * (self.part.max() + 1) + self.part)


@dataclass(frozen=True)
class RegionPlan:
    """A first look, and the full one that pays if the first sees differences; `hour` (t,) is each step's of the day."""

    test: Look
    full: Look
    hour: Ints


@dataclass(frozen=True)
class RegionalProfiles:
    """Which region a cell is in (x, y), and the factors of its steps on the map's profile (k, t), with draws (r, k, t).

    Regions' totals are kept, and so is the map's profile: weighted by them, the factors are 1 on average.
    amplitude: estimated standard deviation of the factors.
    """

    region: Ints
    factor: Floats
    draws: Floats
    amplitude: float


def plan_regions(grid: Grid, window: Window, households: float, epsilon: float) -> RegionPlan | None:
    """Return how to look for regional profiles with a budget of `epsilon`; `None` if that cannot pay.

    households: a rough number, or one that was measured.

    >>> from datetime import UTC, datetime
    >>> week = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 168)
    >>> plan = plan_regions(Grid(0, 0, 32, 32, 32, 32), week, 4000, 10.0)
    >>> plan.test.epsilon, plan.full.blocks, plan.full.epsilon
    (0.1, (8, 8), 1.2)
    """
    power = households * epsilon
    middles = [time + window.step / 2 for time in window.times()] if window.step < timedelta(days=1) else []
    hour = np.array([time.hour for time in middles], dtype=np.int64)
    if power < ENOUGH or grid.cells == 1 or np.unique(hour // (24 // TEST_PARTS)).size == 1 or not middles:
        return None
    blocks, parts = next((b, p) for least, b, p in RESOLUTIONS if power >= least)
    share = float(np.clip(TEST / power, *TEST_SHARES))
    return RegionPlan(
        _look(grid, hour, TEST_BLOCKS, TEST_PARTS, epsilon * share),
        _look(grid, hour, blocks, parts, epsilon * FULL_SHARE),
        hour,
    )


def regions_differ(plan: RegionPlan, measured: Measurement) -> bool:
    """Return whether the first look, by itself, makes differences between regions likely enough to measure them."""
    sums, variance = _sums(plan.test, measured)
    of_region, of_part = np.maximum(sums.sum(axis=1), 0.0), np.maximum(sums.sum(axis=0), 0.0)
    if not of_region.any() or not of_part.any():
        return False
    first = np.unique(plan.test.part, return_index=True)[1]
    setting = Setting(
        _centres(plan.test.blocks),
        of_region,
        _middle(plan.hour[first] // (24 // TEST_PARTS), 24 / TEST_PARTS),
        _weights(of_part),
        np.arange(of_part.size),
    )
    return deviations(setting, sums, variance, 0, 0).evidence > CONVINCED


def fit_regions(
    plan: RegionPlan, measured: Measurement, space: Floats, profile: Floats, kept: float, seed: int = 0
) -> RegionalProfiles:
    """Return the regions' profiles from the full look.

    space: estimated totals of the cells (x, y), Wh. profile: the map's (t,), sum 1. kept: the part of all consumption
    that the bound of the look leaves, `1 / Population.debias(bound)`.
    """
    sums, variance = _sums(plan.full, measured)
    hours, phase = np.unique(plan.hour, return_inverse=True)
    first = np.unique(phase, return_index=True)[1]
    regions = _binned(plan.full.region, np.maximum(space, 0.0))
    phases = _binned(phase, profile)
    setting = Setting(_centres(plan.full.blocks), kept * regions, _middle(hours), phases, plan.full.part[first])
    found = deviations(setting, sums, variance, DRAWS, seed)
    factor = _raked(np.maximum(1 + found.mean, FLOOR), regions, phases)
    draws = _raked(np.maximum(1 + found.draws, FLOOR), regions, phases)
    return RegionalProfiles(plan.full.region, factor[:, phase], draws[:, :, phase], found.amplitude)


def _look(grid: Grid, hour: Ints, blocks: int, parts: int, epsilon: float) -> Look:
    columns, rows = min(blocks, grid.nx), min(blocks, grid.ny)
    region = (np.arange(grid.nx) * columns // grid.nx)[:, None] * rows + np.arange(grid.ny) * rows // grid.ny
    return Look((columns, rows), region, np.unique(hour // (24 // parts), return_inverse=True)[1], epsilon)


def _sums(look: Look, measured: Measurement) -> tuple[Floats, float]:
    """Return the sums (k, p) and the variance of the noise on each, Wh^2."""
    columns, rows = look.blocks
    return measured.values.astype(np.float64).reshape(columns * rows, -1), float(2 * measured.scales[0] ** 2)


def _centres(blocks: tuple[int, int]) -> Floats:
    columns, rows = blocks
    x, y = np.meshgrid((np.arange(columns) + 0.5) / columns, (np.arange(rows) + 0.5) / rows, indexing="ij")
    return np.stack([x.ravel(), y.ravel()], axis=1)


def _middle(number: Ints, hours: float = 1.0) -> Floats:
    """Return the hour of the day in the middle of a numbered part of the day, each so many hours long."""
    return np.asarray((number + 0.5) * hours, dtype=np.float64)


def _binned(bins: Ints, values: Floats) -> Floats:
    return np.asarray(np.bincount(bins.ravel(), values.ravel()), dtype=np.float64)


def _raked(factor: Floats, regions: Floats, phases: Floats) -> Floats:
    """Return factors (..., k, q) whose weighted mean is 1 in every phase (nearly) and every region (exactly).

    Regions and phases in which nothing is consumed keep theirs, up to a constant: they weigh nothing.
    """
    where, when = _weights(regions), _weights(phases)
    for _ in range(SWEEPS):
        factor = factor / np.einsum("...kq,k->...q", factor, where)[..., None, :]
        factor = factor / np.einsum("...kq,q->...k", factor, when)[..., None]
    return factor


def _weights(totals: Floats) -> Floats:
    total = totals.sum()
    return np.asarray(totals / total if total > 0 else np.full(totals.size, 1 / totals.size))
