"""What is known of the whole map's bounded total apart from its regions, and how sums are made to agree with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.mechanisms.bounds.population import TotalsDistribution
from gridveil.model.units import Floats


@dataclass(frozen=True)
class Whole:
    """The whole map's total, Wh, and the variance of what is not known of it."""

    mean: float
    variance: float

    @classmethod
    def of(cls, total: tuple[float, float] | None, population: TotalsDistribution, bound: int) -> Whole:
        """Weigh the noisy total against the histogram's number of households times their mean, by variance."""
        counted = population.households * population.mean(bound)
        drawn = population.draws_households * (population.draws_weights @ np.minimum(population.support, bound))
        known = [(counted, max(float(drawn.var()), (0.001 * counted) ** 2, 1.0))]
        if total is not None:
            known.append((total[0], max(total[1], 1.0)))
        return cls._weighed(known, population.mean(bound))

    def and_regions(self, summed: float, variance: float, least: float) -> Whole:
        """Weigh in the sum of all regions' noisy sums: unlike a sum of estimates, it leans on no prior."""
        return self._weighed([(self.mean, self.variance), (summed, max(variance, 1.0))], least)

    @classmethod
    def _weighed(cls, known: list[tuple[float, float]], least: float) -> Whole:
        weights = np.array([1 / variance for _, variance in known])
        mean = float(weights @ np.array([value for value, _ in known]) / weights.sum())
        # A town that is there at all has a household.
        return cls(max(mean, least, 1.0), float(1 / weights.sum()))

    def draw(self, count: int, random: np.random.Generator) -> Floats:
        """Draw what the total may be: never negative, with this mean and variance."""
        variance = float(np.log1p(self.variance / self.mean**2))
        return np.asarray(self.mean * random.lognormal(-variance / 2, variance**0.5, count), dtype=np.float64)


def scaled(sums: Floats, totals: Floats | float) -> Floats:
    """Scale sums (..., region) to their totals."""
    by = totals / np.maximum(sums.sum(axis=-1), 1.0)
    return np.asarray(sums * np.asarray(by)[..., None], dtype=np.float64)
