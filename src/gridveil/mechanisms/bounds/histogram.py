"""The bins in which households are counted by window total, and what counting them may cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta

import numpy as np

from gridveil.model.units import Floats, Ints
from gridveil.model.window import Window
from gridveil.trusted.kernel.bound import Bound

RATIO = 1.5
"""Of a bin's edges. Finer bins would show more of the shape, but each has its own noise: what matters is their sum."""
WIDE, FAR = 3, 6.0
"""From so many times the typical total on, one bin stands for this many ratios: few households are there, and a few of
them matter, so that there must be little noise."""
POINTS = 18
"""Points of the support in a ratio: a step of 2 % in the total."""
BELOW, MOST = 8, 40
"""How many ratios the first bin's points go down, and how many ratios there are at most."""
FIRST, TYPICAL = 100.0, 400.0
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
        first, typical = min(FIRST * hours, cap / RATIO**5), min(TYPICAL * hours, cap / RATIO**3)
        rising = first * RATIO ** np.arange(MOST)
        far = rising >= FAR * typical
        rising = np.append(rising[~far], rising[far][::WIDE])
        edges = np.unique(np.append(0, np.rint(rising[rising < cap]))).astype(np.int64)
        lows = np.append(first / RATIO**BELOW, edges[1:])
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
