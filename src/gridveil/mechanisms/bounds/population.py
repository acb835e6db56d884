"""The distribution of households' window totals: its bins and shapes, and its fit to a noisy histogram."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gridveil.model.arrays import Floats, Ints
from gridveil.model.window import Window
from gridveil.trusted.budget import Bound
from gridveil.trusted.kernel.session import Session

# The bins of the histogram of window totals, and the shapes that a distribution over them may have.

# The bins in which households are counted by window total, and what counting them may cost.

RATIO = 1.5
"""Of a bin's edges. Finer bins would show more of the shape, but each has its own noise: what matters is their sum."""
WIDE_RATIOS, WIDE_FROM = 3, 6.0
"""From so many times the typical total on, one bin stands for this many ratios: few households are there, and a few of
them matter, so that there must be little noise."""
POINTS = 18
"""Points of the support in a ratio: a step of 2 % in the total."""
RATIOS_BELOW, MAX_RATIOS = 8, 40
"""How many ratios the first bin's points go down, and how many ratios there are at most."""
FIRST_EDGE, TYPICAL_USE = 100.0, 400.0
"""Wh in an hour: the first edge, and the middle of the prior (a household in Great Britain uses 300 to 450)."""
LARGEST_EPSILON = 100.0
"""At which the histogram is exact for all purposes (discrete noise that is not 0 once in 1e43)."""


def histogram_epsilon(epsilon: float) -> float:
    """Return the part of a budget for the histogram: a tenth up to epsilon 1, then falling to a fiftieth.

    >>> histogram_epsilon(1.0), histogram_epsilon(30.0)
    (0.1, 0.6)
    """
    return min(epsilon * min(max(0.1 / math.sqrt(epsilon), 0.02), 0.1), LARGEST_EPSILON)


@dataclass(frozen=True)
class Bins:
    """Edges of the bins, Wh (the first is 0, the last bin is open), and the points of the support in each.

    edges: as the kernel takes them.
    support: window totals in the bins, increasing, Wh.
    widths: how much of the logarithm of the total each point stands for.
    first: index of each bin's first point.
    typical: the middle of the prior, Wh.
    """

    edges: Ints
    support: Floats
    widths: Floats
    first: Ints
    typical: float

    @classmethod
    def of(cls, window: Window, bound: Bound) -> Bins:
        """Return the bins for a window: by hours, not steps, and up to the most that the step bound lets through."""
        hours = window.steps * (window.step / timedelta(hours=1))
        cap = float(bound.step) * window.steps  # also where a window bound is given: what it cuts must be known
        # With a low cap (or a toy town) the bins go down with it, so that there are always some below it.
        first, typical = min(FIRST_EDGE * hours, cap / RATIO**5), min(TYPICAL_USE * hours, cap / RATIO**3)
        rising = first * RATIO ** np.arange(MAX_RATIOS)
        far = rising >= WIDE_FROM * typical
        rising = np.append(rising[~far], rising[far][::WIDE_RATIOS])
        edges = np.unique(np.append(0, np.rint(rising[rising < cap]))).astype(np.int64)
        lows = np.append(first / RATIO**RATIOS_BELOW, edges[1:])
        highs = np.append(edges[1:], max(cap, edges[-1] + 1.0))
        counts = np.ceil(POINTS * np.log(highs / lows) / math.log(RATIO)).astype(np.int64)
        starts = np.append(0, np.cumsum(counts)[:-1])
        shares = (np.arange(counts.sum()) - np.repeat(starts, counts) + 0.5) / np.repeat(counts, counts)
        spans = np.repeat(np.log(highs / lows), counts)
        support = np.repeat(lows, counts) * np.exp(shares * spans)
        return cls(edges, support, spans / np.repeat(counts, counts), starts, typical)

    def masses(self, points: Floats) -> Floats:
        """Return the sums of the points' masses (..., point) in each bin (..., bin)."""
        return np.add.reduceat(points, self.first, axis=-1)

    def spread(self, bins: Floats) -> Floats:
        """Return each bin's number (..., bin) at all of its points (..., point)."""
        return np.repeat(bins, self._sizes, axis=-1)

    @property
    def places(self) -> Floats:
        """Where each point is in its bin: from -1/2 at the low edge to 1/2 at the high one."""
        within = np.arange(len(self.support)) - np.repeat(self.first, self._sizes) + 0.5
        return np.asarray(within / np.repeat(self._sizes, self._sizes) - 0.5, dtype=np.float64)

    @property
    def _sizes(self) -> Ints:
        return np.diff(np.append(self.first, len(self.support)))


# The distributions of window totals that are considered, each with its prior: lognormals, and mixtures of two.

CENTRE_SD, SPREAD, SPREAD_SD = 0.4, 0.8, 0.12
"""Prior of the logarithm of a total, from the typical one: where its centre is, and how far it spreads."""
UNUSUAL_CHANCE, UNUSUAL_WIDTH = 0.1, 3.0
"""Chance that a town is unlike those the prior was made from, and how many times wider the prior is then."""
HEAVY_CHANCE, IDLE_CHANCE, ALIKE_CHANCE = 0.02, 0.02, 0.002
"""Prior chances of a second kind that uses more (businesses, heating by electricity), of one that uses nothing (empty
homes, solar roofs), and of households that all use the same."""
SHIFTS, SPREADS, SHARES = (1.0, 1.5, 2.0, 2.5, 3.0, 3.5), (0.4, 0.8), (0.01, 0.02, 0.05, 0.1, 0.2, 0.35)
"""Of the heavy kind: logarithm of how many times more it uses, how far that spreads, part of the households."""
IDLE_SHARES = (0.03, 0.1, 0.2, 0.4)
NARROW_SPREAD, ZERO_CENTRE = 0.03, -50.0
"""The spread of households that use the same, and a centre so low that all is at the lowest point of any support."""


@dataclass(frozen=True)
class Shapes:
    """Many distributions of totals, each of a main kind of households and a share of another.

    kinds: the kinds' masses on the points of a support (kind, point).
    main, other, share: of each shape.
    parts: what a shape has in each bin (shape, bin).
    prior: log-priors.
    heavy: whether the other kind is one that uses more.
    """

    kinds: Floats
    main: Ints
    other: Ints
    share: Floats
    parts: Floats
    prior: Floats
    heavy: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, bins: Bins) -> Shapes:
        """Return all shapes for these bins."""
        families = (_make_single_family(), _make_alike_family(), _make_idle_family(), _make_heavy_family())
        centre, spread, other_centre, other_spread, share, prior = (
            np.concatenate(each) for each in zip(*families, strict=True)
        )
        pairs = np.stack([np.append(centre, other_centre), np.append(spread, other_spread)])
        different, which = np.unique(pairs, axis=1, return_inverse=True)
        kinds = _compute_lognormals(bins, *different)
        main, other = which.reshape(2, -1)
        in_bins, part = bins.masses(kinds), share[:, None]
        parts = (1 - part) * in_bins[main] + part * in_bins[other]
        return cls(kinds, main, other, share, parts, prior, other_centre > centre)

    def points(self, picked: Ints) -> Floats:
        """Return the masses of some shapes on the points of the support (picked, point)."""
        part = self.share[picked, None]
        return (1 - part) * self.kinds[self.main[picked]] + part * self.kinds[self.other[picked]]


class _Family(NamedTuple):
    """Shapes of one sort: the logarithms of both kinds' totals, the share of the other kind, and log-priors."""

    centre: Floats
    spread: Floats
    other_centre: Floats
    other_spread: Floats
    share: Floats
    prior: Floats


MAIN = np.linspace(-2.4, 2.4, 25), np.array([0.15, 0.4, 0.7, 1.0])
"""Centres and spreads of the main kind in mixtures: coarser than alone, for there are many mixtures."""


def _make_single_family() -> _Family:
    centre, spread = _combine_axes(np.linspace(-2.5, 2.5, 51), np.linspace(0.1, 1.6, 16))
    return _Family(
        centre,
        spread,
        centre,
        spread,
        0 * centre,
        _compute_priors(centre, spread, 1 - HEAVY_CHANCE - IDLE_CHANCE - ALIKE_CHANCE),
    )


def _make_alike_family() -> _Family:
    centre = np.arange(-2.5, 2.5, NARROW_SPREAD)
    spread = np.full(len(centre), NARROW_SPREAD)
    return _Family(centre, spread, centre, spread, 0 * centre, np.full(len(centre), np.log(ALIKE_CHANCE / len(centre))))


def _make_idle_family() -> _Family:
    centre, spread, share = _combine_axes(*MAIN, np.array(IDLE_SHARES))
    return _Family(
        centre,
        spread,
        0 * centre + ZERO_CENTRE,
        0 * centre + NARROW_SPREAD,
        share,
        _compute_priors(centre, spread, IDLE_CHANCE),
    )


def _make_heavy_family() -> _Family:
    centre, spread, shift, other, share = _combine_axes(*MAIN, np.array(SHIFTS), np.array(SPREADS), np.array(SHARES))
    return _Family(centre, spread, centre + shift, other, share, _compute_priors(centre, spread, HEAVY_CHANCE))


def _combine_axes(*axes: Floats) -> list[Floats]:
    """Return all combinations of numbers, one list for each axis."""
    return [np.asarray(axis.ravel(), dtype=np.float64) for axis in np.meshgrid(*axes, indexing="ij")]


def _compute_lognormals(bins: Bins, centre: Floats, spread: Floats) -> Floats:
    """Return the masses of lognormals on the support (kind, point)."""
    away = ((np.log(bins.support / bins.typical) - centre[:, None]) / spread[:, None]) ** 2
    # Relative to the nearest point: a narrow one beside the support does not vanish, it is all at the nearest point.
    masses = np.exp(-0.5 * (away - away.min(axis=1, keepdims=True))) * bins.widths
    return np.asarray(masses / masses.sum(axis=1, keepdims=True), dtype=np.float64)


def _compute_priors(centre: Floats, spread: Floats, chance: float) -> Floats:
    """Return log-priors of a family that sum to its chance."""
    away = (centre / CENTRE_SD) ** 2 + ((spread - SPREAD) / SPREAD_SD) ** 2
    usual, unusual = (np.exp(-0.5 * away / wider**2) for wider in (1.0, UNUSUAL_WIDTH))
    density = (1 - UNUSUAL_CHANCE) * usual / usual.sum() + UNUSUAL_CHANCE * unusual / unusual.sum()
    return np.asarray(np.log(chance * density), dtype=np.float64)


# The distribution of households' window totals, and its fit to a noisy histogram.

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
