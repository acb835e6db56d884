"""The consumption of each cell over the window: the quadtree's regions, and from their noisy sums to cells."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gridveil.geography.grid import Grid
from gridveil.mechanisms.bounds.population import DRAWS, TotalsDistribution
from gridveil.mechanisms.inference.cells import Lumps, explain
from gridveil.mechanisms.inference.field import Evidence, FieldLevel, Waves
from gridveil.mechanisms.inference.totals import MapTotal, NoiseBins, scale_to_totals
from gridveil.model.arrays import Floats, Ints
from gridveil.trusted.kernel.session import Measurement, NoiseKind
from gridveil.trusted.kernel.staircase import choose_staircase

# The quadtree over space, and which of its levels to measure. It splits by position only, so it is public.


@dataclass(frozen=True)
class QuadtreeLevel:
    """The blocks of one depth: `2**depth` along each axis, or as many as there are cells.

    A number per block is an array whose last two axes are blocks along x and along y. Levels are nested also when
    a side of the grid is no power of two; blocks then differ by a cell.

    >>> QuadtreeLevel(nx=5, ny=3, depth=1).of_cell_x
    array([0, 0, 0, 1, 1])
    """

    nx: int
    ny: int
    depth: int

    @property
    def shape(self) -> tuple[int, int]:
        """How many blocks there are along x and along y."""
        return min(2**self.depth, self.nx), min(2**self.depth, self.ny)

    @property
    def blocks(self) -> int:
        """How many blocks there are."""
        return self.shape[0] * self.shape[1]

    @cached_property
    def of_cell_x(self) -> Ints:
        """Which block along x a cell lies in."""
        return _nest(self.nx, self.shape[0])

    @cached_property
    def of_cell_y(self) -> Ints:
        """Which block along y a cell lies in."""
        return _nest(self.ny, self.shape[1])

    @property
    def labels(self) -> Ints:
        """The block number of every cell, axes (x, y)."""
        return self.of_cell_x[:, None] * self.shape[1] + self.of_cell_y

    @property
    def cells(self) -> Floats:
        """How many cells each block has."""
        return np.outer(np.bincount(self.of_cell_x), np.bincount(self.of_cell_y)).astype(np.float64)

    def gather(self, fine: Floats) -> Floats:
        """Sum the blocks of a deeper level, or cells, into the blocks of this one."""
        along_x = np.add.reduceat(fine, _find_starts(fine.shape[-2], self.shape[0]), axis=-2)
        return np.asarray(
            np.add.reduceat(along_x, _find_starts(fine.shape[-1], self.shape[1]), axis=-1), dtype=np.float64
        )

    def scatter(self, coarse: Floats, fine: tuple[int, int]) -> Floats:
        """Give every block of a deeper level of shape `fine`, or cell, the number of the block it lies in."""
        return coarse[..., _nest(fine[0], self.shape[0])[:, None], _nest(fine[1], self.shape[1])]

    def rake(self, fine: Floats, totals: Floats) -> Floats:
        """Scale positive numbers of a deeper level so that they add up to `totals` in each of these blocks."""
        return fine * self.scatter(totals / self.gather(fine), (fine.shape[-2], fine.shape[-1]))


def make_levels(grid: Grid, deepest: int) -> list[QuadtreeLevel]:
    """Return the levels from the root down to depth `deepest`."""
    return [QuadtreeLevel(grid.nx, grid.ny, depth) for depth in range(deepest + 1)]


def depth_of_quarters(grid: Grid) -> int:
    """Return the greatest depth at which every block still splits into four: floor(log2(shorter side))."""
    return min(grid.nx, grid.ny).bit_length() - 1


def depth_of_pillars(grid: Grid) -> int:
    """Return the depth at which every block is a single cell."""
    return (max(grid.nx, grid.ny) - 1).bit_length()


def _nest(fine: int, coarse: int) -> Ints:
    return np.arange(fine, dtype=np.int64) * coarse // fine


def _find_starts(fine: int, coarse: int) -> Ints:
    return np.searchsorted(_nest(fine, coarse), np.arange(coarse)).astype(np.int64)


# How fine to measure space: public numbers and the fitted households decide.

NOISE_TO_CONTRAST = 0.65
"""How large the variance of a region's noise may be, relative to what smaller regions show."""
UNEVENNESS = 0.3
"""How much neighbouring regions differ in density, relatively, apart from chance."""


def choose_level(
    grid: Grid, population: TotalsDistribution, epsilon: float, bound: int, noise: NoiseKind
) -> QuadtreeLevel:
    """Return the finest level of the quadtree that is worth its noise, if space has `epsilon`; regions are `.labels`.

    Smaller regions show where households happen to be (a variance of their number times their mean square) and how
    uneven density is, and cost noise. Measured on London towns of 250 to 2150 households, epsilon 0.5 to 10: the best
    level is about the finest whose noise is somewhat below that, also where most cells are empty.
    """
    variance = 2 * (bound / epsilon) ** 2
    if noise == "staircase":
        variance = choose_staircase(bound, epsilon).variance
    finest = QuadtreeLevel(grid.nx, grid.ny, 0)
    for depth in range(1, depth_of_pillars(grid) + 1):
        level = QuadtreeLevel(grid.nx, grid.ny, depth)
        each = max(population.households, 1.0) / level.blocks
        shown = each * population.second(bound) + (UNEVENNESS * each * population.mean(bound)) ** 2
        if variance > NOISE_TO_CONTRAST * shown:
            break
        finest = level
    return finest


# The consumption of each cell over the window: from noisy sums of regions to cells and households.

# Posterior draws of true consumption from draws of clipped sums. Post-processing.
#
# Energy comes by households: what a bound cut off belongs to few of them. Error bars that spread it like butter would
# be too narrow for small regions.

AT_BOUND = 0.05
"""A sum that falls short of so many times the bound, by this part of it, may still hold as many who exceed it."""
ROUNDS = 4
MAX_NUMBERS = 2**23
MIN_DRAWS = 40


def choose_draws(numbers: int) -> int:
    """Return how many draws of so many numbers each are worth their room: fewer of a large release."""
    return int(min(DRAWS, max(MIN_DRAWS, MAX_NUMBERS // numbers)))


def draw_sizes(population: TotalsDistribution, draws: int) -> Floats:
    """Return mean square over mean of households' totals, one number a draw."""
    weights = population.draws_weights[np.arange(draws) % len(population.draws_weights)]
    return np.asarray(weights @ population.support**2 / (weights @ population.support), dtype=np.float64)


def draw_true_cells(bounded: Floats, population: TotalsDistribution, bound: float, seed: int) -> Floats:
    """Return draws of cells' consumption (draw, x, y), Wh, from draws of what is left of it under a window bound."""
    factors = np.resize(population.debias_draws(bound), len(bounded))
    sums = bounded.reshape(len(bounded), -1)
    return undo_clipping(sums, factors, population, bound, np.random.default_rng(seed)).reshape(bounded.shape)


def undo_clipping(
    sums: Floats, factors: Floats, population: TotalsDistribution, bound: float, random: np.random.Generator
) -> Floats:
    """Return sums (draw, cell) with what a bound cut off added again: to few households, in cells with room for them.

    factors: by what all the sums of each draw together are to be multiplied, on average.
    """
    over = np.maximum(population.support - bound, 0.0)
    share = float(population.weights[over > 0].sum())
    if share <= 0:
        return np.asarray(sums * factors[:, None])
    mean = float(population.weights @ over) / share
    variance = max(float(population.weights @ over**2) / share - mean**2, (0.01 * mean) ** 2)
    wanted = np.maximum(factors - 1, 0.0) * sums.sum(axis=1) / mean
    room = np.floor(sums / bound + AT_BOUND)
    level = wanted / np.maximum((sums * (room > 0)).sum(axis=1), 1.0)
    for _ in range(ROUNDS):
        expected = np.minimum(level[:, None] * sums, room)
        level = level * wanted / np.maximum(expected.sum(axis=1), 1e-9)
    expected = np.minimum(level[:, None] * sums, room)
    exceed = random.binomial(room.astype(np.int64), expected / np.maximum(room, 1.0))
    excess = random.gamma(exceed * (mean**2 / variance), variance / mean)
    # The factors know what chance does to the excess of all. What finds no room, all sums take a part of.
    placed = np.minimum(wanted, expected.sum(axis=1)) * mean
    drawn = excess.sum(axis=1)
    excess *= (placed / np.where(drawn > 0, drawn, 1.0))[:, None]
    missing = wanted * mean - np.where(drawn > 0, placed, 0.0)
    return np.asarray(sums * (1 + missing / np.maximum(sums.sum(axis=1), 1.0))[:, None] + excess)


def pin_total(mean: Floats, draws: Floats, total: tuple[float, float], seed: int) -> tuple[Floats, Floats]:
    """Return an estimate (x, y) and draws (draw, x, y) scaled towards a measured total, Wh, of known variance.

    Whatever was believed about single cells may have pulled all of them one way; the measured total was not. So the
    total believed in counts with its own variance and the square of how far it lies off.
    """
    value, variance = total
    sums = draws.sum(axis=(1, 2))
    unsure = float(sums.var()) + (float(sums.mean()) - value) ** 2
    gain = unsure / max(unsure + variance, 1.0)
    measured = value + np.random.default_rng(seed).normal(0.0, np.sqrt(variance), len(draws))
    wanted = np.maximum(sums + gain * (measured - sums), 0.0)
    whole = float(mean.sum())
    scale = max(whole + gain * (value - whole), 0.0) / max(whole, 1.0)
    return mean * scale, draws * (wanted / np.maximum(sums, 1.0))[:, None, None]


# From the sums of regions to cells: in proportion to a field, or as the lumps that households make.


@dataclass(frozen=True)
class Household:
    """Mean and mean square of a household's bounded total, Wh."""

    mean: float
    second: float

    @classmethod
    def of(cls, population: TotalsDistribution, bound: int) -> Household:
        """Return them; a household uses something."""
        mean = max(population.mean(bound), 1.0)
        return cls(mean, max(population.second(bound), mean**2))


def spread_smoothly(sums: Floats, labels: Ints, field: Floats) -> Floats:
    """Spread sums (region) over cells (x, y), in proportion to the exponential of a field."""
    density = np.exp(field - field.max())
    within = np.bincount(labels.ravel(), density.ravel())
    return np.asarray((sums / within)[labels] * density, dtype=np.float64)


def spread_lumps(
    sums: Floats, labels: Ints, fields: Floats, household: Household, clumping: float, random: np.random.Generator
) -> Floats:
    """Draw how sums (draw, region) may lie in cells (draw, x, y), as many households as each would take.

    A cell's rate is its share of the region's sum, but for clumping; numbers of households are Poisson, their totals
    Gamma of the right mean and variance, and what comes out is scaled to the region's sum. Where nobody came out the
    sum is all in one cell.
    """
    regions, cells = sums.shape[1], labels.size
    if regions == cells:
        return sums[:, labels]
    flat = labels.ravel()
    order = np.argsort(flat, kind="stable")
    starts = np.searchsorted(flat[order], np.arange(regions))
    density = np.exp(fields - fields.max(axis=(1, 2), keepdims=True)).reshape(len(sums), cells)[:, order]
    density *= (sums / np.add.reduceat(density, starts, axis=1))[:, flat[order]]
    rates = density / household.mean
    if clumping > 0:
        rates *= random.gamma(1 / clumping, clumping, rates.shape)
    people = random.poisson(rates)
    variance = max(household.second - household.mean**2, 1e-6 * household.mean**2)
    shape = household.mean**2 / variance
    lumps = random.gamma(np.maximum(people * shape, np.finfo(np.float64).tiny)) * (people > 0)
    drawn = np.add.reduceat(lumps, starts, axis=1)
    # One cell of each region, the likelier the denser, for the regions where nobody came out.
    race = np.log(density + np.finfo(np.float64).tiny) + random.gumbel(size=density.shape)
    alone = race == np.maximum.reduceat(race, starts, axis=1)[:, flat[order]]
    lumps = np.where((drawn > 0)[:, flat[order]], lumps, alone)
    lumps *= (sums / np.add.reduceat(lumps, starts, axis=1))[:, flat[order]]
    drawn = np.empty((len(sums), *labels.shape))
    drawn.reshape(len(sums), cells)[:, order] = lumps
    return drawn


# The consumption of each cell over the window, inferred from noisy sums of regions.

MAX_FINE_REGIONS = 256
WAVES = (8, 12)
"""Along an axis, with many regions and with few. Few need finer ones in draws; many cost time, and gain nothing."""


@dataclass(frozen=True)
class SpaceEstimate:
    """Bounded totals of cells over the window, Wh: the estimate (x, y), and draws of what may be true (draw, x, y)."""

    mean: Floats
    draws: Floats


def estimate_space(
    grid: Grid,
    labels: Ints,
    noisy: Measurement,
    total: tuple[float, float] | None,
    population: TotalsDistribution,
    bound: int,
    draws: int,
    seed: int,
) -> SpaceEstimate:
    """Return what cells hold, given the noisy sums of regions.

    labels: the region of each cell (x, y): blocks along x times blocks along y, numbered row by row.
    total: noisy sum of everything and the variance of its noise, if measured.

    A region's rate of households is `exp` of a smooth field, its sum a compound of their bounded totals. The estimate
    is that sum's mean at the likeliest rate (the mode: what is unsure is taken for low, as relative errors reward),
    given its noisy value; all are then scaled to a total that leans on no prior.
    """
    random = np.random.default_rng(seed)
    values = noisy.values.astype(np.float64).ravel()
    noise, household = NoiseBins.of(noisy), Household.of(population, bound)
    whole = MapTotal.of(total, population, bound)
    top = max(min(float(values.max()) + 6 * noise.deviation, 2 * whole.mean + 20 * bound), 4.0 * bound)

    def known(clumping: float) -> tuple[Lumps, Evidence]:
        lumps = Lumps.of(population, bound, clumping, top, noise)
        return lumps, Evidence.of(lumps.log_rates, lumps.evidence(values, noise))

    region_y = labels[0]
    waves = Waves.of(labels[:, 0] // (int(region_y[-1]) + 1), region_y, WAVES[len(values) <= MAX_FINE_REGIONS])
    offsets = np.log(np.bincount(labels.ravel()) * (max(population.households, 1.0) / grid.cells))
    explained = explain(waves, known, offsets, make_level(whole, household))
    fit, lumps = explained.fit, explained.lumps

    likeliest = waves.regions @ fit.coefficients - fit.variances(waves.regions) + offsets
    summed = whole.and_regions(float(values.sum()), len(values) * noise.deviation**2, household.mean)
    mean = scale_to_totals(lumps.mean(likeliest, values, noise), summed.mean)
    coefficients = fit.draw(draws, random)
    sums = lumps.draw(coefficients @ waves.regions.T + offsets, values, noise, random)
    sums = scale_to_totals(sums, summed.draw(draws, random))
    return SpaceEstimate(
        spread_smoothly(mean, labels, waves.at_cells(fit.coefficients)),
        spread_lumps(sums, labels, waves.at_cells(coefficients), household, explained.clumping, random),
    )


def make_level(whole: MapTotal, household: Household) -> FieldLevel:
    """Return the logarithm of the whole map's rate of households: its total may be off by noise and by chance."""
    chance = household.second * whole.mean / household.mean
    return FieldLevel(float(np.log(whole.mean / household.mean)), (whole.variance + chance) / whole.mean**2)
