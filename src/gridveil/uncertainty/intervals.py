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
from collections.abc import Iterable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from gridveil.model.arrays import Floats

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
TOGETHER = 32

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
    for first in range(0, len(numbers), TOGETHER):
        some = numbers[first : first + TOGETHER]
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
