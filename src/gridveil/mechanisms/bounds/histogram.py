"""The bins of the histogram of window totals, and the shapes that a distribution over them may have."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gridveil.model.arrays import Floats, Ints
from gridveil.model.window import Window
from gridveil.trusted.kernel.bound import Bound

# The bins in which households are counted by window total, and what counting them may cost.

RATIO = 1.5
"""Of a bin's edges. Finer bins would show more of the shape, but each has its own noise: what matters is their sum."""
WIDE_RATIOS, WIDE_FROM = 3, 6.0
"""From so many times the typical total on, one bin stands for this many ratios: few households are there, and a few of
them matter, so that there must be little noise."""
POINTS = 18
"""Points of the support in a ratio: a step of 2 % in the total."""
RATIOS_BELOW, MAX_RATIOS = 8, 40
"""How many ratios the first bin's points go down, and how many ratios there are at most."""
FIRST_EDGE, TYPICAL_USE = 100.0, 400.0
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
        first, typical = min(FIRST_EDGE * hours, cap / RATIO**5), min(TYPICAL_USE * hours, cap / RATIO**3)
        rising = first * RATIO ** np.arange(MAX_RATIOS)
        far = rising >= WIDE_FROM * typical
        rising = np.append(rising[~far], rising[far][::WIDE_RATIOS])
        edges = np.unique(np.append(0, np.rint(rising[rising < cap]))).astype(np.int64)
        lows = np.append(first / RATIO**RATIOS_BELOW, edges[1:])
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


# The distributions of window totals that are considered, each with its prior: lognormals, and mixtures of two.

CENTRE_SD, SPREAD, SPREAD_SD = 0.4, 0.8, 0.12
"""Prior of the logarithm of a total, from the typical one: where its centre is, and how far it spreads."""
UNUSUAL_CHANCE, UNUSUAL_WIDTH = 0.1, 3.0
"""Chance that a town is unlike those the prior was made from, and how many times wider the prior is then."""
HEAVY_CHANCE, IDLE_CHANCE, ALIKE_CHANCE = 0.02, 0.02, 0.002
"""Prior chances of a second kind that uses more (businesses, heating by electricity), of one that uses nothing (empty
homes, solar roofs), and of households that all use the same."""
SHIFTS, SPREADS, SHARES = (1.0, 1.5, 2.0, 2.5, 3.0, 3.5), (0.4, 0.8), (0.01, 0.02, 0.05, 0.1, 0.2, 0.35)
"""Of the heavy kind: logarithm of how many times more it uses, how far that spreads, part of the households."""
IDLE_SHARES = (0.03, 0.1, 0.2, 0.4)
NARROW_SPREAD, ZERO_CENTRE = 0.03, -50.0
"""The spread of households that use the same, and a centre so low that all is at the lowest point of any support."""


@dataclass(frozen=True)
class Shapes:
    """Many distributions of totals, each of a main kind of households and a share of another.

    kinds: the kinds' masses on the points of a support (kind, point).
    main, other, share: of each shape.
    parts: what a shape has in each bin (shape, bin).
    prior: log-priors.
    heavy: whether the other kind is one that uses more.
    """

    kinds: Floats
    main: Ints
    other: Ints
    share: Floats
    parts: Floats
    prior: Floats
    heavy: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, bins: Bins) -> Shapes:
        """Return all shapes for these bins."""
        families = (_make_single_family(), _make_alike_family(), _make_idle_family(), _make_heavy_family())
        centre, spread, other_centre, other_spread, share, prior = (
            np.concatenate(each) for each in zip(*families, strict=True)
        )
        pairs = np.stack([np.append(centre, other_centre), np.append(spread, other_spread)])
        different, which = np.unique(pairs, axis=1, return_inverse=True)
        kinds = _compute_lognormals(bins, *different)
        main, other = which.reshape(2, -1)
        in_bins, part = bins.masses(kinds), share[:, None]
        parts = (1 - part) * in_bins[main] + part * in_bins[other]
        return cls(kinds, main, other, share, parts, prior, other_centre > centre)

    def points(self, picked: Ints) -> Floats:
        """Return the masses of some shapes on the points of the support (picked, point)."""
        part = self.share[picked, None]
        return (1 - part) * self.kinds[self.main[picked]] + part * self.kinds[self.other[picked]]


class _Family(NamedTuple):
    """Shapes of one sort: the logarithms of both kinds' totals, the share of the other kind, and log-priors."""

    centre: Floats
    spread: Floats
    other_centre: Floats
    other_spread: Floats
    share: Floats
    prior: Floats


MAIN = np.linspace(-2.4, 2.4, 25), np.array([0.15, 0.4, 0.7, 1.0])
"""Centres and spreads of the main kind in mixtures: coarser than alone, for there are many mixtures."""


def _make_single_family() -> _Family:
    centre, spread = _combine_axes(np.linspace(-2.5, 2.5, 51), np.linspace(0.1, 1.6, 16))
    return _Family(
        centre,
        spread,
        centre,
        spread,
        0 * centre,
        _compute_priors(centre, spread, 1 - HEAVY_CHANCE - IDLE_CHANCE - ALIKE_CHANCE),
    )


def _make_alike_family() -> _Family:
    centre = np.arange(-2.5, 2.5, NARROW_SPREAD)
    spread = np.full(len(centre), NARROW_SPREAD)
    return _Family(centre, spread, centre, spread, 0 * centre, np.full(len(centre), np.log(ALIKE_CHANCE / len(centre))))


def _make_idle_family() -> _Family:
    centre, spread, share = _combine_axes(*MAIN, np.array(IDLE_SHARES))
    return _Family(
        centre,
        spread,
        0 * centre + ZERO_CENTRE,
        0 * centre + NARROW_SPREAD,
        share,
        _compute_priors(centre, spread, IDLE_CHANCE),
    )


def _make_heavy_family() -> _Family:
    centre, spread, shift, other, share = _combine_axes(*MAIN, np.array(SHIFTS), np.array(SPREADS), np.array(SHARES))
    return _Family(centre, spread, centre + shift, other, share, _compute_priors(centre, spread, HEAVY_CHANCE))


def _combine_axes(*axes: Floats) -> list[Floats]:
    """Return all combinations of numbers, one list for each axis."""
    return [np.asarray(axis.ravel(), dtype=np.float64) for axis in np.meshgrid(*axes, indexing="ij")]


def _compute_lognormals(bins: Bins, centre: Floats, spread: Floats) -> Floats:
    """Return the masses of lognormals on the support (kind, point)."""
    away = ((np.log(bins.support / bins.typical) - centre[:, None]) / spread[:, None]) ** 2
    # Relative to the nearest point: a narrow one beside the support does not vanish, it is all at the nearest point.
    masses = np.exp(-0.5 * (away - away.min(axis=1, keepdims=True))) * bins.widths
    return np.asarray(masses / masses.sum(axis=1, keepdims=True), dtype=np.float64)


def _compute_priors(centre: Floats, spread: Floats, chance: float) -> Floats:
    """Return log-priors of a family that sum to its chance."""
    away = (centre / CENTRE_SD) ** 2 + ((spread - SPREAD) / SPREAD_SD) ** 2
    usual, unusual = (np.exp(-0.5 * away / wider**2) for wider in (1.0, UNUSUAL_WIDTH))
    density = (1 - UNUSUAL_CHANCE) * usual / usual.sum() + UNUSUAL_CHANCE * unusual / unusual.sum()
    return np.asarray(np.log(chance * density), dtype=np.float64)
