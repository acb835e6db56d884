"""From a noisy histogram to a population: shapes are weighed, and corrected where the counts say otherwise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.estimate import Floats, Ints
from gridveil.mechanisms.population.histogram import Bins
from gridveil.mechanisms.population.population import DRAWS, Population
from gridveil.mechanisms.population.shapes import Shapes
from gridveil.privacy.measure import Measure

MISFIT = 0.3
"""How far off a shape's count in a bin may be, as a part of it, beside chance."""
SEED = 4
TINY = 1e-12


def measure_population(measure: Measure, epsilon: float) -> Population:
    """Count households by window total, with noise that costs `epsilon`, and make the best of it."""
    bins = Bins.of(measure.window, measure.bound)
    measured = measure.household_totals(bins.edges, epsilon)
    return fit_population(bins, measured.values.astype(np.float64), float(measured.scales[0]), epsilon)


def fit_population(bins: Bins, counts: Floats, scale: float, epsilon: float) -> Population:
    """Return the population behind counts with Laplace noise of a scale: the posterior mean, and draws around it.

    The model: a town's count in a bin is around what one of the shapes expects (see `_own`), measured with noise.
    Draws are of this town's counts, not of where its households may have come from: that a town has a heavy user
    more or less than expected is in them.
    """
    shapes, noise = Shapes.of(bins), 2 * scale**2
    fits = _fit(shapes, counts, noise)
    likely = np.flatnonzero(fits.chances > 1e-5 * fits.chances.max())
    kept, _ = _posterior(fits.numbers[likely, None] * shapes.parts[likely], counts, noise)
    mean = fits.chances[likely] @ _within(bins, shapes, likely, kept)
    picked, towns = _draw(shapes, fits, counts, noise)
    drawn = _within(bins, shapes, picked, towns)
    numbers = drawn.sum(axis=1, keepdims=True)
    return Population(float(mean.sum()), epsilon, bins.support, mean / mean.sum(), numbers[:, 0], drawn / numbers)


@dataclass(frozen=True)
class _Fits:
    """Of every shape: the number of households, the variance of that, and the shape's posterior chance."""

    numbers: Floats
    variances: Floats
    chances: Floats


def _fit(shapes: Shapes, counts: Floats, noise: float) -> _Fits:
    """Fit the number of households to every shape by weighted least squares, and weigh the shapes."""
    parts = shapes.parts
    numbers = np.full(len(parts), max(float(counts.sum()), 1.0))
    for _ in range(4):
        # One more than the noise and the town's own: counts are whole.
        variance = _own(numbers[:, None] * parts) + noise + 1
        certainty = (parts**2 / variance).sum(axis=1)
        numbers = np.maximum((parts / variance * counts).sum(axis=1) / certainty, 1.0)
    variance = _own(numbers[:, None] * parts) + noise + 1
    misfit = ((counts - numbers[:, None] * parts) ** 2 / variance + np.log(variance)).sum(axis=1)
    fitness = shapes.prior - 0.5 * misfit
    chances = np.exp(fitness - fitness.max())
    return _Fits(numbers, 1 / certainty, chances / chances.sum())


def _own(expected: Floats) -> Floats:
    """Return the variance of a town's count around what a shape expects: chance, and that no shape is quite right."""
    return np.asarray((MISFIT * expected) ** 2 + expected, dtype=np.float64)


def _posterior(expected: Floats, counts: Floats, noise: float) -> tuple[Floats, Floats]:
    """Return mean and variance of the town's true counts, given a shape and the noisy counts."""
    own = _own(expected) + TINY
    mean = expected + own / (own + noise) * (counts - expected)
    return np.maximum(mean, 0.05 * expected + TINY), own * noise / (own + noise) + TINY


def _draw(shapes: Shapes, fits: _Fits, counts: Floats, noise: float) -> tuple[Ints, Floats]:
    """Draw shapes, and with each the true counts of a town (draw, bin)."""
    random = np.random.default_rng(SEED)
    picked = random.choice(len(fits.chances), DRAWS, p=fits.chances)
    spread = np.sqrt(fits.variances[picked]) * random.standard_normal(DRAWS)
    numbers = np.maximum(fits.numbers[picked] + spread, 1.0)
    mean, variance = _posterior(numbers[:, None] * shapes.parts[picked], counts, noise)
    return picked, random.gamma(mean**2 / variance, variance / mean) + TINY


def _within(bins: Bins, shapes: Shapes, picked: Ints, counts: Floats) -> Floats:
    """Return counts in bins (draw, bin) at their points (draw, point), distributed as the picked shapes are."""
    per_part = counts / np.maximum(shapes.parts[picked], 1e-300)
    return np.asarray(shapes.points[picked] * bins.spread(per_part), dtype=np.float64)
