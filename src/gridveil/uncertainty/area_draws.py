"""Draws of what may be true, in one area: its energy by region and draw, with the profiles of periods or schedules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridveil.model.arrays import Floats, Ints
from gridveil.model.estimate import Behaviour
from gridveil.uncertainty.area_errors import Bars
from gridveil.uncertainty.behaviour import schedule_variances, variances
from gridveil.uncertainty.likely import Likely, held

BATCH_NUMBERS = 2**20


class DrawsArea:
    """The errors of an area with the energy `space` (region, draw) in the regions it touches.

    time: prefix sums of all regions' profiles (edge, region, draw), and which of them these are.
    most: the largest share of a cell that is in the area.
    """

    def __init__(
        self,
        likely: Likely,
        space: Floats,
        time: tuple[Floats, Ints],
        most: float,
        half: Floats,
        own: tuple[Behaviour, float],
    ) -> None:
        self.likely = likely
        self.space = space[None]
        self.time_sums, self.regions = time
        self.most = most
        self.half = half
        self.behaviour, self.hours = own

    def over(self, periods: NDArray[np.int64], values: Floats) -> Bars:
        """Return standard error, lower and upper end of the 95 % interval of each period."""

        def parts(some: NDArray[np.int64]) -> tuple[Floats, Floats]:
            time = self.time_sums[some[:, 1:], self.regions] - self.time_sums[some[:, :1], self.regions]
            return time, variances(self.half, some, time.mean(axis=2))

        return self._in_batches(periods, parts, values)

    def at(self, schedules: Floats, values: Floats) -> Bars:
        """Return standard error, lower and upper end of the 95 % interval of each schedule."""
        profiles = np.diff(self.time_sums[:, self.regions], axis=0).reshape(schedules.shape[1], -1)

        def parts(some: Floats) -> tuple[Floats, Floats]:
            time = (some @ profiles).reshape(-1, *self.space.shape[1:])
            return time, schedule_variances(self.behaviour, self.hours, some, time.mean(axis=2))

        return self._in_batches(schedules, parts, values)

    def _in_batches(
        self, queries: NDArray[Any], parts: Callable[[NDArray[Any]], tuple[Floats, Floats]], values: Floats
    ) -> Bars:
        """Return the bars of queries, a few at a time; `parts` gives their parts of profiles and variances."""
        most = max(1, BATCH_NUMBERS // (self.likely.scores.size + 2 * self.space.size))
        batches = np.array_split(queries, -(-len(queries) // most)) if len(queries) else [queries]
        bars = [self.likely.bars(self.space, *parts(some), self.most) for some in batches]
        error, low, high = (np.concatenate(column) for column in zip(*bars, strict=True))
        return held((error, low, high), values)
