"""The density of households as a smooth field: cosine waves on its logarithm, fitted to noisy sums."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.estimate import Floats, Ints

NEWTON_STEPS = 15
CLOSE_ENOUGH = 1e-2
LEVEL_DEVIATION = 3.0
"""Prior standard deviation of the field's mean: next to nothing is known."""


@dataclass(frozen=True)
class Waves:
    """Cosine waves along both axes, with mean square 1: at cells, and their means over regions (region, wave).

    `frequency`: half-waves over the longer side of the grid.
    """

    x: Floats
    y: Floats
    regions: Floats
    frequency: Floats

    @classmethod
    def of(cls, region_x: Ints, region_y: Ints, most: int) -> Waves:
        """Return as many waves as regions tell apart, but at most `most` along an axis; `region_x` is of each cell."""
        x, y = (_cosines(len(region), min(int(region[-1]) + 1, most)) for region in (region_x, region_y))
        means_x, means_y = _means(x, region_x), _means(y, region_y)
        longer = max(len(x), len(y))
        across = np.arange(x.shape[1])[:, None] * longer / len(x)
        along = np.arange(y.shape[1])[None, :] * longer / len(y)
        regions = np.asarray(np.kron(means_x, means_y), dtype=np.float64)
        return cls(x, y, regions, np.hypot(across, along).ravel())

    def at_cells(self, coefficients: Floats) -> Floats:
        """Return the field (..., x, y) of coefficients (..., wave)."""
        each = coefficients.reshape(*coefficients.shape[:-1], self.x.shape[1], self.y.shape[1])
        return np.asarray(self.x @ each @ self.y.T, dtype=np.float64)

    def prior(self, size: float, falling: float) -> Floats:
        """Return the prior standard deviations of coefficients: `size / frequency**falling`."""
        return np.where(self.frequency > 0, size * np.maximum(self.frequency, 1.0) ** -falling, LEVEL_DEVIATION)


@dataclass(frozen=True)
class Evidence:
    """The log-probability of what was measured in each region, as a function of the logarithm of its rate.

    value, slope, bend (rate, region): the function, its first derivative and its negative second one.
    """

    log_rates: Floats
    value: Floats
    slope: Floats
    bend: Floats

    @classmethod
    def of(cls, log_rates: Floats, value: Floats) -> Evidence:
        """Tabulate the derivatives. A negative curvature (of an outlier) is taken for none."""
        slope = np.gradient(value, log_rates, axis=0)
        return cls(log_rates, value, slope, np.maximum(-np.gradient(slope, log_rates, axis=0), 0.0))

    def at(self, logs: Floats) -> tuple[float, Floats, Floats]:
        """Return the sum of values, and slopes and bends of all regions."""
        left = np.clip(np.searchsorted(self.log_rates, logs) - 1, 0, len(self.log_rates) - 2)
        gap = self.log_rates[left + 1] - self.log_rates[left]
        part = np.clip((logs - self.log_rates[left]) / gap, 0.0, 1.0)
        which = np.arange(len(logs))
        v0, v1 = self.value[left, which], self.value[left + 1, which]
        s0, s1 = self.slope[left, which], self.slope[left + 1, which]
        b0, b1 = self.bend[left, which], self.bend[left + 1, which]
        beyond = logs - np.clip(logs, self.log_rates[0], self.log_rates[-1])
        # A cubic through values and slopes; beyond the table a steep fall keeps the field from leaving it upwards.
        cubic = (2 * part**3 - 3 * part**2 + 1) * v0 + (3 * part**2 - 2 * part**3) * v1
        cubic += gap * ((part**3 - 2 * part**2 + part) * s0 + (part**3 - part**2) * s1)
        above = np.maximum(beyond, 0.0)
        slope = (1 - part) * s0 + part * s1 - 2 * above
        slope = np.where(beyond < 0, 0.0, slope)
        bend = np.where(beyond < 0, 0.0, (1 - part) * b0 + part * b1 + 2 * (above > 0))
        return float(cubic.sum() - (above**2).sum()), slope, bend


@dataclass(frozen=True)
class Level:
    """What is known of the logarithm of the whole map's rate: a mean and a variance."""

    log: float
    variance: float


@dataclass(frozen=True)
class Fit:
    """The likeliest coefficients, the inverse of their covariance (its Cholesky factor), and the log-evidence."""

    coefficients: Floats
    factor: Floats
    evidence: float

    def draw(self, count: int, random: np.random.Generator) -> Floats:
        """Return coefficients that may be true as well (draw, wave)."""
        normal = random.standard_normal((len(self.coefficients), count))
        return self.coefficients + np.linalg.solve(self.factor.T, normal).T


def fit(waves: Waves, prior: Floats, evidence: Evidence, offsets: Floats, level: Level, start: Floats) -> Fit:
    """Return the field that explains the evidence best, by Newton's method with halved steps.

    offsets: logarithm of the cells in each region, which its rate is in proportion to.
    """
    at = start
    value, gradient, hessian = _objective(waves, prior, evidence, offsets, level, at)
    for _ in range(NEWTON_STEPS):
        step = np.linalg.solve(hessian, gradient)
        promise = float(gradient @ step)
        if promise < CLOSE_ENOUGH:
            break
        for halving in range(8):
            trial = _objective(waves, prior, evidence, offsets, level, at + step / 2**halving)
            if trial[0] > value:
                break
        else:
            break
        at, (value, gradient, hessian) = at + step / 2**halving, trial
    factor = np.asarray(np.linalg.cholesky(hessian), dtype=np.float64)
    volume = float(np.log(np.diag(factor)).sum() + np.log(prior).sum())
    return Fit(at, factor, value - volume)


def _objective(
    waves: Waves, prior: Floats, evidence: Evidence, offsets: Floats, level: Level, at: Floats
) -> tuple[float, Floats, Floats]:
    """Return the log-posterior, its gradient, and the negative of its second derivatives."""
    logs = waves.regions @ at + offsets
    value, slope, bend = evidence.at(logs)
    highest = logs.max()
    rates = np.exp(logs - highest)
    missing = level.log - highest - np.log(rates.sum())
    share = waves.regions.T @ (rates / rates.sum())
    value += -0.5 * missing**2 / level.variance - 0.5 * float(((at / prior) ** 2).sum())
    gradient = waves.regions.T @ slope + share * (missing / level.variance) - at / prior**2
    hessian = (waves.regions.T * bend) @ waves.regions + np.outer(share, share) / level.variance
    return value, gradient, hessian + np.diag(prior**-2)


def _cosines(cells: int, count: int) -> Floats:
    waves = np.cos(np.pi * np.outer(np.arange(cells) + 0.5, np.arange(count)) / cells)
    return np.asarray(waves / np.sqrt((waves**2).mean(axis=0)), dtype=np.float64)


def _means(waves: Floats, region: Ints) -> Floats:
    summed = np.add.reduceat(waves, np.searchsorted(region, np.arange(region[-1] + 1)), axis=0)
    return np.asarray(summed / np.bincount(region)[:, None], dtype=np.float64)
