"""How far a release's answers to range queries are from the truth. Pure functions on arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gridveil.model.prefix import box_sums, prefix_sums
from gridveil.model.units import Floats, Ints

HALF_A_WATT_HOUR = 0.0005
"""In kWh: a truth below it is zero, apart from the rounding of prefix sums."""

FLOOR = 1.0
"""kWh: what `mre_floor` divides by where the truth is smaller."""

AUTHORS_BASE = 20.0
"""What the authors' code divides by where the truth is zero, in the unit of their readings."""


class RelativeError(NamedTuple):
    """Mean relative error in percent, and how many queries it leaves out because their truth is zero."""

    percent: float
    left_out: int


def range_sums(cube: Floats, ranges: Ints) -> Floats:
    """Return the sum of the cube (x, y, t) in every range (query, 6).

    >>> range_sums(np.ones((4, 4, 4)), np.array([[0, 2, 0, 3, 1, 4]]))
    array([18.])
    """
    return box_sums(prefix_sums(cube, axes=(0, 1, 2)), ranges)


def mre(truth: Floats, answers: Floats) -> RelativeError:
    """Return the mean of `|answer - truth| / truth` over the queries with a truth above zero: the paper's error.

    >>> mre(np.array([10.0, 20.0, 0.0]), np.array([12.0, 19.0, 7.0]))
    RelativeError(percent=12.5, left_out=1)
    """
    counted = truth > HALF_A_WATT_HOUR
    errors = np.abs(answers - truth)[counted] / truth[counted]
    percent = 100 * float(errors.mean()) if errors.size else float("nan")
    return RelativeError(percent, int(np.count_nonzero(~counted)))


def mre_floor(truth: Floats, answers: Floats, floor: float = FLOOR) -> float:
    """Return the mean of `|answer - truth| / max(truth, floor)` over all queries, in percent.

    >>> mre_floor(np.array([10.0, 0.5, 0.0]), np.array([12.0, 0.6, 0.3]))
    20.0
    """
    return 100 * float(np.mean(np.abs(answers - truth) / np.maximum(truth, floor)))


def mre_authors(truth: Floats, answers: Floats) -> RelativeError:
    """Return the mean relative error as the authors' code computes it: it divides by 20 where the truth is zero.

    `left_out` counts those queries; here they are in the mean, and almost free: an answer of 1 kWh where nothing was
    used is off by 5 %.

    >>> mre_authors(np.array([10.0, 20.0, 0.0]), np.array([12.0, 19.0, 7.0]))
    RelativeError(percent=20.0, left_out=1)
    """
    zero = truth <= HALF_A_WATT_HOUR
    errors = np.abs(answers - truth) / np.where(zero, AUTHORS_BASE, truth)
    return RelativeError(100 * float(errors.mean()), int(np.count_nonzero(zero)))


def wape(truth: Floats, answers: Floats) -> float:
    """Return the weighted absolute percentage error: all queries' absolute errors over all their truth.

    >>> wape(np.array([10.0, 20.0, 0.0]), np.array([12.0, 19.0, 3.0]))
    20.0
    """
    total = float(truth.sum())
    return 100 * float(np.abs(answers - truth).sum()) / total if total > HALF_A_WATT_HOUR else float("nan")


def mae(truth: Floats, answers: Floats) -> float:
    """Return the mean absolute error, kWh.

    >>> mae(np.array([10.0, 20.0]), np.array([12.0, 19.0]))
    1.5
    """
    return float(np.abs(answers - truth).mean())


def bias(truth: Floats, answers: Floats) -> float:
    """Return the mean signed error, kWh: below zero where a release tells too little, as bounds make it do.

    >>> bias(np.array([10.0, 20.0]), np.array([12.0, 19.0]))
    0.5
    """
    return float((answers - truth).mean())
