"""Intervals of noise with many weights: the few heavy ones are taken one by one, all others together."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from gridveil.model.arrays import Floats, Ints
from gridveil.uncertainty.intervals import EXPANDED_KURTOSIS, NORMAL_QUANTILE, exact_widths, expansion

TOGETHER = 128

# Weights with at least this share of the variance, so 256 at most, enter the interval one by one. All others enter as n
# equal weights with their second and fourth power sum. Of p_2 = sum_j a_j^2 = 1 that leaves p_6 wrong by at most
# HEAVY^2 / 4 (a variance of numbers below HEAVY), and the width by about 0.36 times that, 1.4e-6 of it: the change of
# the Cornish-Fisher quantile, and less where a few weights rule. The tests look for worse.
HEAVY = 1 / 256
LIGHTEST = 1e-6  # lighter ones are as good as normal, and more of them would cost digits
NOTHING = 1e-12  # rounding, not noise
ONE_WEIGHT = math.log(20) / math.sqrt(2)  # the half-width of Laplace noise with variance 1
QUICK = (-0.512384, 0.557803, 0.828538, -0.555184, -1.03972, 0.672073)
SAME_DIGITS = 12  # queries whose cumulants agree to so many have one width


def widths_of_products(tables: list[Floats], equal: Floats, fourth: Floats, sixth: Floats) -> Floats:
    """Return half-widths in standard deviations; weights as in `representatives`, `sixth` the sum of their cubes."""
    widths = expansion(3 * fourth, 30 * sixth)
    # The heaviest first, so that tables put together are of like size.
    order = np.argsort(-fourth, kind="stable")
    order = order[3 * fourth[order] > EXPANDED_KURTOSIS]
    for first in range(0, len(order), TOGETHER):
        some = order[first : first + TOGETHER]
        weights, counts = representatives([squares[some] for squares in tables], equal[some], fourth[some])
        widths[some] = exact_widths(weights, counts) / math.sqrt(2)
    return widths


def widths_of_sums(powers: Floats, heavies: Callable[[Ints], tuple[Ints, Floats]]) -> Floats:
    """Return half-widths in standard deviations of queries with the power sums 2, 4 and 6 of their weights (3, query).

    heavies: from numbers of queries to the squares of at least their heavy weights, and which of them each belongs to
        (its place in the numbers asked for). Asked for few: queries with the same cumulants have one width.

    >>> widths = widths_of_sums(np.ones((3, 1)), lambda rows: (np.array([0]), np.array([1.0])))
    >>> bool(abs(widths.item() * math.sqrt(2) - math.log(20)) < 1e-9)
    True
    """
    second = np.where(powers[0] > 0, powers[0], 1.0)
    fourth, sixth = powers[1] / second**2, powers[2] / second**3
    widths = expansion(3 * fourth, 30 * sixth)
    waiting = np.flatnonzero(3 * fourth > EXPANDED_KURTOSIS)
    cumulants = np.stack([fourth[waiting], sixth[waiting]], axis=1).round(SAME_DIGITS)
    _, chosen, same = np.unique(cumulants, axis=0, return_index=True, return_inverse=True)
    chosen = waiting[chosen]
    chosen_widths = np.empty(len(chosen))
    for first in range(0, len(chosen), TOGETHER):
        some = chosen[first : first + TOGETHER]
        rows, squares = heavies(some)
        table = _rows_of(len(some), rows, squares / second[some][rows])
        weights, counts = representatives([table], np.ones(len(some)), fourth[some])
        chosen_widths[first : first + TOGETHER] = exact_widths(weights, counts) / math.sqrt(2)
    widths[waiting] = chosen_widths[same]
    return np.asarray(widths)


def _rows_of(count: int, rows: Ints, numbers: Floats) -> Floats:
    """Return a table with the heavy numbers of each row, zeros behind them, and at least one column."""
    kept = numbers >= HEAVY
    rows, numbers = rows[kept], numbers[kept]
    order = np.argsort(rows, kind="stable")
    sizes = np.bincount(rows, minlength=count)
    places = np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    table = np.zeros((count, max(1, int(sizes.max(initial=0)))))
    table[rows[order], places] = numbers[order]
    return table


def quick_widths(fourth: Floats, sixth: Floats) -> Floats:
    """Return half-widths in standard deviations from power sums 4 and 6 of weights whose squares sum to 1.

    A polynomial fitted to exact widths of 22,500 sets of 2 to 300 weights, within 5e-4 of each; exact for one weight,
    and for so many that they are normal.

    >>> bool(abs(quick_widths(np.ones(1), np.ones(1)).item() * math.sqrt(2) - math.log(20)) < 1e-9)
    True
    """
    a, b, c, d, e, f = QUICK
    first = ONE_WEIGHT - NORMAL_QUANTILE - sum(QUICK)
    bent = first * fourth + a * sixth + b * fourth**2 + c * fourth * sixth + d * sixth**2
    return np.asarray(NORMAL_QUANTILE + bent + e * fourth**3 + f * fourth**2 * sixth)


def representatives(tables: list[Floats], equal: Floats, fourth: Floats) -> tuple[Floats, Floats]:
    """Return few weights, and how many there are of each, for the noise of some queries (rows).

    The squared weights are the products of one number from each table, whose rows sum to 1 (numbers that cannot make a
    heavy product may be missing), divided by `equal`, and each occurs `equal` times. `fourth` is the sum of their
    squares. Heavy weights are returned as they are, and one weight for all others.

    >>> weights, counts = representatives([np.array([[0.98, 0.0199, 0.0001]])], np.array([2.0]), np.array([0.48039801]))
    >>> np.round(weights**2, 5).tolist(), np.round(counts).tolist()
    ([[0.00995, 0.49, 5e-05]], [[2.0, 2.0, 2.0]])
    """
    least = HEAVY * equal
    peaks = [squares.max(axis=1) for squares in tables]
    heavy = np.ones((len(equal), 1))
    for place, squares in enumerate(tables):
        later = np.prod([np.ones(len(equal)), *peaks[place + 1 :]], axis=0)
        ahead = _heaviest(squares, later * heavy.max(axis=1, initial=0.0), least)
        products = (heavy[:, :, None] * ahead[:, None, :]).reshape(len(equal), -1)
        heavy = _heaviest(products, later, least)
    light = _light(1 - heavy.sum(axis=1), fourth - (heavy**2).sum(axis=1) / equal)
    weights = np.sqrt(np.hstack([heavy / equal[:, None], light[0][:, None]]))
    return weights, np.hstack([np.where(heavy > 0, equal[:, None], 0.0), light[1][:, None]])


def _light(second: Floats, fourth: Floats) -> tuple[Floats, Floats]:
    """Return the square, and the number, of equal weights with these power sums, as far as weights can be that light.

    There is at least one, whatever rounding made of the sums.
    """
    something = np.maximum(second, NOTHING)
    square = np.minimum(np.clip(fourth / something, LIGHTEST, HEAVY), something)
    return np.where(second > NOTHING, square, 0.0), np.where(second > NOTHING, something / square, 0.0)


def _heaviest(squares: Floats, times: Floats, least: Floats) -> Floats:
    """Return the numbers of each row that reach its least when multiplied, with zeros to fill up."""
    kept = np.where(squares * times[:, None] >= least[:, None], squares, 0.0)
    most = int(np.count_nonzero(kept, axis=1).max(initial=0))
    return np.partition(kept, -most, axis=1)[:, -most:] if most else kept[:, :0]


def normalised(sums: Floats) -> tuple[Floats, Floats]:
    """Return the norm of each row, and its squares with the sum 1; all zeros stay zeros.

    >>> normalised(np.array([[3.0, 4.0], [0.0, 0.0]]))
    (array([5., 0.]), array([[0.36, 0.64],
           [0.  , 0.  ]]))
    """
    peak = np.abs(sums).max(axis=1)
    squares = (sums / np.where(peak > 0, peak, 1.0)[:, None]) ** 2
    total = squares.sum(axis=1)
    return peak * np.sqrt(total), squares / np.where(total > 0, total, 1.0)[:, None]
