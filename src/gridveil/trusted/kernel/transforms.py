"""Transforms of a pillar's time series whose sensitivity is proven here, tighter than that of any matrix like them."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gridveil.model.arrays import Floats
from gridveil.model.errors import UsageError
from gridveil.trusted.budget import Bound


@dataclass(frozen=True)
class Fourier:
    """The `k` lowest frequencies in an orthonormal real basis: the constant, then cosine and sine of each.

    >>> Fourier(k=2).rows(4).round(3).tolist()
    [[0.5, 0.5, 0.5, 0.5], [0.707, 0.0, -0.707, -0.0], [0.0, 0.707, 0.0, -0.707]]
    """

    k: int

    def __post_init__(self) -> None:
        """Refuse what is no whole number."""
        object.__setattr__(self, "k", operator.index(self.k))

    def rows(self, steps: int) -> Floats:
        """Return the basis (row, step); the highest frequency of an even number of steps has no sine."""
        if not 1 <= self.k <= steps // 2 + 1:
            msg = f"{self.k} Fourier frequencies of {steps} steps: there are {steps // 2 + 1}"
            raise UsageError(msg, code="fourier-frequencies")
        turns = np.outer(np.arange(1, self.k), np.arange(steps)) % steps  # exact; large phases would lose digits
        phase = 2 * np.pi * turns / steps
        waves = np.stack([np.cos(phase), np.sin(phase)], axis=1).reshape(-1, steps) * math.sqrt(2 / steps)
        if self.k == steps // 2 + 1 and steps % 2 == 0:
            waves = waves[:-1]
            waves[-1:] /= math.sqrt(2)
        return np.concatenate([np.full((1, steps), 1 / math.sqrt(steps)), waves])

    def relative(self, steps: int) -> Floats:
        """Return the relative noise scale of every row: all the same."""
        return np.ones(len(self.rows(steps)))

    def sensitivity(self, steps: int, bound: Bound, bits: int | None = None) -> float:
        """Return an upper bound of `sum_j |R_j v|` over all contributions `v` within the bound.

        `R` are the rows; or, with `bits`, the rows times `2**bits`, rounded.

        Guarantee: let `S = sum_t v_t`, `c = min(step, B)`, `T` the steps and `m` the rows. The first row gives
        `S / sqrt(T)`. The others are orthonormal, and orthogonal to constants, so by Cauchy-Schwarz their
        absolute values add up to at most `sqrt(m - 1) |v - S / T|_2`, where
        `|v - S / T|_2^2 = |v|_2^2 - S^2 / T <= c S - S^2 / T` because `v_t^2 <= c v_t`. The sum of both is concave in
        `S`, with its peak at `c T (1 + 1 / sqrt(m)) / 2`; `S` is at most `min(B, c T)`. (With `B = c T` this
        is `(1 + sqrt(m)) / 2 * c * sqrt(T)`.) Rounding changes each entry of the rows, as floats, by at most a half,
        hence each row's answer by at most `S / 2`. An entry as a float differs from the basis by less than
        `2**-48 * sqrt(2 / T)`: three roundings of a phase below `2 pi`, and a few of numbers up to 1. That changes all
        answers together by less than `2e-14 * sqrt(m)` of the bound above: 2e-12 of it for all frequencies of a
        year's 8,760 hours, 2e-11 for `MAX_TERMS` steps. It is inside the slack of `compute_unit_scale`, 3e-10, and not
        added.
        """
        step, m = min(bound.step, bound.window), len(self.rows(steps))
        most = min(bound.window, step * steps)
        total = min(most, step * steps * (1 + 1 / math.sqrt(m)) / 2)
        exact = total / math.sqrt(steps) + math.sqrt((m - 1) * max(0.0, step * total - total**2 / steps))
        return exact if bits is None else exact * 2.0**bits + m * most / 2


@dataclass(frozen=True)
class Haar:
    """The first `k` Haar coefficients, coarse to fine, as whole numbers: the total, then left half minus right half.

    Time is padded with zeros at its end to a power of two. The noise on a node of length `n` is proportional to
    `n**exponent`: 0.5 is an orthonormal transform with equal noise, 0 is equal noise on the whole numbers (Privelet).

    >>> Haar(k=3).rows(4).tolist()
    [[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, -1.0, -1.0], [1.0, -1.0, 0.0, 0.0]]
    """

    k: int | None = None
    exponent: float = 0.5

    def __post_init__(self) -> None:
        """Refuse what is no whole number or no exponent."""
        if self.k is not None:
            object.__setattr__(self, "k", operator.index(self.k))
        if not 0 <= self.exponent <= 1:
            msg = f"exponent {self.exponent} of a Haar transform: it is from 0 to 1"
            raise UsageError(msg, code="haar-exponent")

    def rows(self, steps: int) -> Floats:
        """Return the coefficients' signs (row, step)."""
        lengths, padded = self._lengths(steps), _pad_to_power_of_two(steps)
        signs = [np.ones((1, steps))]
        for length in sorted(set(lengths[1:].tolist()), reverse=True):
            node, place = np.divmod(np.arange(steps), length)
            sign = np.where(place < length // 2, 1.0, -1.0)
            signs.append(np.where(node == np.arange(padded // length)[:, None], sign, 0.0))
        return np.concatenate(signs)[: len(lengths)]

    def relative(self, steps: int) -> Floats:
        """Return the relative noise scale of every row."""
        return np.asarray(self._lengths(steps).astype(np.float64) ** self.exponent)

    def sensitivity(self, steps: int, bound: Bound, bits: int | None = None) -> float:
        """Return the largest `sum_j |R_j v| / relative_j` over all contributions `v` within the bound. Exact.

        Guarantee: the sum is convex in `v`, so it is largest at a corner of `{0 <= v_t <= c, sum_t v_t <= B}`. At a
        corner all steps are 0 or `c`, except perhaps one, and then the sum is `B`: `B // c` steps are full and one
        holds the rest `B mod c`. What a node and all below it can add depends on the steps outside it only through how
        many full steps it has, and whether it has the one with the rest. From the leaves up, the best of every
        such state is the best pair of states of its halves plus its own `|left - right|`. O(steps^2).
        """
        if bits:
            msg = "Haar coefficients are whole numbers; there is nothing to round"
            raise UsageError(msg, code="haar-rounding")
        step = min(bound.step, bound.window)  # their product with steps then fits int64
        full = min(bound.window // step, steps)
        rest = bound.window - full * step if full < steps else 0
        weights = 1 / self.relative(steps)
        nodes = _pad_to_power_of_two(steps)
        best = np.full((nodes, 2, 2), -np.inf)  # (node, has the rest, full steps)
        best[:, 0, 0] = 0
        best[:steps, 0, 1] = best[:steps, 1, 0] = 0
        best = best[..., : full + 1]
        while nodes > 1:
            nodes //= 2
            own = np.zeros(nodes)
            some = weights[nodes : 2 * nodes]  # row `nodes` is the first of this level
            own[: len(some)] = some
            best = _join(best[0::2], best[1::2], own, step, rest)[..., : full + 1]
        held = step * np.arange(best.shape[2])
        totals = np.stack([held, held + rest]) * weights[0]
        return float((best[0] + totals).max())

    def _lengths(self, steps: int) -> NDArray[np.int64]:
        """Return the length of the node of every row."""
        padded = _pad_to_power_of_two(steps)
        count = padded if self.k is None else self.k
        if not 1 <= count <= padded:
            msg = f"{self.k} Haar coefficients of {steps} steps: there are {padded}"
            raise UsageError(msg, code="haar-coefficients")
        level = np.floor(np.log2(np.maximum(np.arange(count), 1))).astype(np.int64)
        return np.asarray(padded >> level)


def _pad_to_power_of_two(steps: int) -> int:
    """Return the smallest power of two that is not below `steps`."""
    return 1 << (steps - 1).bit_length()


def _join(left: Floats, right: Floats, weight: Floats, step: int, rest: int) -> Floats:
    """Return the best of every state of nodes from those of their halves; see `Haar.sensitivity`."""
    size = left.shape[2]
    joined = np.full((len(left), 2, 2 * size - 1), -np.inf)
    more = step * np.arange(size)  # what the right half holds in full steps
    for held in range(size):
        here = slice(held, held + size)
        for has_left, has_right in ((0, 0), (1, 0), (0, 1)):
            gap = np.abs(held * step + has_left * rest - more - has_right * rest)
            states = left[:, has_left, held, None] + right[:, has_right] + weight[:, None] * gap
            into = joined[:, has_left + has_right, here]
            np.maximum(into, states, out=into)
    return joined
