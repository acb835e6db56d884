"""Noisy totals: of the whole map, and of cells and steps as marginals, made non-negative."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from gridveil.mechanisms.bounds.population import TotalsDistribution
from gridveil.model.arrays import Floats
from gridveil.trusted.kernel.session import Measurement, Session
from gridveil.uncertainty import Estimate, RegionSums, Replicates

# The bounded total of the whole map, given its noisy measurements.

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


# Two noisy marginals, cells and steps, made non-negative and multiplied: shared by outer and pgm.

# Joint non-negativity: the nearest numbers that are not negative and have a given sum. Post-processing.


def project(values: Floats, totals: Floats | float) -> Floats:
    """Return the nearest point of `{v >= 0, sum v = total}` to each row of values (last axis).

    All numbers are lowered by the same amount and cut at zero. Cutting alone would add to the sum what noise it
    removes below zero (half a Laplace scale a number, where there is nothing but noise): the sum of a large region
    would drown in it. A total that is not positive leaves nothing.

    >>> project(np.array([3.0, 2.0, -1.0]), 4.0)
    array([2.5, 1.5, 0. ])
    """
    wanted = np.asarray(totals, dtype=np.float64)[..., None]
    falling = -np.sort(-values, axis=-1)
    lowered = (np.cumsum(falling, axis=-1) - wanted) / np.arange(1, values.shape[-1] + 1)
    # How many stay above zero: a prefix, and at least one if anything is wanted.
    kept = np.maximum(np.count_nonzero(falling > lowered, axis=-1, keepdims=True), 1)
    by = np.take_along_axis(lowered, kept - 1, axis=-1)
    return np.asarray(np.where(wanted > 0, np.maximum(values - by, 0.0), 0.0), dtype=np.float64)


# Two noisy marginals, cells and steps, and the product of what is fitted to them: shared by outer and pgm.

REPLICATES = 40

Share = Annotated[float, Field(gt=0, lt=1)]


@dataclass(frozen=True)
class Marginals:
    """Noisy sums of every cell (..., cell) and of every step (..., step), Wh, with the Laplace scale of each kind."""

    cells: Floats
    steps: Floats
    cell_scale: float
    step_scale: float

    def total(self) -> Floats:
        """Return the sum of everything: both sums, weighted by how little noise each has."""
        of_cells = 1 / (self.cells.shape[-1] * self.cell_scale**2)
        of_steps = 1 / (self.steps.shape[-1] * self.step_scale**2)
        summed = of_cells * self.cells.sum(axis=-1) + of_steps * self.steps.sum(axis=-1)
        return np.asarray(summed / (of_cells + of_steps), dtype=np.float64)

    def total_sd(self) -> float:
        """Return the standard deviation of the noise in `total`."""
        of_cells = 1 / (self.cells.shape[-1] * self.cell_scale**2)
        of_steps = 1 / (self.steps.shape[-1] * self.step_scale**2)
        return float((2 / (of_cells + of_steps)) ** 0.5)

    def redraw(self, cells: Floats, steps: Floats, seed: int) -> Marginals:
        """Return what might as well have been measured if the truth were `cells` and `steps`, many times."""
        random = np.random.default_rng(seed)
        return Marginals(
            cells + random.laplace(0.0, self.cell_scale, (REPLICATES, cells.size)),
            steps + random.laplace(0.0, self.step_scale, (REPLICATES, steps.size)),
            self.cell_scale,
            self.step_scale,
        )


Fit = Callable[[Marginals], tuple[Floats, Floats]]
"""Cells and steps that are not negative and have the same sum, from noisy ones; works on all leading axes at once."""


def compute_even_share(cells: int, steps: int) -> float:
    """Return the part of the budget for cells that makes the noise of both marginals together least.

    The cells' noise has the summed variance `cells / share^2`, the steps' `steps / (1 - share)^2` (in the same unit):
    the best shares are as the cube roots of the numbers.

    >>> round(compute_even_share(32 * 32, 120), 3)
    0.671
    """
    return 1 / (1 + math.cbrt(steps / cells))


def measure_marginals(measure: Session, share: float | None) -> Marginals:
    """Measure cells with `share` of the budget (by default `compute_even_share`), and steps with the rest.

    Each kind is a partition of the cube, so a household's window bound is all that either can see of it.
    """
    nx, ny, steps = measure.grid.nx, measure.grid.ny, measure.window.steps
    epsilon = measure.epsilon * (compute_even_share(nx * ny, steps) if share is None else share)
    of_cells = measure.sums(np.arange(nx * ny).reshape(nx, ny, 1), epsilon)
    of_steps = measure.sums(np.arange(steps).reshape(1, 1, steps), measure.epsilon - epsilon)
    return Marginals(
        of_cells.values.astype(np.float64),
        of_steps.values.astype(np.float64),
        float(of_cells.scales[0]),
        float(of_steps.scales[0]),
    )


def make_product_estimate(measured: Marginals, shape: tuple[int, int, int], fit: Fit, seed: int) -> Estimate:
    """Return the product of fitted cells and steps, with error bars from fitting again to redrawn noise.

    The error bars hold the noise and what fitting makes of it, not that the cube may be no product.
    """
    cells, steps = fit(measured)
    again, times = fit(measured.redraw(cells, steps, seed))
    values = cells.reshape(*shape[:2], 1) * _normalise(steps)
    each = np.arange(measured.cells.size).reshape(shape[:2])
    sums = RegionSums(each, measured.cells, measured.cell_scale)
    return Estimate(values, Replicates(again.reshape(-1, *shape[:2]), _normalise(times), sums))


def _normalise(steps: Floats) -> Floats:
    """Return each step's part of the sum; equal parts of nothing."""
    total = steps.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(total > 0, steps / np.where(total > 0, total, 1.0), 1 / steps.shape[-1]))
