"""From a noisy histogram to a population: a lognormal is fitted, and corrected where the counts say otherwise."""

from __future__ import annotations

import numpy as np

from gridveil.estimate import Floats, Ints
from gridveil.mechanisms.population.histogram import Bins
from gridveil.mechanisms.population.population import DRAWS, Population
from gridveil.privacy.measure import Measure

CENTRES = np.arange(-2.5, 2.51, 0.05)
"""Of the logarithm of the total, from the typical one."""
SPREADS = np.arange(0.1, 1.61, 0.05)
CENTRE_SD, SPREAD, SPREAD_SD = 0.4, 0.8, 0.12
"""The prior of both."""
MISFIT = 0.3
"""How far off a lognormal's count in a bin may be, as a part of it, beside chance."""
SEED = 4


def measure_population(measure: Measure, epsilon: float) -> Population:
    """Count households by window total, with noise that costs `epsilon`, and make the best of it."""
    bins = Bins.of(measure.window, measure.bound)
    measured = measure.household_totals(bins.edges, epsilon)
    return fit_population(bins, measured.values.astype(np.float64), float(measured.scales[0]), epsilon)


def fit_population(bins: Bins, counts: Floats, scale: float, epsilon: float) -> Population:
    """Return the population behind counts with Laplace noise of a scale: the posterior mean and draws around it."""
    shapes = _shapes(bins)
    parts = bins.masses(shapes)
    noise = 2 * scale**2
    numbers, errors, fitness = _numbers(parts, counts, noise)
    chance = np.exp(fitness - fitness.max())
    chance /= chance.sum()
    within = shapes / bins.spread(np.maximum(parts, 1e-300))
    likely = np.flatnonzero(chance > 1e-6 * chance.max())
    kept, _ = _shrunk(numbers[likely, None] * parts[likely], counts, noise)
    mean = chance[likely] @ (bins.spread(kept) * within[likely])
    draws = _draws(numbers, errors, parts, counts, noise, chance)
    number, town = draws
    drawn = bins.spread(town) * within[number]
    return Population(
        households=float(mean.sum()),
        epsilon=epsilon,
        support=bins.support,
        weights=mean / mean.sum(),
        draws_households=drawn.sum(axis=1),
        draws_weights=drawn / drawn.sum(axis=1, keepdims=True),
    )


def _shapes(bins: Bins) -> Floats:
    """Return the masses of every lognormal considered (shape, point)."""
    centre, spread = (axis.reshape(-1, 1) for axis in np.meshgrid(CENTRES, SPREADS, indexing="ij"))
    away = (np.log(bins.support / bins.typical) - centre) / spread
    # Relative to the nearest point: a narrow shape between points, or beside the support, does not vanish.
    masses = np.exp(-0.5 * (away**2 - (away**2).min(axis=1, keepdims=True))) * bins.widths
    return np.asarray(masses / masses.sum(axis=1, keepdims=True), dtype=np.float64)


def _numbers(parts: Floats, counts: Floats, noise: float) -> tuple[Floats, Floats, Floats]:
    """Return for every shape the best number of households, its variance, and the logarithm of the posterior."""
    numbers = np.full(len(parts), max(float(counts.sum()), 1.0))
    for _ in range(3):
        weights = 1 / _variance(numbers[:, None] * parts, noise)
        certainty = (weights * parts**2).sum(axis=1)
        numbers = np.maximum((weights * parts * counts).sum(axis=1) / certainty, 1.0)
    expected = numbers[:, None] * parts
    weights = 1 / _variance(expected, noise)
    misfit = (weights * (counts - expected) ** 2 - np.log(weights)).sum(axis=1)
    centre, spread = (axis.ravel() for axis in np.meshgrid(CENTRES, SPREADS, indexing="ij"))
    prior = (centre / CENTRE_SD) ** 2 + ((spread - SPREAD) / SPREAD_SD) ** 2
    return numbers, 1 / certainty, -0.5 * (misfit + prior)


def _misfit(expected: Floats) -> Floats:
    """Return the variance of a town's count around what a lognormal expects."""
    return np.asarray((MISFIT * expected) ** 2 + expected, dtype=np.float64)


def _variance(expected: Floats, noise: float) -> Floats:
    """Return the variance of a noisy count; at least 1, as counts are whole."""
    return np.asarray(_misfit(expected) + noise + 1, dtype=np.float64)


def _shrunk(expected: Floats, counts: Floats, noise: float) -> tuple[Floats, Floats]:
    """Return the posterior mean and variance of the town's true counts."""
    own = _misfit(expected) + 1e-9
    mean = expected + own / (own + noise) * (counts - expected)
    return np.maximum(mean, 0.05 * expected + 1e-9), own * noise / (own + noise)


def _draws(
    numbers: Floats, errors: Floats, parts: Floats, counts: Floats, noise: float, chance: Floats
) -> tuple[Ints, Floats]:
    """Draw shapes, and with each the true counts of a town (draw, bin): which one is not known any better."""
    random = np.random.default_rng(SEED)
    picked = random.choice(len(chance), DRAWS, p=chance)
    number = numbers[picked] + np.sqrt(errors[picked]) * random.standard_normal(DRAWS)
    mean, variance = _shrunk(np.maximum(number, 1.0)[:, None] * parts[picked], counts, noise)
    variance = variance + 1e-12
    return picked, random.gamma(mean**2 / variance, variance / mean) + 1e-12
