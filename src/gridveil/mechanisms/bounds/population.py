"""The distribution of households' window totals, and its fit to a noisy histogram."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gridveil.mechanisms.bounds.histogram import Bins, Shapes
from gridveil.model.arrays import Floats, Ints
from gridveil.trusted.kernel.session import Session

# The distribution: number of households, probabilities of totals, and posterior draws of both.

DRAWS = 200


@dataclass(frozen=True)
class TotalsDistribution:
    """The households of a town by window total, Wh: made from a noisy histogram and public numbers alone.

    households: fitted number.
    epsilon: what the histogram cost.
    support, weights: window totals, increasing, and their probabilities.
    draws_households, draws_weights: what number and probabilities may be as well, one row a draw.
    """

    households: float
    epsilon: float
    support: Floats
    weights: Floats
    draws_households: Floats
    draws_weights: Floats

    def quantile(self, q: float) -> float:
        """Return the least total that a part `q` of the households does not exceed."""
        at = int(np.searchsorted(np.cumsum(self.weights), q))
        return float(self.support[min(at, len(self.support) - 1)])

    def mean(self, bound: float = math.inf) -> float:
        """Return the mean of the totals, each cut at the bound."""
        return float(self.weights @ np.minimum(self.support, bound))

    def second(self, bound: float = math.inf) -> float:
        """Return the mean of the squared totals, each cut at the bound."""
        return float(self.weights @ np.minimum(self.support, bound) ** 2)

    def debias(self, bound: float) -> float:
        """Return how many times larger the sum of all totals is than the sum of all bounded ones."""
        return self.mean() / self.mean(bound)

    def debias_draws(self, bound: float) -> Floats:
        """Return what `debias` may be as well, one number a draw."""
        whole = self.draws_weights @ self.support
        return np.asarray(whole / (self.draws_weights @ np.minimum(self.support, bound)), dtype=np.float64)


# The fit: candidate shapes are weighted by the noisy counts, and corrected where counts disagree.

MISFITS, CHANCES = (0.3, 1.0), (0.9, 0.1)
"""How far off a shape's count in a bin may be, as a part of it, beside chance; and how likely either is."""
SLOPE, STEEPEST = 3.5, 4.0
"""How steeply the density within a bin may rise or fall beside the shape's, per misfit and logarithm of the total; and
the most that its logarithm changes from edge to edge (in one deviation)."""
MAX_DEVIATIONS = 5.0
"""How many deviations off a shape a count is believed as it stands: 7 scales of the noise, once in 1200."""
HEAVY_FACTOR = 5.0
"""How many times likelier a heavy kind is held in the draws than in the estimate (2 %, see `HEAVY_CHANCE`): 10 %."""
SEED = 4
TINY = 1e-12


def measure_population(measure: Session, epsilon: float) -> TotalsDistribution:
    """Count households by window total, with noise that costs `epsilon`, and make the best of it."""
    bins = Bins.of(measure.window, measure.bound)
    measured = measure.household_totals(bins.edges, epsilon)
    return fit_population(bins, measured.values.astype(np.float64), float(measured.scales[0]), epsilon)


def fit_population(bins: Bins, counts: Floats, scale: float, epsilon: float) -> TotalsDistribution:
    """Return the population behind counts with Laplace noise of a scale: the posterior mean, and draws around it.

    The model: a town's count in a bin is around what one of the shapes expects (see `_compute_town_variance`), measured
    with noise. Draws are of this town's counts, and of where in its bin a count is, not of where its households may
    have come
    from: that a town has a heavy user more or less than expected is in them.

    Few businesses, or few homes heated by electricity, are hidden by noise and may use as much as all others. Where
    they cannot be seen, the estimate leaves them out and the draws have them in one town of ten: these have a long
    upper tail, yet fewer than 95 of 100 such towns are within 95 % of the draws.
    """
    shapes, noise = Shapes.of(bins), 2 * scale**2
    fits = _fit(shapes, counts, noise)
    likely = np.flatnonzero(fits.chances > 1e-5 * fits.chances.max())
    kept, _ = _compute_posterior(fits.expect_counts(shapes, likely), fits.misfits[likely], counts, noise)
    mean = fits.chances[likely] @ _spread_in_bins(bins, shapes.points(fits.shapes[likely]), kept)
    drawn = _draw(bins, shapes, fits, counts, noise)
    numbers = drawn.sum(axis=1, keepdims=True)
    return TotalsDistribution(
        float(mean.sum()), epsilon, bins.support, mean / mean.sum(), numbers[:, 0], drawn / numbers
    )


@dataclass(frozen=True)
class _Fits:
    """Of every shape with every misfit: the number of households, the variance of that, and the posterior chance."""

    shapes: Ints
    misfits: Floats
    numbers: Floats
    variances: Floats
    chances: Floats

    def expect_counts(self, shapes: Shapes, picked: Ints, off: Floats | float = 0.0) -> Floats:
        """Return the counts that some of the fits expect (picked, bin), with numbers so many deviations off."""
        numbers = np.maximum(self.numbers[picked] + off * np.sqrt(self.variances[picked]), 1.0)
        return np.asarray(numbers[:, None] * shapes.parts[self.shapes[picked]], dtype=np.float64)


def _fit(shapes: Shapes, counts: Floats, noise: float) -> _Fits:
    """Fit the number of households to every shape by weighted least squares, and weigh the shapes."""
    which = np.tile(np.arange(len(shapes.parts)), len(MISFITS))
    misfits, chances = (np.repeat(each, len(shapes.parts)) for each in (MISFITS, CHANCES))
    parts = shapes.parts[which]
    numbers = np.full(len(parts), max(float(counts.sum()), 1.0))
    for _ in range(4):
        # One more than the noise and the town's own: counts are whole.
        variance = _compute_town_variance(numbers[:, None] * parts, misfits) + noise + 1
        weighted = parts / variance
        certainty = (weighted * parts).sum(axis=1)
        numbers = np.maximum(weighted @ counts / certainty, 1.0)
    misfit = ((counts - numbers[:, None] * parts) ** 2 / variance + np.log(variance)).sum(axis=1)
    fitness = shapes.prior[which] + np.log(chances) - 0.5 * misfit
    posterior = np.exp(fitness - fitness.max())
    return _Fits(which, misfits, numbers, 1 / certainty, posterior / posterior.sum())


def _compute_town_variance(expected: Floats, misfits: Floats) -> Floats:
    """Return the variance of a town's count around what a shape expects: chance, and that no shape is quite right."""
    return np.asarray((misfits[:, None] * expected) ** 2 + expected, dtype=np.float64)


def _compute_posterior(expected: Floats, misfits: Floats, counts: Floats, noise: float) -> tuple[Floats, Floats]:
    """Return mean and variance of the town's true counts, given a shape and the noisy counts."""
    own = _compute_town_variance(expected, misfits) + TINY
    away, trust = counts - expected, own / (own + noise)
    plain = np.abs(away) > MAX_DEVIATIONS * np.sqrt(own + noise + 1)
    mean = np.where(plain, counts, expected + trust * away)
    return np.maximum(mean, 0.05 * expected + TINY), np.where(plain, noise, trust * noise) + TINY


def _draw(bins: Bins, shapes: Shapes, fits: _Fits, counts: Floats, noise: float) -> Floats:
    """Draw shapes, with each the true counts of a town, and how these are spread in their bins (draw, point)."""
    random = np.random.default_rng(SEED)
    chances = np.where(shapes.heavy[fits.shapes], HEAVY_FACTOR, 1.0) * fits.chances
    picked = random.choice(len(chances), DRAWS, p=chances / chances.sum())
    misfits = fits.misfits[picked]
    mean, variance = _compute_posterior(
        fits.expect_counts(shapes, picked, random.standard_normal(DRAWS)), misfits, counts, noise
    )
    towns = random.gamma(mean**2 / variance, variance / mean) + TINY
    # A bin's few households are not evenly in it: 12 / n is the tilt with the variance of the mean of n places.
    steepness = (SLOPE * misfits[:, None] * bins.masses(bins.widths)) ** 2 + 12 / towns
    tilts = np.minimum(np.sqrt(steepness), STEEPEST) * random.standard_normal(towns.shape)
    return _spread_in_bins(bins, shapes.points(fits.shapes[picked]) * np.exp(bins.spread(tilts) * bins.places), towns)


def _spread_in_bins(bins: Bins, points: Floats, counts: Floats) -> Floats:
    """Return counts in bins (draw, bin) at their points (draw, point), in proportion to masses there."""
    # Where a shape has nothing, all of a bin's points are alike.
    points = points + 1e-300
    return np.asarray(points * bins.spread(counts / bins.masses(points)), dtype=np.float64)
