"""Regional profiles: where districts differ in their daily curves, how to measure that, and how to shrink it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import numpy as np
from numpy.typing import NDArray

from gridveil.geography.grid import Grid
from gridveil.mechanisms.bounds import TotalsDistribution
from gridveil.model.arrays import Floats, Ints
from gridveil.model.window import Window
from gridveil.trusted.budget import Bound
from gridveil.trusted.kernel.session import Measurement, Session

# Regional deviations from one daily profile, shrunk by their noise.
#
# Model: the bounded consumption of region `k` in phase `q` of the day is `e_k t_q (1 + g_kq)`, where `e` and `t` are
# known well (regions' totals, the map's profile) and `g` is a Gaussian field, smooth in space and around the clock,
# whose amplitude is learned. Measured are sums over regions and parts of the day with equal noise. All
# post-processing.

AMPLITUDES = np.array([0.0, 0.02, 0.04, 0.07, 0.1, 0.15, 0.2, 0.3, 0.45, 0.65, 0.9, 1.3])
"""Standard deviations of `g` that are thought possible, equally likely before anything is measured."""

REACHES = ((0.3, 2.5), (0.12, 2.5), (0.3, 1.2), (0.12, 1.2))
"""How far `g` reaches in space (as a part of the map's side) and around the clock (hours): equally likely."""


@dataclass(frozen=True)
class Setting:
    """Where regions and phases are, and what is known of them.

    centres (k, 2): of the regions, the map being the unit square. regions (k,): what each consumes under the bound of
    the measurement, Wh. hours (q,): middle of each phase of the day. profile (q,): the phases' parts of the
    consumption, sum 1. part (q,): which part of the day each phase is measured in.
    """

    centres: Floats
    regions: Floats
    hours: Floats
    profile: Floats
    part: Ints


@dataclass(frozen=True)
class RegionDeviations:
    """What is known of `g`: its mean (k, q), draws of what it may be (r, k, q), and its amplitude (posterior mean).

    Draws are of some half of each region, not all of it: queries cut through regions, and districts do so too.
    evidence: log of how much likelier the data are than without any deviations.
    """

    mean: Floats
    draws: Floats
    amplitude: float
    evidence: float


def infer_deviations(setting: Setting, sums: Floats, noise_variance: float, draws: int, seed: int) -> RegionDeviations:
    """Return the posterior of `g` given noisy sums (k, p), Wh, averaged over amplitudes and reaches.

    Errors in `e` and in `t` would look like deviations. Both lie in known directions, the same in all parts of
    a region or in all regions of a part: the data are projected to what is orthogonal to them, which leaves equal,
    independent noise. What remains factorises into space and time, so that each reach costs two small
    eigendecompositions.
    """
    bases = [_Basis.of(setting, *reach) for reach in REACHES]
    coordinates = [basis.coordinates(sums) for basis in bases]
    log_odds = np.array(
        [_compute_log_odds(b.spectrum, c, noise_variance) for b, c in zip(bases, coordinates, strict=True)]
    )  # (reach, amplitude)
    top = log_odds.max()
    weight = np.exp(log_odds - top)
    evidence = float(top + np.log(weight.mean()))
    weight /= weight.sum()
    mean = np.zeros((setting.regions.size, setting.hours.size))
    for basis, seen, of in zip(bases, coordinates, weight, strict=True):
        mean += basis.field(_compute_gain(basis.spectrum, noise_variance, of) * seen)
    rng = np.random.default_rng(seed)
    chosen = rng.choice(weight.size, size=draws, p=weight.ravel())
    some = np.empty((draws, *mean.shape))
    for number, (basis, seen) in enumerate(zip(bases, coordinates, strict=True)):
        here = np.flatnonzero(chosen // AMPLITUDES.size == number)
        amplitudes = AMPLITUDES[chosen[here] % AMPLITUDES.size]
        some[here] = basis.sample(seen, noise_variance, amplitudes, rng) + basis.draw_within(amplitudes, rng)
    return RegionDeviations(mean, some, float(weight.sum(axis=0) @ AMPLITUDES), evidence)


@dataclass(frozen=True)
class _Basis:
    """The coordinates in which both noise and deviations are independent, for one reach.

    spectrum (i, j): variance of the deviations' part of each coordinate at amplitude 1, Wh^2.
    """

    left: Floats  # (k, i): data to coordinates
    right: Floats  # (p, j)
    left_field: Floats  # (k, i): coordinates to the field, before the gain
    right_field: Floats  # (q, j)
    left_root: Floats  # (k, k): a root of the prior covariance in space
    right_root: Floats  # (q, q)
    observe: tuple[Floats, Floats]  # the field to data: (k,), (p, q)
    spectrum: Floats
    half: float  # variance of half a region around the whole, at amplitude 1

    @classmethod
    def of(cls, setting: Setting, reach: float, hours: float) -> _Basis:
        """Prepare one reach."""
        away = np.linalg.norm(setting.centres[:, None] - setting.centres, axis=-1)
        apart = (setting.hours[:, None] - setting.hours + 12) % 24 - 12
        space = _centre(np.exp(-away / reach), setting.regions)
        # A squared exponential on the circle's chord, so that it is a covariance there too.
        chord = 24 / np.pi * np.sin(np.pi * apart / 24)
        time = _centre(np.exp(-0.5 * (chord / hours) ** 2), setting.profile)
        parts = np.zeros((setting.part.max() + 1, setting.hours.size))
        parts[setting.part, np.arange(setting.hours.size)] = setting.profile
        left = _find_complement(setting.regions)
        right = _find_complement(parts.sum(axis=1))
        seen = setting.regions[:, None] * left
        by = parts.T @ right
        left_values, turn = np.linalg.eigh(seen.T @ space @ seen)
        right_values, spin = np.linalg.eigh(by.T @ time @ by)
        return cls(
            left @ turn,
            right @ spin,
            space @ seen @ turn,
            time @ by @ spin,
            _factorise(space),
            _factorise(time),
            (setting.regions, parts),
            np.maximum(left_values, 0.0)[:, None] * np.maximum(right_values, 0.0),
            # Halves are half a side apart; a region is about one of equally many squares.
            half=0.5 * (1 - float(np.exp(-0.5 / np.sqrt(setting.regions.size) / reach))),
        )

    def coordinates(self, sums: Floats) -> Floats:
        """Return the coordinates (..., i, j) of sums (..., k, p)."""
        return np.asarray(self.left.T @ sums @ self.right)

    def field(self, coordinates: Floats) -> Floats:
        """Return the field (..., k, q) of coordinates (..., i, j)."""
        return np.asarray(self.left_field @ coordinates @ self.right_field.T)

    def sample(self, seen: Floats, noise_variance: float, amplitudes: Floats, rng: np.random.Generator) -> Floats:
        """Draw from the posterior, a field for each amplitude: of the prior, corrected by what it does not explain."""
        shape = (amplitudes.size, self.left_root.shape[0], self.right_root.shape[0])
        prior = amplitudes[:, None, None] * (self.left_root @ rng.normal(size=shape) @ self.right_root.T)
        regions, parts = self.observe
        noise = np.sqrt(noise_variance) * rng.normal(size=(amplitudes.size, *self.spectrum.shape))
        residual = seen - self.coordinates(regions[:, None] * (prior @ parts.T)) - noise
        power = amplitudes[:, None, None] ** 2
        return np.asarray(prior + self.field(power / (power * self.spectrum + noise_variance) * residual))

    def draw_within(self, amplitudes: Floats, rng: np.random.Generator) -> Floats:
        """Draw how half of each region differs from the whole, once for each amplitude."""
        shape = (amplitudes.size, self.left_root.shape[0], self.right_root.shape[0])
        deviation = np.sqrt(self.half) * amplitudes[:, None, None]
        return np.asarray(deviation * (rng.normal(size=shape) @ self.right_root.T))


def _compute_log_odds(spectrum: Floats, seen: Floats, noise_variance: float) -> Floats:
    """Return the log-likelihood of the coordinates at each amplitude, against that without deviations."""
    signal = AMPLITUDES[:, None, None] ** 2 * spectrum / noise_variance
    energy = seen**2 / noise_variance
    return np.asarray(0.5 * (energy * signal / (1 + signal) - np.log1p(signal)).sum(axis=(1, 2)))


def _compute_gain(spectrum: Floats, noise_variance: float, weight: Floats) -> Floats:
    """Return the factor from coordinates to the posterior mean, averaged over amplitudes by weight."""
    power = AMPLITUDES[:, None, None] ** 2
    return np.asarray((weight[:, None, None] * power / (power * spectrum + noise_variance)).sum(axis=0))


def _centre(covariance: Floats, weights: Floats) -> Floats:
    """Return the covariance of what is left of a field when its weighted mean is taken away."""
    total = weights.sum()
    even = np.full(weights.size, 1 / weights.size)
    centre = np.eye(weights.size) - (weights / total if total > 0 else even)
    return np.asarray(centre @ covariance @ centre.T)


def _find_complement(direction: Floats) -> Floats:
    """Return an orthonormal basis (n, n - 1) of what is orthogonal to a direction (to equal parts, if it is zero)."""
    along = direction if np.any(direction) else np.ones_like(direction)
    basis, _ = np.linalg.qr(np.column_stack([along, np.eye(direction.size)]))
    return np.asarray(basis[:, 1:])


def _factorise(covariance: Floats) -> Floats:
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


# Regional profiles: where districts differ in their daily curves, and how to measure that.

# What to measure, and for which share of the budget: public numbers and earlier answers decide.

MIN_POWER = 5_500
"""Households times epsilon below which even strong differences go unseen in a look that costs little."""

TEST_POWER = 400
"""What the first look needs of that product ..."""

TEST_SHARES = (0.015, 0.025)
"""... and the least and the most that it may take of the budget."""

TEST_BLOCKS, TEST_PARTS = 3, 3

FULL_SHARE = 0.12

BLOCKS = 8
"""Each way. More would show more from a product of 100,000 on, but make error bars slow: each has a profile."""

PARTS = ((20_000, 6), (0, 4))
"""From which product on the day is cut into how many parts."""

HOURS = 24


@dataclass(frozen=True)
class RegionMeasurement:
    """A question: sums over `blocks` of the map (each way) and parts of the day, all days together, for an epsilon.

    region (x, y), part (t,): of every cell and step. hour (t,): of the day, in the middle of each step.
    """

    blocks: tuple[int, int]
    region: Ints
    part: Ints
    hour: Ints
    epsilon: float

    @property
    def regions(self) -> int:
        """How many regions there are."""
        return self.blocks[0] * self.blocks[1]

    @property
    def parts(self) -> int:
        """How many parts of the day the window touches."""
        return int(self.part.max()) + 1

    def labels(self) -> NDArray[np.int16]:
        """Return the labels (x, y, t) for `Session.sums`: region after region, in each the parts of the day."""
        region, part = self.region.astype(np.int16), self.part.astype(np.int16)
        return region[:, :, None] * np.int16(self.parts) + part

    def centres(self) -> Floats:
        """Return where the regions are (k, 2), the map being the unit square."""
        columns, rows = self.blocks
        x, y = np.meshgrid((np.arange(columns) + 0.5) / columns, (np.arange(rows) + 0.5) / rows, indexing="ij")
        return np.stack([x.ravel(), y.ravel()], axis=1)


@dataclass(frozen=True)
class RegionPlan:
    """A first look, and the full one that pays if the first sees differences."""

    test: RegionMeasurement
    full: RegionMeasurement


def plan_regions(grid: Grid, window: Window, households: float, epsilon: float) -> RegionPlan | None:
    """Return how to look for regional profiles with a budget of `epsilon`; `None` if that cannot pay.

    households: a rough number, or one that was measured.

    >>> from datetime import UTC, datetime
    >>> week = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 168)
    >>> plan = plan_regions(Grid(0, 0, 32, 32, 32, 32), week, 4000, 10.0)
    >>> plan.test.epsilon, plan.full.blocks, plan.full.epsilon
    (0.15, (8, 8), 1.2)
    """
    power = households * epsilon
    if power < MIN_POWER or grid.cells == 1 or window.step >= timedelta(hours=HOURS):
        return None
    hour = np.array([(time + window.step / 2).hour for time in window.times()], dtype=np.int64)
    test = _make_measurement(
        grid, hour, TEST_BLOCKS, TEST_PARTS, epsilon * float(np.clip(TEST_POWER / power, *TEST_SHARES))
    )
    if test.parts == 1:
        return None
    parts = next(count for least, count in PARTS if power >= least)
    return RegionPlan(test, _make_measurement(grid, hour, BLOCKS, parts, epsilon * FULL_SHARE))


def _make_measurement(grid: Grid, hour: Ints, blocks: int, parts: int, epsilon: float) -> RegionMeasurement:
    columns, rows = min(blocks, grid.nx), min(blocks, grid.ny)
    region = (np.arange(grid.nx) * columns // grid.nx)[:, None] * rows + np.arange(grid.ny) * rows // grid.ny
    part = np.unique(hour * parts // HOURS, return_inverse=True)[1]
    return RegionMeasurement((columns, rows), region, part, hour, epsilon)


# Inference of regional profiles: where districts differ, one profile for the whole map is wrong.
#
# A small look tells whether they do; only if so is more spent on how. Both are sums over blocks of the map and parts
# of the day: a partition of the cube, so that a household's window bound is all they see of it.

MIN_LOG_ODDS = 3.0
"""Log odds of differences against none, at which they are believed. Of looks at London households, in places that have
nothing to do with how they live, 1.1 to 1.5 in a hundred come that far: the noise has heavy tails."""

BOUND_QUANTILE = 0.6
"""Of households' totals: the bound of both looks. Bounding scales a household's series as a whole, so that a low bound
costs little of what shapes of the day tell, and much noise is saved."""

MIN_FACTOR = 0.05
"""No region uses less than this part of what the map does, at any time."""

SWEEPS = 20


@dataclass(frozen=True)
class RegionalProfiles:
    """Which region a cell is in (x, y), and the factors of its steps on the map's profile (k, t), with draws (r, k, t).

    Regions' totals are kept, and so is the map's profile: weighted by them, the factors are 1 on average.
    amplitude: estimated standard deviation of the factors.
    """

    region: Ints
    factor: Floats
    draws: Floats
    amplitude: float


def choose_region_bound(given: Bound, steps: int, population: TotalsDistribution) -> Bound:
    """Return the bound of both looks; a window bound that the publisher has given stands."""
    if given.window < given.step * steps:
        return given
    return Bound(given.step, min(given.window, max(1, round(population.quantile(BOUND_QUANTILE)))))


def detect_differences(measure: Session, plan: RegionPlan, bound: Bound) -> bool:
    """Take the first look, and return whether it makes differences likely enough to measure them."""
    look = plan.test
    measured = measure.sums(look.labels(), look.epsilon, bound=bound)
    sums = measured.values.astype(np.float64).reshape(-1, look.parts)
    regions, profile = np.maximum(sums.sum(axis=1), 0.0), np.maximum(sums.sum(axis=0), 0.0)
    if not regions.any() or not profile.any():
        return False
    # Its own sums stand for the regions' totals and the map's profile, which have not been measured yet.
    steps = (profile / np.bincount(look.part))[look.part]
    return _infer_deviations(look, measured, regions, steps, 0, 0).evidence > MIN_LOG_ODDS


def fit_regions(
    look: RegionMeasurement, measured: Measurement, space: Floats, profile: Floats, draws: int, seed: int
) -> RegionalProfiles:
    """Return the regions' profiles from the full look. Post-processing.

    space: estimated consumption of the cells (x, y), Wh, under the bound of the look. profile: the map's (t,), sum 1.
    """
    regions = _sum_bins(look.region, np.maximum(space, 0.0))
    found = _infer_deviations(look, measured, regions, profile, draws, seed)
    phase = np.unique(look.hour, return_inverse=True)[1]
    weights = _normalise(regions), _normalise(_sum_bins(phase, profile))
    factor, others = (_rake(np.maximum(1 + field, MIN_FACTOR), *weights) for field in (found.mean, found.draws))
    return RegionalProfiles(look.region, factor[:, phase], others[:, :, phase], found.amplitude)


def _infer_deviations(
    look: RegionMeasurement, measured: Measurement, regions: Floats, profile: Floats, draws: int, seed: int
) -> RegionDeviations:
    """Return how regions differ by hour of the day, given what regions (k,) and steps (t,) consume."""
    hours, first, phase = np.unique(look.hour, return_index=True, return_inverse=True)
    setting = Setting(
        look.centres(), regions, np.asarray(hours + 0.5), _normalise(_sum_bins(phase, profile)), look.part[first]
    )
    sums = measured.values.astype(np.float64).reshape(-1, look.parts)
    return infer_deviations(setting, sums, 2 * float(measured.scales[0]) ** 2, draws, seed)


def _rake(factor: Floats, regions: Floats, phases: Floats) -> Floats:
    """Return positive factors (..., k, q) whose weighted mean is 1 in every phase (nearly) and region (exactly)."""
    for _ in range(SWEEPS):
        factor = factor / np.einsum("...kq,k->...q", factor, regions)[..., None, :]
        factor = factor / np.einsum("...kq,q->...k", factor, phases)[..., None]
    return factor


def _sum_bins(bins: Ints, values: Floats) -> Floats:
    return np.asarray(np.bincount(bins.ravel(), values.ravel()), dtype=np.float64)


def _normalise(totals: Floats) -> Floats:
    """Return parts of the sum; equal parts of nothing."""
    total = totals.sum()
    return np.asarray(totals / total if total > 0 else np.full(totals.size, 1 / totals.size))
