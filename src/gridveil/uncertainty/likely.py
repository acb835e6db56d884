"""Error bars from draws of what may be true: of each, the mean of a query and how far households stray around it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gridveil.model.arrays import Floats
from gridveil.uncertainty.area_errors import Bars
from gridveil.uncertainty.mixture import ends, points, scores

NOTHING = 1e-3  # kWh; prefix sums of nothing are not exactly 0
LONELY = 1.3  # a household strays further, relative to its use, the less it uses; Behaviour is of the average kWh

# Where nearly all draws say that nothing is there, what would be there is one household: lognormal, with a standard
# deviation of its logarithm of 0.8, so that its 97.5 % quantile is so many times its mean square over mean.
ONE_HOUSEHOLD = 1.8
SURELY_THERE = 4.0  # standard deviations of the draws' energy away from nothing
ENOUGH = 20  # draws with something in them


@dataclass(frozen=True)
class Likely:
    """What all queries share, by draw: the size of households and the energy of the map, kWh."""

    size: NDArray[np.float32]
    whole: Floats

    @cached_property
    def scores(self) -> Floats:
        """Normal scores (draw, few) at which each draw's distribution is taken."""
        return scores(len(self.size))

    def bars(self, space: Floats, time: Floats, own: Floats, most: float = 1.0) -> Bars:
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


def held(bars: Bars, values: Floats) -> Bars:
    """Return bars that have their values inside, and nothing negative below."""
    error, low, high = bars
    return error, np.minimum(low, np.maximum(values, 0.0)), np.maximum(high, values)
