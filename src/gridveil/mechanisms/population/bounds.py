"""Which window bound pays: low bounds need little noise, but cut away what only a factor can put back."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from gridveil.estimate import Floats
from gridveil.mechanisms.population.population import Population

if TYPE_CHECKING:
    from gridveil.privacy.measure import NoiseKind

QUERY = 0.1
"""The part of the map that a typical range query covers."""
CLUSTER = 0.1
"""How far a region's totals may be from everyone's, as a part of them: heavy users live beside heavy users."""
LEAST = 0.3
"""The lowest bound considered is this quantile."""


def noise_variance(noise: NoiseKind, epsilon: float) -> float:
    """Return the variance of the noise of a sum with sensitivity 1.

    The staircase's is that of Geng and Viswanath with the best inner step.
    """
    laplace = 2 / epsilon**2
    if noise == "laplace":
        return laplace
    fall = math.exp(-epsilon)
    stairs = (math.cbrt(fall * (1 + fall) / 2) ** 2 + fall) / math.expm1(-epsilon) ** 2
    return min(laplace, stairs)


def space_bound(population: Population, epsilon: float, noise: NoiseKind, cells: int) -> int:
    """Return the bound, Wh, for the sums of `cells` cells that cost `epsilon` together.

    It makes the expected squared error of a range query least: noise of its cells, households that a common factor
    does not put back right, and regions of heavy users.
    """
    return _best(population, cells * noise_variance(noise, epsilon) / QUERY)


def time_bound(population: Population, epsilon: float, noise: NoiseKind, steps: int) -> int:
    """Return the bound, Wh, for the sums of all households in each of `steps` steps that cost `epsilon` together."""
    return _best(population, steps * noise_variance(noise, epsilon) / QUERY)


def _best(population: Population, noise: float) -> int:
    """Return the bound with the least squared relative error; `noise` is the variance at bound 1 of the whole map."""
    bounds = population.support[population.support >= population.quantile(LEAST)]
    errors = [_error(population, bound, noise) for bound in bounds]
    return max(1, round(float(bounds[int(np.argmin(errors))])))


def _error(population: Population, bound: float, noise: float) -> float:
    """Return the squared relative error of a typical range query under a bound."""
    support, weights, whole = population.support, population.weights, population.mean()
    kept = np.minimum(support, bound)
    factor = whole / float(weights @ kept)
    left = float(weights @ (support - factor * kept) ** 2)
    follows = float(weights @ np.where(support < bound, support, 0.0)) / float(weights @ kept)
    factors = population.debias_draws(bound)
    total = population.households * whole
    return float(
        (factor * bound / total) ** 2 * noise
        + left * population.households / QUERY / total**2
        + (CLUSTER * (1 - follows)) ** 2
        + _variance(factors) / factor**2
    )


def _variance(values: Floats) -> float:
    return float(values.var())
