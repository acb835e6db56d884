"""The posterior of single places: their households, given a density and a noisy sum, and the fit of its parameters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gridveil.mechanisms.bounds.population import TotalsDistribution
from gridveil.mechanisms.inference.field import Evidence, FieldLevel, Fit, Waves, fit_field
from gridveil.mechanisms.inference.totals import NoiseBins
from gridveil.model.arrays import Floats, Ints

# The sum of a place, given its rate of households and its noisy sum. Households come in lumps.

STEPS_PER_DEVIATION = 10
MIN_STEPS, MAX_STEPS = 8, 128
"""Of the grid of sums, to a bound."""
MAX_POINTS = 2**15
POOLED_STEPS = 100
"""Steps per deviation of the noise, from twice of which on steps are pooled."""
MIN_RATE = 1e-3
RATE_SPACING = 0.5
"""Distance of two rates, in standard deviations of the number of households."""
MAX_RATES = 96
TILT = 1e-5
"""How far the end of the grid is weighed down, so that what lies beyond does not come round to its start."""
BATCH = 4096
UNKNOWN_MASS = 1e-12
"""Probability of a bound's width where the prior knows nothing: there the measurement decides."""


@dataclass(frozen=True)
class Lumps:
    """How likely each sum is, for a list of rates (rate, sum): a compound negative binomial.

    Households come at a rate (their expected number in a place) that varies from place to place with relative variance
    `clumping`; each adds its bounded total. Sums are multiples of `step` Wh.
    """

    step: float
    log_rates: Floats
    mass: Floats
    least: float

    @classmethod
    def of(cls, population: TotalsDistribution, bound: int, clumping: float, top: float, noise: NoiseBins) -> Lumps:
        """Return the probabilities of sums up to `top` Wh, for rates up to what that would take.

        Finer than the noise can tell is not needed, but a household has to be some steps.
        """
        fine = np.clip(noise.deviation / STEPS_PER_DEVIATION, bound / MAX_STEPS, bound / MIN_STEPS)
        step = float(max(fine, top / MAX_POINTS))
        points = 1 << int(np.ceil(np.log2(top / step + 2)))
        at = np.minimum(population.support, bound) / step
        whole = at.astype(np.int64)
        jump = np.bincount(whole, population.weights * (1 - at + whole), points)
        jump += np.bincount(whole + 1, population.weights * (at - whole), points)
        log_rates = _choose_rates(max(top / max(population.mean(bound), step), 1.0), clumping)
        tilt = TILT ** (np.arange(points) / points)
        wave = 1 - np.fft.rfft(jump * tilt)
        spread = max(clumping, 1e-9)
        characteristic = np.exp(-np.log1p(spread * np.exp(log_rates)[:, None] * wave) / spread)
        mass = np.maximum(np.fft.irfft(characteristic, points) / tilt, 0.0)
        return cls(step, log_rates, mass, UNKNOWN_MASS / bound)

    @cached_property
    def below(self) -> Floats:
        """The probability of a positive sum below each multiple of `step`, less half a step."""
        positive = self.mass.copy()
        positive[:, 0] = 0.0
        return np.cumsum(np.pad(positive, ((0, 0), (1, 2))), axis=1)

    def evidence(self, noisy: Floats, noise: NoiseBins) -> Floats:
        """Return the log-probability of a Wh at each noisy sum, under each rate (rate, sum)."""
        # Noise of many steps is told as well on a coarser grid, and would be endless on the fine one.
        pooled = 1 << max(0, int(np.log2(max(noise.deviation / (POOLED_STEPS * self.step), 1.0))))
        step = self.step * pooled
        reach = int(np.ceil(noise.edges[-1] / step)) + 1
        cumulative = np.concatenate([[0.0], np.cumsum(noise.mass * np.diff(noise.edges))])
        on_grid = np.diff(np.interp((np.arange(2 * reach + 2) - reach - 0.5) * step, noise.edges, cumulative))
        positive = np.diff(self.below[:, : self.mass.shape[1] + 1], axis=1)
        positive = (
            np.pad(positive, ((0, 0), (0, -positive.shape[1] % pooled))).reshape(len(positive), -1, pooled).sum(2)
        )
        points = positive.shape[1]
        length = 1 << (points + len(on_grid)).bit_length()
        waves = np.fft.rfft(positive, length) * np.fft.rfft(on_grid, length)
        both = np.maximum(np.fft.irfft(waves, length)[:, : points + len(on_grid)], 0.0) / step
        # Pooled sums stand for the middle of what was pooled.
        at = np.clip(noisy / step - (pooled - 1) / (2 * pooled) + reach, 0.0, both.shape[1] - 2.0)
        left = at.astype(np.int64)
        something = both[:, left] * (1 - at + left) + both[:, left + 1] * (at - left)
        # That there is nothing needs no grid, and a blurred edge of a staircase would tell on it.
        nothing = self.mass[:, :1] * noise.at(-noisy)
        return np.asarray(np.log(something + nothing + self.least), dtype=np.float64)

    def mean(self, logs: Floats, noisy: Floats, noise: NoiseBins) -> Floats:
        """Return the mean of what each sum may be, given the logarithm of its rate and its noisy value."""
        at = np.interp(logs, self.log_rates, np.arange(len(self.log_rates)))
        left = np.minimum(at.astype(np.int64), len(self.log_rates) - 2)
        weight, mean = np.zeros(len(noisy)), np.zeros(len(noisy))
        for rates, part in ((left, 1 - at + left), (left + 1, at - left)):
            for first in range(0, len(noisy), BATCH):
                some = slice(first, first + BATCH)
                posterior = self.posterior(noisy[some], rates[some], noise)
                weights = part[some] * posterior.weights.sum(axis=1) + np.finfo(np.float64).tiny
                weight[some] += weights
                mean[some] += weights * posterior.mean()
        return mean / weight

    def draw(self, logs: Floats, noisy: Floats, noise: NoiseBins, random: np.random.Generator) -> Floats:
        """Draw what each sum may be, for rates that are drawn too (draw, sum)."""
        at = np.interp(logs, self.log_rates, np.arange(len(self.log_rates)))
        rates = np.minimum((at + random.random(at.shape)).astype(np.int64), len(self.log_rates) - 1)
        drawn = np.empty(rates.shape)
        # Few rates occur in a place, so what depends on a place and a rate is calculated once; places in batches.
        for first in range(0, len(noisy), BATCH):
            some = slice(first, first + BATCH)
            count = len(noisy[some])
            pairs, back = np.unique(rates[:, some] * count + np.arange(count), return_inverse=True)
            posterior = self.posterior(noisy[some][pairs % count], pairs // count, noise)
            drawn[:, some] = posterior.draw(back.ravel(), random.random(back.size)).reshape(-1, count)
        return drawn

    def posterior(self, noisy: Floats, rates: Ints, noise: NoiseBins) -> CellPosterior:
        """Return what each sum may be, given its noisy value and the number of its rate."""
        edges = np.maximum(noisy[:, None] + noise.edges, 0.0)
        at = np.minimum(edges / self.step + 0.5, self.mass.shape[1])
        left = at.astype(np.int64)
        flat, start = self.below.ravel(), (rates * self.below.shape[1])[:, None]
        below = flat[start + left] * (1 - at + left) + flat[start + left + 1] * (at - left)
        # Within half a step of nothing, a positive sum is taken to lie above it.
        below = np.where(edges > 0, below, 0.0)
        weights = (np.diff(below, axis=1) + self.least * np.diff(edges, axis=1)) * noise.mass
        nothing = (self.mass[rates, 0] + self.least) * noise.at(-noisy)
        return CellPosterior(edges, np.concatenate([nothing[:, None], weights], axis=1))


@dataclass(frozen=True)
class CellPosterior:
    """What each of several sums may be: nothing, or anything within bins; weights (sum, 1 + bin), edges (sum, bin)."""

    edges: Floats
    weights: Floats

    @cached_property
    def _cumulative(self) -> Floats:
        summed = np.cumsum(self.weights, axis=1)
        return np.asarray(summed / np.maximum(summed[:, -1:], np.finfo(np.float64).tiny), dtype=np.float64)

    def mean(self) -> Floats:
        """Return the mean of each sum."""
        middle = (self.edges[:, 1:] + self.edges[:, :-1]) / 2
        shares = np.diff(self._cumulative, axis=1)
        return np.asarray((shares * middle).sum(axis=1), dtype=np.float64)

    def draw(self, which: Ints, uniform: Floats) -> Floats:
        """Return one draw of the sums `which`, for each uniform number between 0 and 1."""
        # Rows are lifted above each other, so that one search finds the bin in all of them.
        lifted = (self._cumulative + np.arange(len(self.weights))[:, None]).ravel()
        width = self.weights.shape[1]
        at = np.clip(np.searchsorted(lifted, which + uniform, side="right") - which * width, 0, width - 1)
        low, high = (self._cumulative[which, np.maximum(at - 1, 0)], self._cumulative[which, at])
        within = np.clip((uniform - low) / np.maximum(high - low, np.finfo(np.float64).tiny), 0.0, 1.0)
        start, end = self.edges[which, np.maximum(at - 1, 0)], self.edges[which, np.maximum(at, 1)]
        return np.where(at == 0, 0.0, start + within * (end - start))


def _choose_rates(most: float, clumping: float) -> Floats:
    """Return logarithms of rates, so close that numbers of households under neighbouring ones overlap."""
    fine = np.linspace(np.log(MIN_RATE), np.log(most), 2000)
    ticks = np.concatenate([[0.0], np.cumsum(np.diff(fine) / np.sqrt(np.minimum(np.exp(-fine[1:]) + clumping, 2.0)))])
    count = int(np.clip(np.ceil(ticks[-1] / RATE_SPACING), 8, MAX_RATES))
    return np.interp(np.linspace(0, ticks[-1], count), ticks, fine)


# The parameters of the field (roughness, clumping) with the highest evidence.

SIZES = np.geomspace(0.05, 6.4, 8)
"""Prior standard deviations of the longest wave."""
FALLING = np.array([0.75, 1.0, 1.5, 2.0, 2.5])
"""How fast shorter waves get smaller: a power of the frequency. Towns are rough (1), a hill is smooth (2 and more)."""
CLUMPING = np.array([0.01, 0.1, 0.3, 1.0, 3.0])
"""Relative variance of rates between neighbouring regions, beyond the waves."""
START = (4, 2, 1)

Choice = tuple[int, int, int]
LumpEvidence = tuple[Lumps, Evidence]


@dataclass(frozen=True)
class Explanation:
    """The best fit, with the lumps it goes with."""

    fit: Fit
    lumps: Lumps
    clumping: float


def explain(waves: Waves, known_of: Callable[[float], LumpEvidence], offsets: Floats, level: FieldLevel) -> Explanation:
    """Climb over a table of choices, one step along one axis at a time, to the highest evidence."""
    fits: dict[Choice, Fit] = {}
    known: dict[int, LumpEvidence] = {}
    start = np.zeros(waves.regions.shape[1])
    start[0] = level.log - np.log(np.exp(offsets).sum())

    def evidence(choice: Choice, near: Floats) -> float:
        size, falling, clumping = choice
        if clumping not in known:
            known[clumping] = known_of(float(CLUMPING[clumping]))
        if choice not in fits:
            prior = waves.prior(float(SIZES[size]), float(FALLING[falling]))
            fits[choice] = fit_field(waves, prior, known[clumping][1], offsets, level, near)
        return fits[choice].evidence

    here, highest = START, evidence(START, start)
    while True:
        for there in _list_neighbours(here):
            found = evidence(there, fits[here].coefficients)
            if found > highest:
                here, highest = there, found
                break
        else:
            return Explanation(fits[here], known[here[2]][0], float(CLUMPING[here[2]]))


def _list_neighbours(choice: Choice) -> list[Choice]:
    """Return what differs by one step along one axis of the table."""
    size, falling, clumping = choice
    steps = [
        *((size + by, falling, clumping) for by in (-1, 1)),
        *((size, falling + by, clumping) for by in (-1, 1)),
        *((size, falling, clumping + by) for by in (-1, 1)),
    ]
    within = [range(len(SIZES)), range(len(FALLING)), range(len(CLUMPING))]
    return [each for each in steps if all(index in allowed for index, allowed in zip(each, within, strict=True))]
