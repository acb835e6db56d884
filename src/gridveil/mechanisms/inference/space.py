"""How much each cell used over the window: the noisy sums of regions, explained by a field of households."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.geography.grid import Grid
from gridveil.mechanisms.bounds.population import TotalsDistribution
from gridveil.mechanisms.inference.cells import Lumps
from gridveil.mechanisms.inference.explain import explain
from gridveil.mechanisms.inference.field import Evidence, FieldLevel, Waves
from gridveil.mechanisms.inference.noise_bins import NoiseBins
from gridveil.mechanisms.inference.spread import Household, spread_lumps, spread_smoothly
from gridveil.mechanisms.inference.totals import Whole, scaled
from gridveil.model.units import Floats, Ints
from gridveil.trusted.kernel.session import Measurement

FEW_REGIONS = 256
WAVES = (8, 12)
"""Along an axis, with many regions and with few. Few need finer ones in draws; many cost time, and gain nothing."""


@dataclass(frozen=True)
class SpaceEstimate:
    """Bounded totals of cells over the window, Wh: the estimate (x, y), and draws of what may be true (draw, x, y)."""

    mean: Floats
    draws: Floats


def estimate_space(
    grid: Grid,
    labels: Ints,
    noisy: Measurement,
    total: tuple[float, float] | None,
    population: TotalsDistribution,
    bound: int,
    draws: int,
    seed: int,
) -> SpaceEstimate:
    """Return what cells hold, given the noisy sums of regions.

    labels: the region of each cell (x, y): blocks along x times blocks along y, numbered row by row.
    total: noisy sum of everything and the variance of its noise, if measured.

    A region's rate of households is `exp` of a smooth field, its sum a compound of their bounded totals. The estimate
    is that sum's mean at the likeliest rate (the mode: what is unsure is taken for low, as relative errors reward),
    given its noisy value; all are then scaled to a total that leans on no prior.
    """
    random = np.random.default_rng(seed)
    values = noisy.values.astype(np.float64).ravel()
    noise, household = NoiseBins.of(noisy), Household.of(population, bound)
    whole = Whole.of(total, population, bound)
    top = max(min(float(values.max()) + 6 * noise.deviation, 2 * whole.mean + 20 * bound), 4.0 * bound)

    def known(clumping: float) -> tuple[Lumps, Evidence]:
        lumps = Lumps.of(population, bound, clumping, top, noise)
        return lumps, Evidence.of(lumps.log_rates, lumps.evidence(values, noise))

    region_y = labels[0]
    waves = Waves.of(labels[:, 0] // (int(region_y[-1]) + 1), region_y, WAVES[len(values) <= FEW_REGIONS])
    offsets = np.log(np.bincount(labels.ravel()) * (max(population.households, 1.0) / grid.cells))
    explained = explain(waves, known, offsets, level_of(whole, household))
    fit, lumps = explained.fit, explained.lumps

    likeliest = waves.regions @ fit.coefficients - fit.variances(waves.regions) + offsets
    summed = whole.and_regions(float(values.sum()), len(values) * noise.deviation**2, household.mean)
    mean = scaled(lumps.mean(likeliest, values, noise), summed.mean)
    coefficients = fit.draw(draws, random)
    sums = lumps.draw(coefficients @ waves.regions.T + offsets, values, noise, random)
    sums = scaled(sums, summed.draw(draws, random))
    return SpaceEstimate(
        spread_smoothly(mean, labels, waves.at_cells(fit.coefficients)),
        spread_lumps(sums, labels, waves.at_cells(coefficients), household, explained.clumping, random),
    )


def level_of(whole: Whole, household: Household) -> FieldLevel:
    """Return the logarithm of the whole map's rate of households: its total may be off by noise and by chance."""
    chance = household.second * whole.mean / household.mean
    return FieldLevel(float(np.log(whole.mean / household.mean)), (whole.variance + chance) / whole.mean**2)
