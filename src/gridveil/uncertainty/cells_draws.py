"""Error bars of every single cell over one period, quickly: draws of what may be true, sorted once and grouped.

`Likely` takes a thousand points of a cell's mixture and sorts them, for every period anew. Here a cell's draws of
energy are sorted once, and put into a few groups that are finer towards the end that is looked for. A period adds to
each group's own spread that of the profile over draws, as if it had nothing to do with the cell's energy, and that of
households' behaviour. The interval's ends are then solved for in the mixture of the groups' gamma distributions, by
Newton's method on the cube root. Standard errors are those of `Likely`, and so are the rules about what may be empty.

The upper end, the worse one, is off by so much of the interval's width (median, 95th percentile, largest; of 32 x 32
cells in single steps, and in periods of 6 hours to all):

    mosaic's demo  from the mixture itself  0.6,  2 and   7 %,         0.6,  7 and  66 %;
                   from `Likely`            3.4, 16 and  50 %,         1.8, 12 and  89 %
    London         from the mixture itself  0.7,  2 and  14 %,         0.6,  8 and  55 %;
                   from `Likely`            3.2, 18 and  83 %,         1.9, 14 and 132 %
    even's demo    from the mixture itself  5.3, 23 and 143 %,         4.9, 27 and 170 %;
                   from `Likely`            10,  39 and 172 %,         6.7, 34 and 323 %

Most of the distance from `Likely` in single steps is its own, for it has few points beyond 97.5 % where few draws have
something: in the steps looked at it is 3 to 4, and 15 to 20 % from the mixture (mosaic, London). With `even` little is
known, and a few draws decide where the end lies. What is called the mixture itself has the profile's draws shuffled
among those of energy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gridveil.model.arrays import Floats, Ints
from gridveil.uncertainty.area_errors import Bars
from gridveil.uncertainty.intervals import NORMAL_QUANTILE
from gridveil.uncertainty.likely import ENOUGH, LONELY, NOTHING, SURELY_THERE, Likely
from gridveil.uncertainty.mixture import POINTS, TAIL

Singles = NDArray[np.float32]

CUTS = np.array([0.0, 0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 1.0])  # of the draws, from the end that is looked for
BLOCK = 4096  # cells at a time, which fit a processor's cache
NARROWEST = 1e-6  # relative variance of a group; solving needs some width
LEAST = 1e-6  # kWh
STEPS = 3  # of Newton's method
ROUNDING, LEAST_FALL, LARGEST = 1e-6, 1e-3, 60.0  # keep it finite, and away from denormal numbers, which are slow
SLOPE, BEND = 1.5976, 0.070566  # the logistic function of SLOPE z + BEND z^3 is the normal distribution, 1.4e-4 off


class Groups:
    """Draws of some cells by size, in groups: of each the cube root of its mean, and its relative variance.

    ordered: the draws of energy (cell, draw), those at the end that is looked for first.
    first, stop: which of them count, by cell.
    """

    def __init__(self, ordered: Singles, first: Ints, stop: Ints, likely: Likely) -> None:
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
        squares = np.minimum(likely.size.mean(), LONELY * mean) * np.maximum(1 - mean / likely.whole.mean(), 0.0) / mean
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
        for _ in range(STEPS):
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

    def __init__(self, region: int, cells: Ints, space: Singles, likely: Likely) -> None:
        count = len(space)
        energy = space.T.astype(np.float64)
        self.region = region
        self.cells = cells
        self.likely = likely
        self.mean = energy.mean(axis=1)
        self.squares = (energy * likely.squares(energy)).mean(axis=1)
        self.strays = _single(space - self.mean)
        ordered = np.sort(space.T, axis=1)
        full = (ordered > NOTHING).sum(axis=1)
        empty = 1 - full / count
        tail = max(TAIL - (0.5 - TAIL) / count, 0.5 / POINTS)
        self.several = np.where(full < count, np.minimum(full / ENOUGH, 1.0), 1.0)
        self.high = Groups(ordered[:, ::-1], np.zeros_like(full), full, likely)
        self.high_tail = np.full(len(cells), tail, np.float32)
        self.sure = np.flatnonzero((self.mean >= SURELY_THERE * energy.std(axis=1)) & (empty < tail))
        self.low = Groups(ordered[self.sure], count - full[self.sure], np.full(len(self.sure), count), likely)
        self.low_tail = ((tail - empty[self.sure]) / (1 - empty[self.sure])).astype(np.float32)

    def bars(self, time: Floats, own: float) -> Bars:
        """Return the bars for the part of the profile that lies in the period, by draw, and its variance."""
        count, part = len(time), time.mean()
        beside = time - part
        both, across = np.stack([time, time * beside]).astype(np.float32) @ self.strays
        spread = self.mean**2 * (beside @ beside) + 2 * self.mean * across - both.astype(np.float64) ** 2 / count
        spread += (time**2).astype(np.float32) @ (self.strays * self.strays)
        error = np.sqrt(np.maximum(spread, 0.0) / (count - 1) + own * self.squares)
        known = max(part, 1e-9)
        profile, around = float(beside @ beside) / (count - 1) / known**2, own / known**2
        high = part * self.high.ends(profile, around, self.high_tail, sign=1)
        one = self.likely.one_household(np.array(part), np.array(own))
        high = np.where(self.several < 1, self.several * high + (1 - self.several) * one, high)
        low = np.zeros_like(high)
        low[self.sure] = part * self.low.ends(profile, around, self.low_tail, sign=-1)
        return error, low, high


def blocks_of(space: Singles, region: Ints, likely: Likely) -> list[CellBlock]:
    """Return all cells, region by region, in blocks that fit a processor's cache."""
    cells = space.reshape(len(space), -1)
    blocks = []
    for number in np.unique(region):
        inside = np.flatnonzero(region.ravel() == number)
        blocks += [
            CellBlock(int(number), some, cells[:, some], likely)
            for some in np.array_split(inside, -(-len(inside) // BLOCK))
        ]
    return blocks


def _single(numbers: Floats) -> Singles:
    return np.ascontiguousarray(numbers, dtype=np.float32)
