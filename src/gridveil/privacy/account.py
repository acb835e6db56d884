"""What has been spent: the worst privacy loss of a household, per pillar."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from gridveil.cube import Window
from gridveil.errors import UsageError
from gridveil.privacy.bound import Bound

Weights = NDArray[np.float64]
"""Loss per Wh of every (x, y, t), broadcastable to the cube: an axis of length 1 stands for equal weights."""

# Losses are sums of positive floats. Adding n of them errs by at most n * 2**-53 relative, so raising the sum
# by ROUNDING makes it an upper bound as long as no more than MOST_TERMS were added up.
ROUNDING = 1e-10
MOST_TERMS = 800_000


def worst_loss(weights: Weights, steps: int, bound: Bound) -> NDArray[np.float64]:
    """Return, per pillar, the largest loss that a household within the bound can suffer.

    Guarantee: the result is `max { sum_t w_t v_t : 0 <= v_t <= step, sum_t v_t <= window }` up to rounding. This is a
    fractional knapsack: give the heaviest steps their full `step`, the next one what is left of `window`. Because
    `step` and `window` are integers, an integer contribution attains it.

    >>> worst_loss(np.array([[[1.0, 3.0, 2.0]]]), 3, Bound(step=10, window=15))
    array([[40.]])
    """
    full, rest = divmod(bound.window, bound.step)
    if weights.shape[-1] == 1:
        return np.asarray(weights[..., 0] * min(bound.step * steps, bound.window))
    if full >= steps:
        return np.asarray(bound.step * weights.sum(axis=-1))
    last = steps - 1 - full
    heaviest = np.partition(weights, last, axis=-1)[..., last:]  # the first of these is the smallest
    return np.asarray(bound.step * heaviest[..., 1:].sum(axis=-1) + rest * heaviest[..., 0])


@dataclass(frozen=True)
class Account:
    """The weights of all measurements made on one window under one bound, added up.

    Guarantee: let a household contribute `v` to its pillar `p`. A Laplace measurement `y_j = A_j x + noise(b_j)`
    moves the log-probability of any answer by at most `sum_t |A_j,pt| v_t / b_j`, so all measurements together, each
    perhaps chosen by the answers before it, move that of the whole transcript by at most `sum_t W_pt v_t`, with `W_pt`
    the sum of the weights `|A_j,pt| / b_j`. The worst admissible `v` gives the loss of the pillar.
    """

    window: Window
    bound: Bound
    weights: Weights = field(default_factory=lambda: np.zeros((1, 1, 1)))
    measurements: int = 0

    def __post_init__(self) -> None:
        """Refuse what rounding could no longer be bounded for."""
        if self.window.steps + self.measurements > MOST_TERMS:
            msg = f"more than {MOST_TERMS} steps and measurements in one window cannot be accounted for"
            raise UsageError(msg)

    def loss(self) -> NDArray[np.float64]:
        """Return the loss of every pillar, broadcastable to (x, y), before rounding up."""
        return worst_loss(self.weights, self.window.steps, self.bound)

    def plus(self, weights: Weights) -> Account:
        """Return this account with one more measurement in it."""
        return Account(self.window, self.bound, self.weights + weights, self.measurements + 1)
