"""What a mechanism hands over: values for every cell and step, and what is needed for an error bar."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gridveil.model.arrays import Floats, HeldValues, Ints, Lazy

__all__ = [
    "LONDON",
    "Behaviour",
    "Estimate",
    "Floats",
    "Ints",
    "LinearNoise",
    "NoisyParts",
    "Posterior",
    "RegionSums",
    "Replicates",
]


@dataclass(frozen=True)
class NoisyParts:
    """The noise of independent sums over disjoint parts of the cube, spread over each part's cells.

    A range query that covers the share `s_i` of part `i` has the noise `sum_i s_i * Laplace(scales[i])`.

    labels: which part a cell and step belongs to (-1: none), broadcastable to the cube (x, y, t);
        `None` when every cell and step is a part of its own.
    scales: Laplace scale of each part's sum, Wh; with `labels=None` broadcastable to the cube.
    shares: the fraction of its part's sum that a cell and step holds, broadcastable to the cube.
    """

    labels: Ints | None
    scales: Floats
    shares: Floats


@dataclass(frozen=True)
class RegionSums:
    """Noisy sums over the window, Wh, of regions of cells: `labels` (x, y) numbers them row by row."""

    labels: Ints
    values: Floats
    scale: float


@dataclass(frozen=True)
class Replicates:
    """Reconstructions repeated with redrawn noise, and whatever else was uncertain; their spread is the error bar.

    Replicate `r` is the cube `space[r, x, y] * time[r, t]`, Wh: separable, so a query costs O(replicates).
    `measured` are the sums behind `space`, if there are such: what is known of space without the mechanism's habits.
    """

    space: Floats
    time: Floats
    measured: RegionSums | None = None


@dataclass(frozen=True)
class LinearNoise:
    """The noise of a linear reconstruction: the cube `(x (x) y (x) time) z`, `z` independent Laplace of variance 1.

    Each factor has the shape (length of its axis, any), or is `None` for an identity: independent noise along it. Their
    product is in Wh.
    """

    x: Floats | None
    y: Floats | None
    time: Floats | None


@dataclass(frozen=True)
class Behaviour:
    """How far single households stray from the profile in time that they share; public numbers, not of the release.

    A household that uses `x` in the window uses `x * (profile(P) + e(P))` in a period `P`. Its `e` comes from a
    stationary process in units of its mean use, the sum of independent ones with the covariance at a lag of `d` hours

        strengths[i]^2 * exp(-d / hours[i]) * cos(2 pi d / periods[i])        (a period of infinity: no cosine)

    of which the sum over the window is taken off again in proportion to the profile, so that the whole window has none.
    """

    strengths: tuple[float, ...]
    hours: tuple[float, ...]
    periods: tuple[float, ...]


# Fitted to the relative variance that households of London have in periods of an hour to three weeks (Low Carbon
# London, winter, one half of the households): moments, half days and days, how the window differs from other weeks, and
# habits of the day. Public numbers: no release changes them.
LONDON = Behaviour(
    strengths=(0.638, 0.177, 0.263, 0.309, 0.189, 0.210),
    hours=(0.5, 24.0, 1000.0, 1000.0, 1000.0, 1000.0),
    periods=(math.inf, math.inf, math.inf, 24.0, 12.0, 8.0),
)


@dataclass(frozen=True)
class Posterior:
    """What may be true, as draws given all that was measured: the consumption itself, not only what noise was added to.

    Draw `r` is the cube `space[r, x, y] * time[r, region[x, y], t]`, Wh, and around it the own behaviour of every
    household, independent of the others'.

    space: (r, x, y) energy of the window, Wh, with what the bounds cut off added again; never negative.
    region: (x, y) which profile a cell follows, 0 to k - 1.
    time: (r, k, t) the profile of each region; sums to 1 over t.
    size: (r,) mean square over mean of households' window totals, Wh: how lumpy a cell is.
    behaviour: of households in time.
    """

    space: Floats
    region: Ints
    time: Floats
    size: Floats
    behaviour: Behaviour = LONDON


@dataclass(frozen=True)
class Estimate:
    """A reconstructed cube in Wh, axes (x, y, t), with its error model.

    `values` are an array or, of a cube that may be too large for one, something `Lazy` that computes some steps of it.
    `details` are public facts about how it was made (numbers of parts, choices taken), for the label. Like
    `values`, they may only come from measurements and public numbers.
    """

    values: Floats | Lazy
    errors: NoisyParts | Replicates | LinearNoise | Posterior
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def cube(self) -> Lazy:
        """The values, whichever way they are there: shape, some steps, sums, all of them."""
        return HeldValues(self.values) if isinstance(self.values, np.ndarray) else self.values

    def dense(self) -> Floats:
        """Return all values as an array: only of a cube that is small."""
        return self.cube.dense()
