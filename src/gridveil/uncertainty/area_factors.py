"""Linear noise in one area: the outer product of its weights in space and those of a period or schedule in time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridveil.model.arrays import Floats, box_sums, prefix_sums
from gridveil.uncertainty.area_errors import SymmetricArea
from gridveil.uncertainty.heavy import HEAVY, normalised, widths_of_products

BATCH_NUMBERS = 2**19


class FactorsArea(SymmetricArea):
    """The noise of an area with the weights `space` of the variables in space; `time` as in `Factors`."""

    def __init__(self, scale: float, space: Floats, time: Floats | None) -> None:
        norm, squares = normalised(space[None])
        self.scale = scale * float(norm[0])
        self.fourth = float((squares**2).sum())
        self.sixth = float((squares**3).sum())
        # A weight that is not heavy here is in no product with a part of time; one stays for there to be a table.
        self.heavy = squares[:, (squares[0] >= HEAVY) | (np.arange(space.size) == squares.argmax())]
        self.time = time

    def noise_over(self, periods: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Return standard error and half-width of the 95 % interval of each period."""
        if self.time is None:
            return self._noise(np.ones((len(periods), 1)), (periods[:, 1] - periods[:, 0]).astype(float))
        sums = prefix_sums(self.time, axes=(0,))
        return self._in_batches(periods, self.time.shape[1], lambda some: box_sums(sums, some))

    def noise_at(self, schedules: Floats) -> tuple[Floats, Floats]:
        """Return standard error and half-width of the 95 % interval of each schedule."""
        time = self.time
        if time is None:
            return self._in_batches(schedules, schedules.shape[1], lambda some: some)
        return self._in_batches(schedules, time.shape[1], lambda some: some @ time)

    def _in_batches(
        self, queries: NDArray[Any], columns: int, weights_of: Callable[[NDArray[Any]], Floats]
    ) -> tuple[Floats, Floats]:
        """Return the noise of queries, a few at a time; `weights_of` gives their weights of the variables in time."""
        batches = np.array_split(queries, columns * len(queries) // BATCH_NUMBERS + 1)
        noise = [self._noise(weights_of(some), np.ones(len(some))) for some in batches]
        error, width = (np.concatenate(column) for column in zip(*noise, strict=True))
        return error, width

    def _noise(self, time: Floats, equal: Floats) -> tuple[Floats, Floats]:
        """Return standard error and half-width for weights in time (query, variable), each of them `equal` times."""
        with np.errstate(over="ignore", invalid="ignore"):  # whoever asks refuses what is not finite
            norms, squares = normalised(time)
            error = self.scale * norms * np.sqrt(equal)
            fourth = self.fourth * (squares**2).sum(axis=1) / equal
            sixth = self.sixth * (squares**3).sum(axis=1) / equal**2
            space = np.broadcast_to(self.heavy, (len(time), self.heavy.shape[1]))
            return error, error * widths_of_products([space, squares], equal, fourth, sixth)
