"""Which steps queries of one area take: every step of a period, or a weighted choice."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gridveil.model.arrays import Floats, Ints


@dataclass(frozen=True)
class StepWeights:
    """Pairs of a step and a query that takes it with a factor, in the order of steps."""

    count: int  # of queries
    steps: Ints
    queries: Ints
    factors: Floats

    @classmethod
    def of_periods(cls, periods: NDArray[np.int64]) -> StepWeights:
        """Every step from start up to the end, once.

        >>> StepWeights.of_periods(np.array([[1, 3], [0, 2]])).steps.tolist()
        [0, 1, 1, 2]
        """
        lengths = periods[:, 1] - periods[:, 0]
        queries = np.repeat(np.arange(len(periods)), lengths)
        steps = periods[queries, 0] + places(lengths)
        order = np.argsort(steps, kind="stable")
        return cls(len(periods), steps[order], queries[order], np.ones(len(queries)))

    @classmethod
    def of_weights(cls, schedules: Floats) -> StepWeights:
        """Every step whose weight is not 0; schedules (query, step)."""
        steps, queries = np.nonzero(schedules.T)
        return cls(len(schedules), steps, queries, schedules[queries, steps])

    def where(self, kept: NDArray[np.bool_]) -> StepWeights:
        """Return some of the pairs."""
        return StepWeights(self.count, self.steps[kept], self.queries[kept], self.factors[kept])

    def only(self, queries: Ints) -> StepWeights:
        """Return the schedule of some queries, numbered anew."""
        number = np.full(self.count, -1)
        number[queries] = np.arange(len(queries))
        kept = self.where(number[self.queries] >= 0)
        return StepWeights(len(queries), kept.steps, number[kept.queries], kept.factors)

    def totals(self, numbers: Floats) -> Floats:
        """Return the sum of a number of each pair, by query."""
        return np.bincount(self.queries, numbers, minlength=self.count).astype(float)


def places(lengths: Ints) -> Ints:
    """Return the numbers from 0 up to each length, one after the other.

    >>> places(np.array([2, 0, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    return np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
