"""95 % intervals from posterior draws: each is a skewed distribution that is never negative, all together a mixture."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from gridveil.model.arrays import Floats, Ints
from gridveil.uncertainty.laplace import NORMAL_QUANTILE
from gridveil.uncertainty.model import Intervals

Singles = NDArray[np.float32]

TAIL = 0.025  # on each side
POINTS = 1000  # of the mixture, over all draws
ALL_AT_NOTHING = 100.0
GOLDEN = (math.sqrt(5) - 1) / 2


def scores(draws: int) -> Floats:
    """Return normal scores (draw, few): evenly spread for each draw, and all together even more evenly.

    >>> every = scores(200)
    >>> every.shape, bool(abs(every.mean()) < 1e-3), bool(abs(every.std() - 1) < 0.01)
    ((200, 5), True, True)
    """
    few = -(-POINTS // draws)
    shift = (0.5 + GOLDEN * np.arange(draws)) % 1
    shares = (np.arange(few) + shift[:, None]) / few
    normal = NormalDist()
    return np.array([[normal.inv_cdf(share) for share in row] for row in shares.tolist()])


def points(mean: Floats, variance: Floats, score: Floats) -> Singles:
    """Return points of gamma distributions (..., draw) at normal scores (draw, few), as (..., draw * few).

    By Wilson and Hilferty's cube root, which is near enough for what is skewed less than an exponential distribution.

    >>> points(np.array([4.0]), np.array([16.0]), np.array([[-1.96, 0.0, 1.96]])).astype(float).round(1).tolist()
    [0.1, 2.8, 14.7]
    """
    # Above 100 every point is 0 (scores are below 5), and single precision would overflow where a mean is all but 0.
    square = np.minimum(variance / np.maximum(mean, 1e-30) ** 2 / 9, ALL_AT_NOTHING)
    # In single precision: far faster, and no digit that counts is lost.
    middle, step, scale = (part[..., None].astype(np.float32) for part in (1 - square, np.sqrt(square), mean))
    root = np.maximum(middle + step * score.astype(np.float32), 0.0)
    return np.asarray((scale * root * root * root).reshape(*mean.shape[:-1], score.size))


def ends(some: Floats | Singles, empty: Floats, draws: int) -> tuple[Floats, Floats]:
    """Return lower and upper end of the 95 % interval of each row of points.

    empty: the share of a row's draws in which nothing is there. What may be empty may as well not be: the upper end is
        that of the draws in which something is, so that the interval is right for both.

    The tails are a little smaller than 2.5 %, so that one more draw, which the truth is if all is right, would lie
    between the ends in 95 of 100 cases.

    >>> full, half_empty = np.arange(100.0), np.maximum(np.arange(100.0) - 50, 0)
    >>> low, high = ends(np.array([full, half_empty]), np.array([0.0, 0.5]), draws=10**6)
    >>> low.tolist(), high.tolist()
    ([2.0, 0.0], [97.0, 48.0])
    """
    tail = max(TAIL - (0.5 - TAIL) / draws, 0.0)
    ordered = np.sort(some, axis=-1)
    last = ordered.shape[-1] - 1
    rows = np.arange(len(ordered))
    low = ordered[:, round(last * tail)].astype(float)
    full = empty * (last + 1)
    high = ordered[rows, np.clip(np.rint(full + (last - full) * (1 - tail)).astype(int), 0, last)]
    return low, high.astype(float)


# Intervals of queries: of each draw, the mean of a query and how far households stray around it.

NOTHING = 1e-3  # kWh; prefix sums of nothing are not exactly 0
LONELY = 1.3  # a household strays further, relative to its use, the less it uses; Behaviour is of the average kWh

# Where nearly all draws say that nothing is there, what would be there is one household: lognormal, with a standard
# deviation of its logarithm of 0.8, so that its 97.5 % quantile is so many times its mean square over mean.
ONE_HOUSEHOLD = 1.8
SURELY_THERE = 4.0  # standard deviations of the draws' energy away from nothing
ENOUGH = 20  # draws with something in them


@dataclass(frozen=True)
class DrawMixture:
    """The mixture of all draws. All queries share, by draw, the size of households and the energy of the map, kWh."""

    size: Floats | Singles
    whole: Floats

    @cached_property
    def scores(self) -> Floats:
        """Normal scores (draw, few) at which each draw's distribution is taken."""
        return scores(len(self.size))

    def intervals(self, space: Floats, time: Floats, own: Floats, most: float = 1.0) -> Intervals:
        """Return standard error, lower and upper end of the 95 % interval of queries.

        space: the energy of each query, or of one area for all queries, in each region (query or 1, region, draw).
        time: the part of each region's profile that a query takes (query, region, draw).
        own: the variance of one household's part around the profile (query, region).
        most: the largest share of a cell that is in the area; of a household there no more is counted.
        """
        mean = np.einsum("qkr,qkr->qr", space, time)
        there = space.sum(axis=1)
        shares = time.mean(axis=2)
        variance = self.squares(there) * np.einsum("qkr,qk->qr", space, own)
        error = np.sqrt(mean.var(axis=1, ddof=1) + variance.mean(axis=1))
        full = there > NOTHING * most
        empty = np.broadcast_to(1 - full.mean(axis=1), len(mean))
        low, high = ends(points(mean, variance, self.scores), empty, len(self.size))
        # Land where nobody lives is a case of its own, which smooth draws hardly ever hit.
        low = np.where(there.mean(axis=1) < SURELY_THERE * there.std(axis=1), 0.0, low)
        if not full.all():
            several = np.minimum(full.sum(axis=1) / ENOUGH, 1.0)
            one = self.one_household(shares.mean(axis=1), own.mean(axis=1)) * most
            high = np.where(several < 1, several * high + (1 - several) * one, high)
        return error, low, high

    def squares(self, there: Floats) -> Floats:
        """Return the sum of squares of households' totals, as far as it strays, over the energy (..., draw)."""
        return np.asarray(np.minimum(self.size, LONELY * there) * np.maximum(1 - there / self.whole, 0.0))

    def one_household(self, share: Floats, own: Floats) -> Floats:
        """Return the upper end for one household, from its share of the profile and its variance around it."""
        return np.asarray(self.size.mean() * ONE_HOUSEHOLD * (share + 2 * np.sqrt(own)))


def include_values(found: Intervals, values: Floats) -> Intervals:
    """Return intervals that have their values inside, and nothing negative below."""
    error, low, high = found
    return error, np.minimum(low, np.maximum(values, 0.0)), np.maximum(high, values)


# Intervals of every single cell over one period, quickly: draws are sorted once and grouped.
#
# `DrawMixture` takes a thousand points of a cell's mixture and sorts them, for every period anew. Here a cell's draws
# of energy are sorted once, and put into a few groups that are finer towards the end that is looked for. A period adds
# to each group's own spread that of the profile over draws, as if it had nothing to do with the cell's energy, and that
# of households' behaviour. The interval's ends are then solved for in the mixture of the groups' gamma distributions,
# by Newton's method on the cube root. Standard errors are those of `DrawMixture`, and so are the rules about what may
# be empty.
#
# The upper end, the worse one, is off by so much of the interval's width (median, 95th percentile, largest; of 32 x 32
# cells in single steps, and in periods of 6 hours to all):
#
#     mosaic's demo  from the mixture itself  0.6,  2 and   7 %,         0.6,  7 and  66 %;
#                    from `DrawMixture`       3.4, 16 and  50 %,         1.8, 12 and  89 %
#     London         from the mixture itself  0.7,  2 and  14 %,         0.6,  8 and  55 %;
#                    from `DrawMixture`       3.2, 18 and  83 %,         1.9, 14 and 132 %
#     even's demo    from the mixture itself  5.3, 23 and 143 %,         4.9, 27 and 170 %;
#                    from `DrawMixture`       10,  39 and 172 %,         6.7, 34 and 323 %
#
# Most of the distance from `DrawMixture` in single steps is its own, for it has few points beyond 97.5 % where few
# draws have something: in the steps looked at it is 3 to 4, and 15 to 20 % from the mixture (mosaic, London). With
# `even` little is known, and a few draws decide where the end lies. What is called the mixture itself has the profile's
# draws shuffled among those of energy.

CUTS = np.array([0.0, 0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 1.0])  # of the draws, from the end that is looked for
BLOCK = 4096  # cells at a time, which fit a processor's cache
NARROWEST = 1e-6  # relative variance of a group; solving needs some width
LEAST = 1e-6  # kWh
NEWTON_STEPS = 3
ROUNDING, LEAST_FALL, LARGEST = 1e-6, 1e-3, 60.0  # keep it finite, and away from denormal numbers, which are slow
SLOPE, BEND = 1.5976, 0.070566  # the logistic function of SLOPE z + BEND z^3 is the normal distribution, 1.4e-4 off


class Groups:
    """Draws of some cells by size, in groups: of each the cube root of its mean, and its relative variance.

    ordered: the draws of energy (cell, draw), those at the end that is looked for first.
    first, stop: which of them count, by cell.
    """

    def __init__(self, ordered: Singles, first: Ints, stop: Ints, mixture: DrawMixture) -> None:
        rows = np.arange(len(ordered))[:, None]
        edges = first[:, None] + CUTS * (stop - first)[:, None]
        below = np.minimum(edges.astype(int), ordered.shape[1] - 1)
        beyond = edges - below
        sums = []
        for power in (1, 2):
            total = np.zeros((len(ordered), ordered.shape[1] + 1))
            np.cumsum(ordered.astype(np.float64) ** power, axis=1, out=total[:, 1:])
            at = total[rows, below] * (1 - beyond) + total[rows, below + 1] * beyond
            sums.append(np.diff(at, axis=1) / np.maximum(np.diff(edges, axis=1), NARROWEST))
        mean = np.maximum(sums[0], LEAST)
        # One draw stands for all between its neighbours.
        gap = np.abs(np.gradient(mean, axis=1)) / mean
        spread = np.maximum(sums[1] / mean**2 - 1, gap**2 / 12)
        squares = (
            np.minimum(mixture.size.mean(), LONELY * mean) * np.maximum(1 - mean / mixture.whole.mean(), 0.0) / mean
        )
        self.root = _single(np.cbrt(mean).T)
        self.spread = _single(spread.T)
        self.squares = _single((squares * (1 + spread)).T)

    def ends(self, profile: float, own: float, target: Singles, sign: int) -> Floats:
        """Return the energy in units of the profile's part beyond which, above or below (sign), `target` of it lies.

        profile, own: the relative variances of the profile's part over draws, and of one household's around it.
        """
        share = np.diff(CUTS).astype(np.float32)
        variance = own * self.squares + profile * (1 + self.spread) + self.spread
        np.maximum(variance, NARROWEST, out=variance)
        step = 3 / np.sqrt(variance)
        middle = (1 - variance / 9) * step
        step /= self.root
        centre = share @ (middle / step)
        width = np.sqrt(share @ ((middle / step - centre) ** 2 + 1 / (step * step)))
        wanted = np.log(target) - np.log1p(-target)
        y = centre + sign * width * np.float32(NORMAL_QUANTILE)
        for _ in range(NEWTON_STEPS):
            z = (step * y - middle) * np.float32(-sign)
            squared = z * z
            chance = 1 / (1 + np.exp(np.clip(-z * (SLOPE + BEND * squared), -LARGEST, LARGEST)))
            slope = share @ (chance * (1 - chance) * (SLOPE + 3 * BEND * squared) * step)
            beyond = np.clip(share @ chance, ROUNDING, 1 - ROUNDING)
            fall = np.maximum(slope / (beyond * (1 - beyond)), LEAST_FALL / width)
            y += sign * np.clip((np.log(beyond) - np.log1p(-beyond) - wanted) / fall, -width, width)
        root = np.maximum(y, 0.0).astype(np.float64)
        return np.asarray(root * root * root)


class CellBlock:
    """Some cells of one region, and all of their draws that does not depend on the period; space (draw, cell)."""

    def __init__(self, region: int, cells: Ints, space: Singles, mixture: DrawMixture) -> None:
        count = len(space)
        energy = space.T.astype(np.float64)
        self.region = region
        self.cells = cells
        self.mixture = mixture
        self.mean = energy.mean(axis=1)
        self.squares = (energy * mixture.squares(energy)).mean(axis=1)
        self.strays = _single(space - self.mean)
        ordered = np.sort(space.T, axis=1)
        full = (ordered > NOTHING).sum(axis=1)
        empty = 1 - full / count
        tail = max(TAIL - (0.5 - TAIL) / count, 0.5 / POINTS)
        self.several = np.where(full < count, np.minimum(full / ENOUGH, 1.0), 1.0)
        self.high = Groups(ordered[:, ::-1], np.zeros_like(full), full, mixture)
        self.high_tail = np.full(len(cells), tail, np.float32)
        self.sure = np.flatnonzero((self.mean >= SURELY_THERE * energy.std(axis=1)) & (empty < tail))
        self.low = Groups(ordered[self.sure], count - full[self.sure], np.full(len(self.sure), count), mixture)
        self.low_tail = ((tail - empty[self.sure]) / (1 - empty[self.sure])).astype(np.float32)

    def intervals(self, time: Floats, own: float) -> Intervals:
        """Return the intervals for the part of the profile that lies in the period, by draw, and its variance."""
        count, part = len(time), time.mean()
        beside = time - part
        both, across = np.stack([time, time * beside]).astype(np.float32) @ self.strays
        spread = self.mean**2 * (beside @ beside) + 2 * self.mean * across - both.astype(np.float64) ** 2 / count
        spread += (time**2).astype(np.float32) @ (self.strays * self.strays)
        error = np.sqrt(np.maximum(spread, 0.0) / (count - 1) + own * self.squares)
        known = max(part, 1e-9)
        profile, around = float(beside @ beside) / (count - 1) / known**2, own / known**2
        high = part * self.high.ends(profile, around, self.high_tail, sign=1)
        one = self.mixture.one_household(np.array(part), np.array(own))
        high = np.where(self.several < 1, self.several * high + (1 - self.several) * one, high)
        low = np.zeros_like(high)
        low[self.sure] = part * self.low.ends(profile, around, self.low_tail, sign=-1)
        return error, low, high


def make_blocks(space: Singles, region: Ints, mixture: DrawMixture) -> list[CellBlock]:
    """Return all cells, region by region, in blocks that fit a processor's cache."""
    cells = space.reshape(len(space), -1)
    blocks = []
    for number in np.unique(region):
        inside = np.flatnonzero(region.ravel() == number)
        blocks += [
            CellBlock(int(number), some, cells[:, some], mixture)
            for some in np.array_split(inside, -(-len(inside) // BLOCK))
        ]
    return blocks


def _single(numbers: Floats) -> Singles:
    return np.ascontiguousarray(numbers, dtype=np.float32)
