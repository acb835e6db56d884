"""From the sums of regions to cells: in proportion to a field, or as the lumps that households make."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.mechanisms.bounds.population import TotalsDistribution
from gridveil.model.units import Floats, Ints


@dataclass(frozen=True)
class Household:
    """Mean and mean square of a household's bounded total, Wh."""

    mean: float
    second: float

    @classmethod
    def of(cls, population: TotalsDistribution, bound: int) -> Household:
        """Return them; a household uses something."""
        mean = max(population.mean(bound), 1.0)
        return cls(mean, max(population.second(bound), mean**2))


def spread_smoothly(sums: Floats, labels: Ints, field: Floats) -> Floats:
    """Spread sums (region) over cells (x, y), in proportion to the exponential of a field."""
    density = np.exp(field - field.max())
    within = np.bincount(labels.ravel(), density.ravel())
    return np.asarray((sums / within)[labels] * density, dtype=np.float64)


def spread_lumps(
    sums: Floats, labels: Ints, fields: Floats, household: Household, clumping: float, random: np.random.Generator
) -> Floats:
    """Draw how sums (draw, region) may lie in cells (draw, x, y), as many households as each would take.

    A cell's rate is its share of the region's sum, but for clumping; numbers of households are Poisson, their totals
    Gamma of the right mean and variance, and what comes out is scaled to the region's sum. Where nobody came out the
    sum is all in one cell.
    """
    regions, cells = sums.shape[1], labels.size
    if regions == cells:
        return sums[:, labels]
    flat = labels.ravel()
    order = np.argsort(flat, kind="stable")
    starts = np.searchsorted(flat[order], np.arange(regions))
    density = np.exp(fields - fields.max(axis=(1, 2), keepdims=True)).reshape(len(sums), cells)[:, order]
    density *= (sums / np.add.reduceat(density, starts, axis=1))[:, flat[order]]
    rates = density / household.mean
    if clumping > 0:
        rates *= random.gamma(1 / clumping, clumping, rates.shape)
    people = random.poisson(rates)
    variance = max(household.second - household.mean**2, 1e-6 * household.mean**2)
    shape = household.mean**2 / variance
    lumps = random.gamma(np.maximum(people * shape, np.finfo(np.float64).tiny)) * (people > 0)
    drawn = np.add.reduceat(lumps, starts, axis=1)
    # One cell of each region, the likelier the denser, for the regions where nobody came out.
    race = np.log(density + np.finfo(np.float64).tiny) + random.gumbel(size=density.shape)
    alone = race == np.maximum.reduceat(race, starts, axis=1)[:, flat[order]]
    lumps = np.where((drawn > 0)[:, flat[order]], lumps, alone)
    lumps *= (sums / np.add.reduceat(lumps, starts, axis=1))[:, flat[order]]
    drawn = np.empty((len(sums), *labels.shape))
    drawn.reshape(len(sums), cells)[:, order] = lumps
    return drawn
