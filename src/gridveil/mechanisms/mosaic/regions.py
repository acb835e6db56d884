"""Regional profiles: where districts differ in their daily curves, and how to measure that."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import numpy as np
from numpy.typing import NDArray

from gridveil.geography.grid import Grid
from gridveil.mechanisms.bounds import TotalsDistribution
from gridveil.mechanisms.mosaic.interaction import RegionDeviations, Setting, infer_deviations
from gridveil.model.arrays import Floats, Ints
from gridveil.model.window import Window
from gridveil.trusted.kernel.bound import Bound
from gridveil.trusted.kernel.session import Measurement, Session

# What to measure, and for which share of the budget: public numbers and earlier answers decide.

MIN_POWER = 5_500
"""Households times epsilon below which even strong differences go unseen in a look that costs little."""

TEST_POWER = 400
"""What the first look needs of that product ..."""

TEST_SHARES = (0.015, 0.025)
"""... and the least and the most that it may take of the budget."""

TEST_BLOCKS, TEST_PARTS = 3, 3

FULL_SHARE = 0.12

BLOCKS = 8
"""Each way. More would show more from a product of 100,000 on, but make error bars slow: each has a profile."""

PARTS = ((20_000, 6), (0, 4))
"""From which product on the day is cut into how many parts."""

HOURS = 24


@dataclass(frozen=True)
class RegionMeasurement:
    """A question: sums over `blocks` of the map (each way) and parts of the day, all days together, for an epsilon.

    region (x, y), part (t,): of every cell and step. hour (t,): of the day, in the middle of each step.
    """

    blocks: tuple[int, int]
    region: Ints
    part: Ints
    hour: Ints
    epsilon: float

    @property
    def regions(self) -> int:
        """How many regions there are."""
        return self.blocks[0] * self.blocks[1]

    @property
    def parts(self) -> int:
        """How many parts of the day the window touches."""
        return int(self.part.max()) + 1

    def labels(self) -> NDArray[np.int16]:
        """Return the labels (x, y, t) for `Session.sums`: region after region, in each the parts of the day."""
        region, part = self.region.astype(np.int16), self.part.astype(np.int16)
        return region[:, :, None] * np.int16(self.parts) + part

    def centres(self) -> Floats:
        """Return where the regions are (k, 2), the map being the unit square."""
        columns, rows = self.blocks
        x, y = np.meshgrid((np.arange(columns) + 0.5) / columns, (np.arange(rows) + 0.5) / rows, indexing="ij")
        return np.stack([x.ravel(), y.ravel()], axis=1)


@dataclass(frozen=True)
class RegionPlan:
    """A first look, and the full one that pays if the first sees differences."""

    test: RegionMeasurement
    full: RegionMeasurement


def plan_regions(grid: Grid, window: Window, households: float, epsilon: float) -> RegionPlan | None:
    """Return how to look for regional profiles with a budget of `epsilon`; `None` if that cannot pay.

    households: a rough number, or one that was measured.

    >>> from datetime import UTC, datetime
    >>> week = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 168)
    >>> plan = plan_regions(Grid(0, 0, 32, 32, 32, 32), week, 4000, 10.0)
    >>> plan.test.epsilon, plan.full.blocks, plan.full.epsilon
    (0.15, (8, 8), 1.2)
    """
    power = households * epsilon
    if power < MIN_POWER or grid.cells == 1 or window.step >= timedelta(hours=HOURS):
        return None
    hour = np.array([(time + window.step / 2).hour for time in window.times()], dtype=np.int64)
    test = _make_measurement(
        grid, hour, TEST_BLOCKS, TEST_PARTS, epsilon * float(np.clip(TEST_POWER / power, *TEST_SHARES))
    )
    if test.parts == 1:
        return None
    parts = next(count for least, count in PARTS if power >= least)
    return RegionPlan(test, _make_measurement(grid, hour, BLOCKS, parts, epsilon * FULL_SHARE))


def _make_measurement(grid: Grid, hour: Ints, blocks: int, parts: int, epsilon: float) -> RegionMeasurement:
    columns, rows = min(blocks, grid.nx), min(blocks, grid.ny)
    region = (np.arange(grid.nx) * columns // grid.nx)[:, None] * rows + np.arange(grid.ny) * rows // grid.ny
    part = np.unique(hour * parts // HOURS, return_inverse=True)[1]
    return RegionMeasurement((columns, rows), region, part, hour, epsilon)


# Inference of regional profiles: where districts differ, one profile for the whole map is wrong.
#
# A small look tells whether they do; only if so is more spent on how. Both are sums over blocks of the map and parts
# of the day: a partition of the cube, so that a household's window bound is all they see of it.

MIN_LOG_ODDS = 3.0
"""Log odds of differences against none, at which they are believed. Of looks at London households, in places that have
nothing to do with how they live, 1.1 to 1.5 in a hundred come that far: the noise has heavy tails."""

BOUND_QUANTILE = 0.6
"""Of households' totals: the bound of both looks. Bounding scales a household's series as a whole, so that a low bound
costs little of what shapes of the day tell, and much noise is saved."""

MIN_FACTOR = 0.05
"""No region uses less than this part of what the map does, at any time."""

SWEEPS = 20


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


def choose_region_bound(given: Bound, steps: int, population: TotalsDistribution) -> Bound:
    """Return the bound of both looks; a window bound that the publisher has given stands."""
    if given.window < given.step * steps:
        return given
    return Bound(given.step, min(given.window, max(1, round(population.quantile(BOUND_QUANTILE)))))


def detect_differences(measure: Session, plan: RegionPlan, bound: Bound) -> bool:
    """Take the first look, and return whether it makes differences likely enough to measure them."""
    look = plan.test
    measured = measure.sums(look.labels(), look.epsilon, bound=bound)
    sums = measured.values.astype(np.float64).reshape(-1, look.parts)
    regions, profile = np.maximum(sums.sum(axis=1), 0.0), np.maximum(sums.sum(axis=0), 0.0)
    if not regions.any() or not profile.any():
        return False
    # Its own sums stand for the regions' totals and the map's profile, which have not been measured yet.
    steps = (profile / np.bincount(look.part))[look.part]
    return _infer_deviations(look, measured, regions, steps, 0, 0).evidence > MIN_LOG_ODDS


def fit_regions(
    look: RegionMeasurement, measured: Measurement, space: Floats, profile: Floats, draws: int, seed: int
) -> RegionalProfiles:
    """Return the regions' profiles from the full look. Post-processing.

    space: estimated consumption of the cells (x, y), Wh, under the bound of the look. profile: the map's (t,), sum 1.
    """
    regions = _sum_bins(look.region, np.maximum(space, 0.0))
    found = _infer_deviations(look, measured, regions, profile, draws, seed)
    phase = np.unique(look.hour, return_inverse=True)[1]
    weights = _normalise(regions), _normalise(_sum_bins(phase, profile))
    factor, others = (_rake(np.maximum(1 + field, MIN_FACTOR), *weights) for field in (found.mean, found.draws))
    return RegionalProfiles(look.region, factor[:, phase], others[:, :, phase], found.amplitude)


def _infer_deviations(
    look: RegionMeasurement, measured: Measurement, regions: Floats, profile: Floats, draws: int, seed: int
) -> RegionDeviations:
    """Return how regions differ by hour of the day, given what regions (k,) and steps (t,) consume."""
    hours, first, phase = np.unique(look.hour, return_index=True, return_inverse=True)
    setting = Setting(
        look.centres(), regions, np.asarray(hours + 0.5), _normalise(_sum_bins(phase, profile)), look.part[first]
    )
    sums = measured.values.astype(np.float64).reshape(-1, look.parts)
    return infer_deviations(setting, sums, 2 * float(measured.scales[0]) ** 2, draws, seed)


def _rake(factor: Floats, regions: Floats, phases: Floats) -> Floats:
    """Return positive factors (..., k, q) whose weighted mean is 1 in every phase (nearly) and region (exactly)."""
    for _ in range(SWEEPS):
        factor = factor / np.einsum("...kq,k->...q", factor, regions)[..., None, :]
        factor = factor / np.einsum("...kq,q->...k", factor, phases)[..., None]
    return factor


def _sum_bins(bins: Ints, values: Floats) -> Floats:
    return np.asarray(np.bincount(bins.ravel(), values.ravel()), dtype=np.float64)


def _normalise(totals: Floats) -> Floats:
    """Return parts of the sum; equal parts of nothing."""
    total = totals.sum()
    return np.asarray(totals / total if total > 0 else np.full(totals.size, 1 / totals.size))
