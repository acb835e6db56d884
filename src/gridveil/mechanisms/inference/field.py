"""The density of households as a smooth field, fitted to noisy sums by L-BFGS."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gridveil.model.arrays import Floats, Ints

# Minimisation of a smooth function without constraints: L-BFGS (Nocedal and Wright, Algorithm 7.5).
#
# Not scipy's: scipy is no dependency of the package, and another line search would change what `hdmm` publishes.

Function = Callable[[Floats], tuple[float, Floats]]
"""Returns value and gradient at a point."""

MEMORY = 20
FIRST_STEP = 0.1
ARMIJO = 1e-4
MIN_STEP = 1e-10
MIN_CURVATURE = 1e-12


def minimise(function: Function, start: Floats, *, tolerance: float = 1e-6, max_steps: int = 500) -> Floats:
    """Return a point near a local minimum: it stops when a step lowers the value by less than the tolerance, relative.

    >>> minimise(lambda x: (float(1 + ((x - 3) ** 2).sum()), 2 * (x - 3)), np.zeros(2), tolerance=1e-12).round(6)
    array([3., 3.])
    """
    point = start
    value, gradient = function(point)
    memory: deque[tuple[Floats, Floats]] = deque(maxlen=MEMORY)
    for _ in range(max_steps):
        direction = -_apply_inverse_hessian(gradient, memory)
        slope, step = float(np.vdot(gradient, direction)), 1.0
        after, gradient_after = function(point + direction)
        while after > value + ARMIJO * step * slope and step > MIN_STEP:
            step /= 2
            after, gradient_after = function(point + step * direction)
        if not after < value:
            return point
        moved, turned = step * direction, gradient_after - gradient
        if np.vdot(moved, turned) > MIN_CURVATURE * np.linalg.norm(moved) * np.linalg.norm(turned):
            memory.append((moved, turned))
        done = value - after < tolerance * abs(value)
        point, value, gradient = point + moved, after, gradient_after
        if done:
            break
    return point


def _apply_inverse_hessian(gradient: Floats, memory: deque[tuple[Floats, Floats]]) -> Floats:
    """Return the gradient times an estimate of the inverse Hessian, from the last moves and turns of the gradient."""
    if not memory:
        return gradient * (FIRST_STEP / max(float(np.abs(gradient).max()), np.finfo(np.float64).tiny))
    result, shares = gradient.copy(), []
    for moved, turned in reversed(memory):
        share = np.vdot(moved, result) / np.vdot(moved, turned)
        result -= share * turned
        shares.append(share)
    moved, turned = memory[-1]
    result *= np.vdot(moved, turned) / np.vdot(turned, turned)
    for (moved, turned), share in zip(memory, reversed(shares), strict=True):
        result += moved * (share - np.vdot(turned, result) / np.vdot(moved, turned))
    return result


NEWTON_STEPS = 15
NEWTON_TOLERANCE = 0.05
HALVINGS = 8
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
        """Return up to `most` waves along an axis; `region_x` is of each cell.

        They may be finer than regions: nothing is learnt of those, but draws need them.
        """
        x, y = (_make_cosines(len(region), min(len(region), most)) for region in (region_x, region_y))
        means_x, means_y = _average_regions(x, region_x), _average_regions(y, region_y)
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
        value = np.ascontiguousarray(value)
        slope = np.gradient(value, log_rates, axis=0)
        return cls(log_rates, value, slope, np.maximum(-np.gradient(slope, log_rates, axis=0), 0.0))

    def at(self, logs: Floats) -> tuple[float, Floats, Floats]:
        """Return the sum of values, and slopes and bends of all regions."""
        inside = np.clip(logs, self.log_rates[0], self.log_rates[-1])
        left = np.clip(np.searchsorted(self.log_rates, inside) - 1, 0, len(self.log_rates) - 2)
        gap = self.log_rates[left + 1] - self.log_rates[left]
        part = (inside - self.log_rates[left]) / gap
        first = left * len(logs) + np.arange(len(logs))
        value, slope, bend = (
            (table.ravel()[first], table.ravel()[first + len(logs)]) for table in (self.value, self.slope, self.bend)
        )
        # A cubic through values and slopes. Above the table a steep fall keeps the field from leaving it; below, a
        # place is as good as empty, and it does not matter how much.
        smooth = part**2 * (3 - 2 * part)
        cubic = (1 - smooth) * value[0] + smooth * value[1]
        cubic += gap * part * (1 - part) * ((1 - part) * slope[0] - part * slope[1])
        above = np.maximum(logs - inside, 0.0)
        slopes = np.where(logs < inside, 0.0, (1 - part) * slope[0] + part * slope[1] - 2 * above)
        bends = np.where(logs < inside, 0.0, (1 - part) * bend[0] + part * bend[1] + 2 * (above > 0))
        return float(cubic.sum() - (above**2).sum()), slopes, bends


@dataclass(frozen=True)
class FieldLevel:
    """What is known of the logarithm of the whole map's rate: a mean and a variance."""

    log: float
    variance: float


@dataclass(frozen=True)
class Fit:
    """The likeliest coefficients, the inverse of their covariance (its Cholesky factor), and the log-evidence."""

    coefficients: Floats
    factor: Floats
    evidence: float

    def variances(self, rows: Floats) -> Floats:
        """Return the variance of each linear combination of coefficients."""
        return np.asarray((np.linalg.solve(self.factor, rows.T) ** 2).sum(axis=0), dtype=np.float64)

    def draw(self, count: int, random: np.random.Generator) -> Floats:
        """Return coefficients that may be true as well (draw, wave)."""
        normal = random.standard_normal((len(self.coefficients), count))
        return self.coefficients + np.linalg.solve(self.factor.T, normal).T


def fit_field(
    waves: Waves, prior: Floats, evidence: Evidence, offsets: Floats, level: FieldLevel, start: Floats
) -> Fit:
    """Return the field that explains the evidence best, by Newton's method with halved steps.

    offsets: logarithm of the cells in each region, which its rate is in proportion to.
    """
    here = _Place.of(waves, prior, evidence, offsets, level, start)
    for _ in range(NEWTON_STEPS):
        hessian = here.hessian()
        step = np.linalg.solve(hessian, here.gradient())
        if float(here.gradient() @ step) < NEWTON_TOLERANCE:
            break
        for halving in range(HALVINGS):
            there = _Place.of(waves, prior, evidence, offsets, level, here.at + step / 2**halving)
            if there.value > here.value:
                break
        else:
            break
        here = there
    factor = np.asarray(np.linalg.cholesky(hessian), dtype=np.float64)
    volume = float(np.log(np.diag(factor)).sum() + np.log(prior).sum())
    return Fit(here.at, factor, here.value - volume)


@dataclass(frozen=True)
class _Place:
    """Coefficients, and the log-posterior there."""

    waves: Waves
    prior: Floats
    at: Floats
    value: float
    slopes: Floats
    bends: Floats
    share: Floats
    pull: float
    stiffness: float

    @classmethod
    def of(
        cls, waves: Waves, prior: Floats, evidence: Evidence, offsets: Floats, level: FieldLevel, at: Floats
    ) -> _Place:
        logs = waves.regions @ at + offsets
        value, slopes, bends = evidence.at(logs)
        highest = logs.max()
        rates = np.exp(logs - highest)
        missing = level.log - highest - float(np.log(rates.sum()))
        value -= 0.5 * missing**2 / level.variance + 0.5 * float(((at / prior) ** 2).sum())
        return cls(
            waves, prior, at, value, slopes, bends, rates / rates.sum(), missing / level.variance, 1 / level.variance
        )

    def gradient(self) -> Floats:
        """Return the first derivatives."""
        return self.waves.regions.T @ (self.slopes + self.share * self.pull) - self.at / self.prior**2

    def hessian(self) -> Floats:
        """Return the negative second derivatives, but for a part that is not always positive."""
        regions = self.waves.regions
        share = regions.T @ self.share
        bent = (regions.T * self.bends) @ regions + self.stiffness * np.outer(share, share)
        return np.asarray(bent + np.diag(self.prior**-2), dtype=np.float64)


def _make_cosines(cells: int, count: int) -> Floats:
    waves = np.cos(np.pi * np.outer(np.arange(cells) + 0.5, np.arange(count)) / cells)
    return np.asarray(waves / np.sqrt((waves**2).mean(axis=0)), dtype=np.float64)


def _average_regions(waves: Floats, region: Ints) -> Floats:
    summed = np.add.reduceat(waves, np.searchsorted(region, np.arange(region[-1] + 1)), axis=0)
    return np.asarray(summed / np.bincount(region)[:, None], dtype=np.float64)
