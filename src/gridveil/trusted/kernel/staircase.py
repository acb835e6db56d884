"""The discrete staircase distribution: the noise of least variance for one sum that one household moves by so much."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gridveil.model.errors import BudgetError, UsageError
from gridveil.trusted.budget import MAX_WINDOW_BOUND

SMALLEST_EPSILON = 2.0**-20
"""Smaller ones make noise of a million shells, where staircase and Laplace are one and the same."""
LARGEST_EPSILON = 2.0**50
"""Its inverse is still a scale that floats hold with full precision (see `SMALLEST_SCALE`)."""
DEGENERATE_EPSILON = 500.0
"""From here on the steps of the staircase are lower than anything that a computer draws."""


@dataclass(frozen=True)
class Staircase:
    """Symmetric noise on the integers: `P(k)` is proportional to `exp(-level(k) * epsilon)`.

    The level is 0 for `|k| < inner`, and `j` for the `delta` values of `|k|` from `(j - 1) * delta + inner` on;
    `1 <= inner <= delta`. With `inner = delta = 1` it is the discrete Laplace distribution of scale `1 / epsilon`.

    Guarantee: a shift by `d` changes the log-probability of any outcome by at most `epsilon * ceil(d / delta)`.
    Argument: `level(k) = floor((|k| + delta - inner) / delta)`, because `0 <= delta - inner < delta`. A shift by `d`
    changes `|k|` by at most `d`, and `floor((a + d) / delta) <= floor(a / delta) + ceil(d / delta)` for whole `a`, so
    the level changes by at most `ceil(d / delta)`; the factor of proportionality is the same for all `k`.
    What is drawn differs from this by less than anybody can see, and to the good of the guarantee: see `ExactNoise`.

    >>> Staircase(delta=4, inner=2, epsilon=1.0).level([0, -1, 2, 5, -6]).tolist()
    [0, 0, 1, 1, 2]
    """

    delta: int
    inner: int
    epsilon: float

    def __post_init__(self) -> None:
        """Refuse what is not a staircase, or too large or flat to be drawn."""
        object.__setattr__(self, "delta", operator.index(self.delta))
        object.__setattr__(self, "inner", operator.index(self.inner))
        object.__setattr__(self, "epsilon", float(self.epsilon))
        if not 1 <= self.inner <= self.delta <= MAX_WINDOW_BOUND:
            msg = f"a staircase of inner {self.inner} and delta {self.delta}: 1 <= inner <= delta <= 2**36 is needed"
            raise UsageError(msg, code="staircase-shape")
        if not SMALLEST_EPSILON <= self.epsilon <= LARGEST_EPSILON:
            msg = (
                f"staircase noise with epsilon {self.epsilon:.3g} an answer: from {SMALLEST_EPSILON:.2g} to "
                f"{LARGEST_EPSILON:.2g} can be drawn; raise epsilon, ask for fewer answers, or take Laplace noise"
            )
            raise BudgetError(msg, code="staircase-epsilon")

    @property
    def outer_odds(self) -> float:
        """`P(|k| >= inner) / P(|k| < inner)`: each shell has `2 * delta` values, the middle `2 * inner - 1`."""
        return 2 * self.delta / (2 * self.inner - 1) * self._mean_shell

    @property
    def variance(self) -> float:
        """The variance: of the middle and of the shells, by their odds. All terms are positive: nothing cancels.

        >>> Staircase(delta=1, inner=1, epsilon=math.log(2)).variance  # the discrete Laplace: 2q / (1 - q)**2
        4.0
        """
        delta, inner, mean, odds = self.delta, self.inner, self._mean_shell, self.outer_odds
        middle = inner * (inner - 1) / 3
        # |k| = delta * shell + inner + u: shell is geometric with this mean, u uniform on 0 .. delta - 1.
        start = delta**2 * mean * (1 + 2 * mean) + 2 * delta * inner * mean + inner**2
        within = (delta - 1) * (delta * mean + inner + (2 * delta - 1) / 6)
        return (middle + odds * (start + within)) / (1 + odds)

    def level(self, k: ArrayLike) -> NDArray[np.int64]:
        """Return how many steps down from the middle the noise `k` is."""
        return np.asarray((np.abs(np.asarray(k)) - self.inner) // self.delta + 1, dtype=np.int64)

    def log_mass(self, k: ArrayLike) -> NDArray[np.float64]:
        """Return the log-probability of integer noise `k`."""
        top = -math.log1p(self.outer_odds) - math.log(2 * self.inner - 1)
        return np.asarray(top - self.epsilon * self.level(k), dtype=np.float64)

    @property
    def _mean_shell(self) -> float:
        """The sum of `exp(-j * epsilon)` over `j >= 1`, which is also the mean number of shells skipped."""
        return 1 / math.expm1(min(self.epsilon, DEGENERATE_EPSILON))


def choose_staircase(delta: int, epsilon: float) -> Staircase:
    """Return the staircase of least variance.

    Geng and Viswanath's optimum on the real line has its middle reach to `gamma * delta`, with
    `gamma = (cbrt(q * (1 + q) / 2) - q) / (1 - q)` and `q = exp(-epsilon)`; on the integers the middle reaches to
    `inner - 1/2`. The best whole number is among the nearest ones: the tests try all of them.

    >>> choose_staircase(1000, 10.0).inner
    29
    """
    epsilon = Staircase(delta, 1, epsilon).epsilon  # refused if it makes no staircase
    q = math.exp(-epsilon)
    gamma = (math.cbrt(q * (1 + q) / 2) - q) / -math.expm1(-epsilon)
    near = math.floor(gamma * delta + 0.5)
    inners = {min(max(inner, 1), delta) for inner in range(near - 1, near + 3)}
    return min((Staircase(delta, inner, epsilon) for inner in sorted(inners)), key=lambda best: best.variance)
