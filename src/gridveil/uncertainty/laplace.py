"""Exact 95 % intervals for sums of independent Laplace noise.

The noise of a query is `X = sum_i a_i L_i`, `L_i` standard Laplace. Its tail is a contour integral,

    P(X > q) = 1/(2 pi i)  integral of  e^(-s q) M(s) / s  ds,      M(s) = prod_i 1 / (1 - a_i^2 s^2),

over any path from below to above the real axis that crosses it between 0 and the first pole, `1 / max a_i`, and
goes off to the right. The path is a branch of a hyperbola around that ray of poles, steeper than the diagonal: there
`s^2` has a falling real part, so that every factor of `M` dies off, be it one large weight or a million small ones, and
`e^(-s q)` dies off doubly exponentially. So the trapezoidal rule converges geometrically: 32 nodes give 9 digits or
more whatever the weights, equal or not. Many small weights make a nearly normal sum, whose quantile comes from its
cumulants. The tests compare both with closed forms.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from gridveil.model.arrays import Floats, Ints

Complex = NDArray[np.complex128]
Cumulant = TypeVar("Cumulant", float, Floats)  # of one query, or of many
Weights = tuple[Floats, Floats]  # distinct weights, and how many parts have each

NORMAL_QUANTILE = 1.959963984540054
TAIL = 0.025  # on each side
NODES = (np.arange(32) + 0.5)[None, :]
DIGITS = 28  # the rule's own error is about e^-28
FURTHEST = 0.5  # of the way to the first pole; beyond sqrt(1/2) the hyperbola is flatter than the diagonal
NEWTON_STEPS = 4
FACTORS = 16  # as many cannot overflow
BATCH = 512
INTEGRAL_ROWS = 32  # queries solved for at a time
HEAVY_ROWS = 128  # as many of those with many weights

# Up to this excess kurtosis (600 equal parts, or their like) the Cornish-Fisher expansion to the sixth cumulant is
# used. With p_k = sum_i a_i^k, the first term it leaves out is proportional to
# p_8 / p_2^4 <= (p_4 / p_2^2)^2 = (kurtosis / 3)^2, and at most 4e-6 of the width here; the tests compare it with the
# integral where it is worst.
EXPANDED_KURTOSIS = 0.005


def errors_of(queries: Iterable[Weights]) -> tuple[Floats, Floats]:
    """Return standard deviation and half-width of the central 95 % interval of each query's noise.

    >>> sd, width = errors_of([(np.array([1.0]), np.array([1.0]))])
    >>> bool(abs(sd.item() - math.sqrt(2)) < 1e-12), bool(abs(width.item() - math.log(20)) < 1e-9)
    (True, True)
    """
    sds: list[float] = []
    widths: list[float] = []
    waiting: dict[int, Weights] = {}
    for number, query in enumerate(queries):
        sd, fourth, sixth = cumulants(*query)
        sds.append(sd)
        widths.append(sd * expansion(fourth, sixth))
        if fourth > EXPANDED_KURTOSIS:
            waiting[number] = query
        if len(waiting) == BATCH:
            _settle(waiting, widths)
    _settle(waiting, widths)
    return np.array(sds), np.array(widths)


def cumulants(weights: Floats, counts: Floats) -> tuple[float, float, float]:
    """Return standard deviation and standardised fourth and sixth cumulant; `counts[i]` parts have weight `a_i`.

    >>> cumulants(np.array([2.0]), np.array([8.0]))[:2]
    (8.0, 0.375)
    """
    peak = float(weights.max(initial=0.0))
    if peak == 0:
        return 0.0, 0.0, 0.0
    squares = (weights / peak) ** 2
    counted = counts * squares
    second, fourth, sixth = float(counted.sum()), float(counted @ squares), float(counted @ squares**2)
    return peak * math.sqrt(2 * second), 3 * fourth / second**2, 30 * sixth / second**3


def expansion(fourth: Cumulant, sixth: Cumulant) -> Cumulant:
    """Return the Cornish-Fisher 97.5 % quantile of a symmetric variable with unit variance and these cumulants."""
    z = NORMAL_QUANTILE
    return (
        z
        + fourth * (z**3 - 3 * z) / 24
        + sixth * (z**5 - 10 * z**3 + 15 * z) / 720
        - fourth**2 * (3 * z**5 - 24 * z**3 + 29 * z) / 384
    )


def _settle(waiting: dict[int, Weights], widths: list[float]) -> None:
    """Replace the widths of queries that wait for the integral, some of like size at a time."""
    numbers = sorted(waiting, key=lambda number: len(waiting[number][0]))
    for first in range(0, len(numbers), INTEGRAL_ROWS):
        some = numbers[first : first + INTEGRAL_ROWS]
        table = np.zeros((2, len(some), len(waiting[some[-1]][0])))
        for row, number in enumerate(some):
            table[:, row, : len(waiting[number][0])] = waiting[number]
        for number, width in zip(some, exact_widths(*table), strict=True):
            widths[number] = float(width)
    waiting.clear()


def exact_widths(weights: Floats, counts: Floats) -> Floats:
    """Return half-widths by the integral; rows are queries, and weights of 0 are no parts."""
    peak = weights.max(axis=1)
    scaled = weights / peak[:, None]
    return np.asarray(peak * _solve(scaled, counts, np.sqrt(2 * (counts * scaled**2).sum(axis=1))))


def _solve(weights: Floats, counts: Floats, sd: Floats) -> Floats:
    """Solve `P(X > q) = 2.5 %` by Newton's method on the log of the tail; the largest weight is 1."""
    q = 2 * sd
    s, ds = _contour(_crossing(q, sd**2 / 2))
    factor = np.exp(-_log_denominator(weights, counts, s)) * ds
    for _ in range(NEWTON_STEPS):
        density_terms = factor * np.exp(-s * q[:, None])
        density = density_terms.real.sum(axis=1)
        tail = (density_terms / s).real.sum(axis=1)
        q = q + np.log(tail / TAIL) * tail / density
    return q


def _log_denominator(weights: Floats, counts: Floats, s: Complex) -> Complex:
    """Return `sum_i counts_i log(1 - a_i^2 s^2)`, a few weights at a time so that nothing large is held."""
    total = np.zeros_like(s)
    for first in range(0, weights.shape[1], FACTORS):
        some = slice(first, first + FACTORS)
        factors = 1 - weights[:, some, None] ** 2 * s[:, None] ** 2
        if (counts[:, some] <= 1).all():  # weights that are all different: one logarithm for the product
            total += np.log(factors.prod(axis=1))
        else:
            total += np.einsum("qi,qik->qk", counts[:, some], np.log(factors))
    return total


def _crossing(q: Floats, parts: Floats) -> Floats:
    """Return where the contour crosses the axis: the saddle for `parts` equal weights of 1, in (0, 1).

    There `2 parts c / (1 - c^2) = q + 1 / c`. Any point in (0, 1) is correct; this one keeps terms small.
    """
    low, high = np.zeros_like(q), np.ones_like(q)
    for _ in range(20):
        c = (low + high) / 2
        above = 2 * parts * c**2 > (q * c + 1) * (1 - c**2)
        low, high = np.where(above, low, c), np.where(above, c, high)
    return (low + high) / 2


def _contour(crossing: Floats) -> tuple[Complex, Complex]:
    """Return nodes `s` on the hyperbola `sin(v + iu)` and their weights, for the upper half; `v = asin(crossing)`.

    In the strip of `u` free of poles `v` goes from 0 (the pole at 0) to pi/2 (the ray of poles), at least `v` each way.
    """
    v = np.arcsin(np.minimum(crossing, FURTHEST))[:, None]
    step = 2 * np.pi * v / DIGITS
    path = v + 1j * NODES * step
    return np.asarray(np.sin(path)), np.asarray(np.cos(path) * step / math.pi)


def t_quantile(freedom: Cumulant) -> Cumulant:
    """Return the 97.5 % quantile of Student's t (Abramowitz and Stegun 26.7.5, 0.03 % off at 4 degrees of freedom).

    >>> round(t_quantile(3), 2), round(t_quantile(30), 4)
    (3.18, 2.0423)
    """
    x, few = NORMAL_QUANTILE, 1 / freedom
    first, second = (x**3 + x) / 4, (5 * x**5 + 16 * x**3 + 3 * x) / 96
    third = (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384
    fourth = (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / 92160
    return x + few * (first + few * (second + few * (third + few * fourth)))


# Intervals of noise with many weights: the few heavy ones are taken one by one, all others together.

# Weights with at least this share of the variance, so 256 at most, enter the interval one by one. All others enter as n
# equal weights with their second and fourth power sum. Of p_2 = sum_j a_j^2 = 1 that leaves p_6 wrong by at most
# HEAVY^2 / 4 (a variance of numbers below HEAVY), and the width by about 0.36 times that, 1.4e-6 of it: the change of
# the Cornish-Fisher quantile, and less where a few weights rule. The tests look for worse.
HEAVY = 1 / 256
LIGHTEST = 1e-6  # lighter ones are as good as normal, and more of them would cost digits
ROUNDING = 1e-12  # of a sum of squares that is 1
ONE_WEIGHT = math.log(20) / math.sqrt(2)  # the half-width of Laplace noise with variance 1
QUICK = (-0.512384, 0.557803, 0.828538, -0.555184, -1.03972, 0.672073)
SAME_DIGITS = 12  # queries whose cumulants agree to so many have one width


def widths_of_products(tables: list[Floats], equal: Floats, fourth: Floats, sixth: Floats) -> Floats:
    """Return half-widths in standard deviations; weights as in `representatives`, `sixth` the sum of their cubes."""
    widths = expansion(3 * fourth, 30 * sixth)
    # The heaviest first, so that tables put together are of like size.
    order = np.argsort(-fourth, kind="stable")
    order = order[3 * fourth[order] > EXPANDED_KURTOSIS]
    for first in range(0, len(order), HEAVY_ROWS):
        some = order[first : first + HEAVY_ROWS]
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
    for first in range(0, len(chosen), HEAVY_ROWS):
        some = chosen[first : first + HEAVY_ROWS]
        rows, squares = heavies(some)
        table = _rows_of(len(some), rows, squares / second[some][rows])
        weights, counts = representatives([table], np.ones(len(some)), fourth[some])
        chosen_widths[first : first + HEAVY_ROWS] = exact_widths(weights, counts) / math.sqrt(2)
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
    something = np.maximum(second, ROUNDING)
    square = np.minimum(np.clip(fourth / something, LIGHTEST, HEAVY), something)
    return np.where(second > ROUNDING, square, 0.0), np.where(second > ROUNDING, something / square, 0.0)


def _heaviest(squares: Floats, times: Floats, least: Floats) -> Floats:
    """Return the numbers of each row that reach its least when multiplied, with zeros to fill up."""
    kept = np.where(squares * times[:, None] >= least[:, None], squares, 0.0)
    most = int(np.count_nonzero(kept, axis=1).max(initial=0))
    return np.partition(kept, -most, axis=1)[:, -most:] if most else kept[:, :0]


def normalise(sums: Floats) -> tuple[Floats, Floats]:
    """Return the norm of each row, and its squares with the sum 1; all zeros stay zeros.

    >>> normalise(np.array([[3.0, 4.0], [0.0, 0.0]]))
    (array([5., 0.]), array([[0.36, 0.64],
           [0.  , 0.  ]]))
    """
    peak = np.abs(sums).max(axis=1)
    squares = (sums / np.where(peak > 0, peak, 1.0)[:, None]) ** 2
    total = squares.sum(axis=1)
    return peak * np.sqrt(total), squares / np.where(total > 0, total, 1.0)[:, None]
