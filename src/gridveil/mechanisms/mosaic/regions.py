"""Regional profiles: when districts live by different clocks, one profile for the whole map is wrong.

A small look tells whether they do; only if so is more spent on how. Both are sums over blocks of the map and parts of
the day: a partition of the cube, so that a household's window bound is all they see of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.mechanisms.bounds import TotalsDistribution
from gridveil.mechanisms.mosaic.interaction import RegionDeviations, Setting, deviations
from gridveil.mechanisms.mosaic.region_plan import RegionMeasurement, RegionPlan
from gridveil.model.units import Floats, Ints
from gridveil.trusted.kernel.bound import Bound
from gridveil.trusted.kernel.session import Measurement, Session

CONVINCED = 3.0
"""Log odds of differences against none, at which they are believed. Of looks at London households, in places that have
nothing to do with how they live, 1.1 to 1.5 in a hundred come that far: the noise has heavy tails."""

BOUND_QUANTILE = 0.6
"""Of households' totals: the bound of both looks. Bounding scales a household's series as a whole, so that a low bound
costs little of what shapes of the day tell, and much noise is saved."""

FLOOR = 0.05
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


def look_bound(given: Bound, steps: int, population: TotalsDistribution) -> Bound:
    """Return the bound of both looks; a window bound that the publisher has given stands."""
    if given.window < given.step * steps:
        return given
    return Bound(given.step, min(given.window, max(1, round(population.quantile(BOUND_QUANTILE)))))


def regions_differ(measure: Session, plan: RegionPlan, bound: Bound) -> bool:
    """Take the first look, and return whether it makes differences likely enough to measure them."""
    look = plan.test
    measured = measure.sums(look.labels(), look.epsilon, bound=bound)
    sums = measured.values.astype(np.float64).reshape(-1, look.parts)
    regions, profile = np.maximum(sums.sum(axis=1), 0.0), np.maximum(sums.sum(axis=0), 0.0)
    if not regions.any() or not profile.any():
        return False
    # Its own sums stand for the regions' totals and the map's profile, which have not been measured yet.
    steps = (profile / np.bincount(look.part))[look.part]
    return _deviations(look, measured, regions, steps, 0, 0).evidence > CONVINCED


def fit_regions(
    look: RegionMeasurement, measured: Measurement, space: Floats, profile: Floats, draws: int, seed: int
) -> RegionalProfiles:
    """Return the regions' profiles from the full look. Post-processing.

    space: estimated consumption of the cells (x, y), Wh, under the bound of the look. profile: the map's (t,), sum 1.
    """
    regions = _binned(look.region, np.maximum(space, 0.0))
    found = _deviations(look, measured, regions, profile, draws, seed)
    phase = np.unique(look.hour, return_inverse=True)[1]
    weights = _weights(regions), _weights(_binned(phase, profile))
    factor, others = (_raked(np.maximum(1 + field, FLOOR), *weights) for field in (found.mean, found.draws))
    return RegionalProfiles(look.region, factor[:, phase], others[:, :, phase], found.amplitude)


def _deviations(
    look: RegionMeasurement, measured: Measurement, regions: Floats, profile: Floats, draws: int, seed: int
) -> RegionDeviations:
    """Return how regions differ by hour of the day, given what regions (k,) and steps (t,) consume."""
    hours, first, phase = np.unique(look.hour, return_index=True, return_inverse=True)
    setting = Setting(
        look.centres(), regions, np.asarray(hours + 0.5), _weights(_binned(phase, profile)), look.part[first]
    )
    sums = measured.values.astype(np.float64).reshape(-1, look.parts)
    return deviations(setting, sums, 2 * float(measured.scales[0]) ** 2, draws, seed)


def _raked(factor: Floats, regions: Floats, phases: Floats) -> Floats:
    """Return positive factors (..., k, q) whose weighted mean is 1 in every phase (nearly) and region (exactly)."""
    for _ in range(SWEEPS):
        factor = factor / np.einsum("...kq,k->...q", factor, regions)[..., None, :]
        factor = factor / np.einsum("...kq,q->...k", factor, phases)[..., None]
    return factor


def _binned(bins: Ints, values: Floats) -> Floats:
    return np.asarray(np.bincount(bins.ravel(), values.ravel()), dtype=np.float64)


def _weights(totals: Floats) -> Floats:
    """Return parts of the sum; equal parts of nothing."""
    total = totals.sum()
    return np.asarray(totals / total if total > 0 else np.full(totals.size, 1 / totals.size))
