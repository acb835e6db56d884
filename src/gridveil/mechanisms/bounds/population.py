"""What is known of the households' window totals: a number, a distribution, and how sure both are."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gridveil.model.units import Floats

DRAWS = 200


@dataclass(frozen=True)
class TotalsDistribution:
    """The households of a town by window total, Wh: made from a noisy histogram and public numbers alone.

    households: fitted number.
    epsilon: what the histogram cost.
    support, weights: window totals, increasing, and their probabilities.
    draws_households, draws_weights: what number and probabilities may be as well, one row a draw.
    """

    households: float
    epsilon: float
    support: Floats
    weights: Floats
    draws_households: Floats
    draws_weights: Floats

    def quantile(self, q: float) -> float:
        """Return the least total that a part `q` of the households does not exceed."""
        at = int(np.searchsorted(np.cumsum(self.weights), q))
        return float(self.support[min(at, len(self.support) - 1)])

    def mean(self, bound: float = math.inf) -> float:
        """Return the mean of the totals, each cut at the bound."""
        return float(self.weights @ np.minimum(self.support, bound))

    def second(self, bound: float = math.inf) -> float:
        """Return the mean of the squared totals, each cut at the bound."""
        return float(self.weights @ np.minimum(self.support, bound) ** 2)

    def debias(self, bound: float) -> float:
        """Return how many times larger the sum of all totals is than the sum of all bounded ones."""
        return self.mean() / self.mean(bound)

    def debias_draws(self, bound: float) -> Floats:
        """Return what `debias` may be as well, one number a draw."""
        whole = self.draws_weights @ self.support
        return np.asarray(whole / (self.draws_weights @ np.minimum(self.support, bound)), dtype=np.float64)
