"""Intervals of a mixture of skewed distributions that are never negative: one for each draw of what may be true."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from gridveil.model.arrays import Floats

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
