"""The bounded total of the whole map, given its noisy measurements."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.mechanisms.bounds.population import TotalsDistribution
from gridveil.model.arrays import Floats
from gridveil.trusted.kernel.session import Measurement

# The noise of a measurement in bins, fine where its mass changes.

REACH = 20.0
"""Noise whose probability is lower by this log-factor than the likeliest is left out."""
PER_DEVIATION = 4
"""Bins per standard deviation, at least."""
MAX_PER_PIECE = 24
"""Bins a piece of constant probability is cut into, at most."""
LIKE_LAPLACE = 0.1
"""Staircases of a smaller epsilon have hundreds of shells, and are taken for Laplace noise of the same variance: the
probabilities of lying below a value differ by less than 6e-4, a sixth of what the width of Laplace's bins does."""


@dataclass(frozen=True)
class NoiseBins:
    """Noise in bins: `edges` (increasing, symmetric, Wh) and the mean probability of a Wh in each bin.

    >>> laplace = NoiseBins.of(Measurement(np.array([0]), np.array([100.0])))
    >>> round(float(laplace.mass @ np.diff(laplace.edges)), 6), round(laplace.deviation)
    (1.0, 141)
    """

    edges: Floats
    mass: Floats
    deviation: float

    @classmethod
    def of(cls, noisy: Measurement) -> NoiseBins:
        """Return the bins of a measurement, whose noise is the same on all its answers."""
        scale = float(noisy.scales.flat[0])
        deviation = max(2**0.5 * scale, 1e-3)
        staircase = noisy.staircase
        if staircase is None or staircase.epsilon < LIKE_LAPLACE:
            scale = deviation / 2**0.5
            far = np.concatenate([np.arange(0, 6, 0.25), np.arange(6, 12, 0.5), np.arange(12, REACH + 1)])
            half, mass = scale * far, (np.exp(-far[:-1]) - np.exp(-far[1:])) / np.diff(far) / (2 * scale)
        else:
            shells = staircase.inner - 0.5 + staircase.delta * np.arange(np.ceil(REACH / staircase.epsilon) + 1)
            half = _split_pieces(np.concatenate([[0.0], shells]), deviation / PER_DEVIATION)
            mass = np.exp(staircase.log_mass(np.floor((half[:-1] + half[1:]) / 2).astype(np.int64)))
        return cls(np.concatenate([-half[:0:-1], half]), np.concatenate([mass[::-1], mass]), deviation)

    def at(self, noise: Floats) -> Floats:
        """Return the probability of a Wh of noise, none beyond the bins."""
        inside = np.searchsorted(self.edges, noise, side="right") - 1
        known = (inside >= 0) & (inside < len(self.mass))
        return np.where(known, self.mass[np.clip(inside, 0, len(self.mass) - 1)], 0.0)


def _split_pieces(edges: Floats, width: float) -> Floats:
    """Cut pieces into equal parts no wider than `width`, if that does not take too many."""
    parts = np.clip(np.ceil(np.diff(edges) / width), 1, MAX_PER_PIECE).astype(np.int64)
    parts[0] = max(parts[0], PER_DEVIATION)
    return np.concatenate([*map(np.linspace, edges[:-1], edges[1:], parts, [False] * len(parts)), edges[-1:]])


# The clipped total of the map, apart from its regions, and how sums are scaled to it.


@dataclass(frozen=True)
class MapTotal:
    """The whole map's total, Wh, and the variance of what is not known of it."""

    mean: float
    variance: float

    @classmethod
    def of(cls, total: tuple[float, float] | None, population: TotalsDistribution, bound: int) -> MapTotal:
        """Weigh the noisy total against the histogram's number of households times their mean, by variance."""
        counted = population.households * population.mean(bound)
        drawn = population.draws_households * (population.draws_weights @ np.minimum(population.support, bound))
        known = [(counted, max(float(drawn.var()), (0.001 * counted) ** 2, 1.0))]
        if total is not None:
            known.append((total[0], max(total[1], 1.0)))
        return cls._combine(known, population.mean(bound))

    def and_regions(self, summed: float, variance: float, least: float) -> MapTotal:
        """Weigh in the sum of all regions' noisy sums: unlike a sum of estimates, it leans on no prior."""
        return self._combine([(self.mean, self.variance), (summed, max(variance, 1.0))], least)

    @classmethod
    def _combine(cls, known: list[tuple[float, float]], least: float) -> MapTotal:
        weights = np.array([1 / variance for _, variance in known])
        mean = float(weights @ np.array([value for value, _ in known]) / weights.sum())
        # A town that is there at all has a household.
        return cls(max(mean, least, 1.0), float(1 / weights.sum()))

    def draw(self, count: int, random: np.random.Generator) -> Floats:
        """Draw what the total may be: never negative, with this mean and variance."""
        variance = float(np.log1p(self.variance / self.mean**2))
        return np.asarray(self.mean * random.lognormal(-variance / 2, variance**0.5, count), dtype=np.float64)


def scale_to_totals(sums: Floats, totals: Floats | float) -> Floats:
    """Scale sums (..., region) to their totals."""
    by = totals / np.maximum(sums.sum(axis=-1), 1.0)
    return np.asarray(sums * np.asarray(by)[..., None], dtype=np.float64)
