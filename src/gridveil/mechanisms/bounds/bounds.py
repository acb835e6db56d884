"""A window bound chosen privately: which bound pays, and the factor that corrects for clipping."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from gridveil.mechanisms.bounds.population import TotalsDistribution, histogram_epsilon, measure_population
from gridveil.mechanisms.inference.totals import compute_even_share
from gridveil.model.arrays import Floats
from gridveil.trusted.budget import Bound
from gridveil.trusted.kernel.session import NoiseKind, Session
from gridveil.uncertainty import Estimate

# The choice of a bound: a low one needs little noise, but clips consumption that only a factor can restore.

QUERY_SHARE = 0.1
"""The part of the map that a typical range query covers."""
UNEVENNESS = 2.0
"""How much more noise counts where cells do not lend strength to each other: empty places keep noise, and relative
errors are large there. (With a coefficient of variation c of the density, (1 + 3c^2) / (1 + c^2): 2 at c = 1.)"""
CLUSTERING = 0.1
"""How far a region's totals may be from everyone's, as a part of them: heavy users live beside heavy users."""
PERIOD_SHARE = 0.5
"""The part of the window that a typical query covers, times how much smoothing in time lessens noise."""
HABIT_SD, SHAPE_SD = 0.35, 0.05
"""How far a household's part of a period strays from everyone's, and how far that of all heavy users together does."""
LOWEST_QUANTILE, HOUSEHOLDS_BEYOND = 0.3, 0.2
"""The lowest bound considered is this quantile: below it the sum hardly depends on how much anyone uses. And how many
households are expected beyond the highest: to pay for fewer would be to pay for the tail of a fit."""


def compute_noise_variance(noise: NoiseKind, epsilon: float) -> float:
    """Return the variance of the noise of a sum with sensitivity 1.

    The staircase's is that of Geng and Viswanath with the best inner step.
    """
    laplace = 2 / epsilon**2
    if noise == "laplace":
        return laplace
    fall = math.exp(-epsilon)
    stairs = (math.cbrt(fall * (1 + fall) / 2) ** 2 + fall) / math.expm1(-epsilon) ** 2
    return min(laplace, stairs)


def choose_space_bound(population: TotalsDistribution, epsilon: float, noise: NoiseKind, cells: int) -> int:
    """Return the bound, Wh, for the sums of `cells` cells that cost `epsilon` together.

    It makes the expected squared relative error of a range query least: its cells' noise, heavy users here and light
    ones there whom one factor for all puts back wrongly, and what is not known about that factor.
    """
    cuts = _ClippingErrors.of(population)
    return cuts.best(_compute_space_noise(noise, epsilon, cells) * cuts.noise + cuts.space(cells))


def choose_common_bound(
    population: TotalsDistribution, epsilon: float, noise: NoiseKind, cells: int, steps: int
) -> int:
    """Return one bound, Wh, for a mechanism that divides `epsilon` between space and time in its own way."""
    cuts, share = _ClippingErrors.of(population), compute_even_share(cells, steps)
    of_space, of_time = (
        _compute_space_noise(noise, share * epsilon, cells),
        _compute_time_noise("laplace", (1 - share) * epsilon, steps),
    )
    return cuts.best((UNEVENNESS * of_space + of_time) * cuts.noise + cuts.space(cells) + cuts.time(steps))


def _compute_space_noise(noise: NoiseKind, epsilon: float, cells: int) -> float:
    """Return the noise variance of a query's sum at bound 1, scaled up to the whole map."""
    return compute_noise_variance(noise, epsilon) * cells / max(QUERY_SHARE, 1 / cells)


def _compute_time_noise(noise: NoiseKind, epsilon: float, steps: int) -> float:
    return compute_noise_variance(noise, epsilon) * steps / max(PERIOD_SHARE, 1 / steps)


@dataclass(frozen=True)
class _ClippingErrors:
    """What each of many bounds does to a population, as squared errors relative to all consumption."""

    bounds: Floats
    noise: Floats
    """Of noise with variance 1 at bound 1, after the factor."""
    left: Floats
    """Of the sum of independent households after the factor."""
    cut: Floats
    """The part of all consumption that is cut away."""
    follows: Floats
    """How many per cent the bounded sum rises when everyone uses one per cent more."""
    factor: Floats
    """Of the factor itself."""

    @classmethod
    def of(cls, population: TotalsDistribution) -> _ClippingErrors:
        """Return what every total of the support would do as a bound."""
        support, weights, mean = population.support, population.weights, population.mean()
        highest = population.quantile(1 - min(HOUSEHOLDS_BEYOND / population.households, 1 - LOWEST_QUANTILE))
        bounds = support[(support >= population.quantile(LOWEST_QUANTILE)) & (support <= highest)]
        kept = np.minimum(support, bounds[:, None])
        bounded = kept @ weights
        factors = mean / bounded
        draws = (population.draws_weights @ support)[:, None] / (population.draws_weights @ kept.T)
        # As wide as two deviations of a normal: a heavy tail that is feared but not seen does not choose the bound.
        width = np.subtract(*np.quantile(draws, (0.84, 0.16), axis=0))
        return cls(
            bounds=bounds,
            noise=(factors * bounds / (population.households * mean)) ** 2,
            left=((support - factors[:, None] * kept) ** 2 @ weights) / (population.households * mean**2),
            cut=1 - 1 / factors,
            follows=np.where(support < bounds[:, None], support, 0.0) @ weights / bounded,
            factor=(width / 2 / factors) ** 2,
        )

    def space(self, cells: int) -> Floats:
        """Return the error of a typical part of the map, besides noise."""
        query = max(QUERY_SHARE, 1 / cells)
        mixed = self.left * (1 / query - 1) + (CLUSTERING * (1 - self.follows)) ** 2 * (1 - query)
        return np.asarray(mixed + self.factor, dtype=np.float64)

    def time(self, steps: int) -> Floats:
        """Return the error of a typical part of the window, besides noise; there is none in a single step."""
        period = max(PERIOD_SHARE, 1 / steps)
        return np.asarray((HABIT_SD**2 * self.left + (SHAPE_SD * self.cut) ** 2) * (1 - period), dtype=np.float64)

    def best(self, errors: Floats) -> int:
        """Return the bound with the least error."""
        return max(1, round(float(self.bounds[int(np.argmin(errors))])))


# A private window bound for any mechanism, and the factor that corrects for clipping.


@dataclass(frozen=True)
class PrivateBound:
    """A bound that was paid for, and the population it was chosen by."""

    bound: Bound
    population: TotalsDistribution


def choose_bound(measure: Session, noise: NoiseKind = "laplace") -> PrivateBound:
    """Measure the histogram of household totals, and choose one bound for all that a mechanism measures with the rest.

    Post-processing of the histogram, which is all that is spent here.
    """
    epsilon = histogram_epsilon(measure.epsilon)
    population = measure_population(measure, epsilon)
    best = choose_common_bound(population, measure.epsilon - epsilon, noise, measure.grid.cells, measure.window.steps)
    return PrivateBound(Bound(measure.bound.step, min(best, measure.bound.window)), population)


def debias_estimate(estimate: Estimate, chosen: PrivateBound) -> Estimate:
    """Return the estimate of consumption behind an estimate of bounded consumption: all of it times a factor.

    Replicates are each multiplied with a factor that may be true as well.
    """
    population, bound, cube = chosen.population, chosen.bound.window, estimate.cube
    factor = population.debias(bound)
    errors = estimate.errors.times(factor, population.debias_draws(bound), cube.shape[2])
    details = {**estimate.details, "debias_factor": factor}
    return replace(estimate, values=cube.times(factor), errors=errors, details=details)
