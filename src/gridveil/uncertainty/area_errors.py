"""Errors of an area, cells in whole or in part, over many periods or weighted sums of steps: what all models share."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gridveil.model.arrays import Floats, box_sums
from gridveil.uncertainty.intervals import t_quantile

Bars = tuple[Floats, Floats, Floats]  # standard error, lower and upper end of the 95 % interval


class AreaErrors(Protocol):
    """The errors of one area's consumption."""

    def over(self, periods: NDArray[np.int64], values: Floats) -> Bars:
        """Return the bars of the consumption over periods, rows (start, end) in steps."""

    def at(self, schedules: Floats, values: Floats) -> Bars:
        """Return the bars of weighted sums over steps that need not be adjacent; schedules (query, step)."""


class SymmetricArea:
    """The noise in one area: as far above the value as below."""

    def noise_over(self, periods: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Return standard error and half-width of the 95 % interval of each period."""
        raise NotImplementedError

    def noise_at(self, schedules: Floats) -> tuple[Floats, Floats]:
        """Return standard error and half-width of the 95 % interval of each schedule."""
        raise NotImplementedError

    def over(self, periods: NDArray[np.int64], values: Floats) -> Bars:
        """Return the bars of the consumption over periods, rows (start, end) in steps."""
        return around(values, *self.noise_over(periods))

    def at(self, schedules: Floats, values: Floats) -> Bars:
        """Return the bars of weighted sums over steps; schedules (query, step)."""
        return around(values, *self.noise_at(schedules))


class SpreadArea(SymmetricArea):
    """Replicates of an area's energy (replicate,), and of the profile, as prefix sums over steps (edge, replicate)."""

    def __init__(self, space: Floats, time_sums: Floats) -> None:
        self.space = space
        self.time_sums = time_sums

    def noise_over(self, periods: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Return the standard deviation over replicates, and that times Student's t quantile, of each period."""
        return self._spread(box_sums(self.time_sums, periods))

    def noise_at(self, schedules: Floats) -> tuple[Floats, Floats]:
        """Return the standard deviation over replicates, and that times Student's t quantile, of each schedule."""
        return self._spread(schedules @ np.diff(self.time_sums, axis=0))

    def _spread(self, time: Floats) -> tuple[Floats, Floats]:
        error = np.std(self.space * time, axis=1, ddof=1)
        return error, error * t_quantile(len(self.space) - 1)


def around(values: Floats, error: Floats, width: Floats) -> Bars:
    """Return the bars of values whose noise is symmetric."""
    return error, values - width, values + width


def covered(weights: Floats) -> tuple[slice, slice]:
    """Return the rows and columns between which an area lies; empty slices if it has no cells.

    >>> covered(np.array([[0.0, 0.0], [0.0, 0.5]]))
    (slice(1, 2, None), slice(1, 2, None))
    """
    some = [np.flatnonzero(weights.any(axis=axis)) for axis in (1, 0)]
    rows, columns = (slice(int(one[0]), int(one[-1]) + 1) if len(one) else slice(0, 0) for one in some)
    return rows, columns
