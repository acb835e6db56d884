"""What is known of the whole map's bounded total apart from its regions, and how sums are made to agree with it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.estimate import Floats
from gridveil.mechanisms.population.population import Population


@dataclass(frozen=True)
class Whole:
    """The whole map's total, Wh, and the variance of what is not known of it."""

    mean: float
    variance: float

    @classmethod
    def of(cls, total: tuple[float, float] | None, population: Population, bound: int) -> Whole:
        """Weigh the noisy total against the histogram's number of households times their mean, by variance."""
        counted = population.households * population.mean(bound)
        drawn = population.draws_households * (population.draws_weights @ np.minimum(population.support, bound))
        known = [(counted, max(float(drawn.var()), (0.001 * counted) ** 2, 1.0))]
        if total is not None:
            known.append((total[0], max(total[1], 1.0)))
        weights = np.array([1 / variance for _, variance in known])
        mean = float(weights @ np.array([value for value, _ in known]) / weights.sum())
        # A town that is there at all has a household.
        return cls(max(mean, population.mean(bound), 1.0), float(1 / weights.sum()))

    def agreed(self, sums: Floats, variance: float, off: Floats | float = 0.0) -> Floats:
        """Scale sums (..., region) so that their total moves towards the whole's, as far as their variance allows.

        off: how far the whole may be off, for each row of sums.
        """
        summed = np.maximum(sums.sum(axis=-1), 1.0)
        wanted = summed + (self.mean + off - summed) * variance / (variance + self.variance)
        return np.asarray(sums * (np.maximum(wanted, 0.0) / summed)[..., None], dtype=np.float64)
