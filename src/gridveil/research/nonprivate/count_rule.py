"""The rule that utilities use today: publish a sum exactly if enough customers are in it. No guarantee."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gridveil.mechanisms.base import COMPARISON_ONLY
from gridveil.model.arrays import Floats
from gridveil.research.datasets.dataset import PlacedDataset
from gridveil.trusted.budget import Bound


@dataclass(frozen=True)
class CountRule:
    """A cell's exact sums if it has `households` or more and none of them uses over `percent` of its consumption.

    The default is the 15/15 rule of Illinois and other states of the USA. The share is taken over the whole window, not
    step by step: the rules speak of one customer's load in the group's total consumption, and a group is released or
    it is not. Step by step the rule would be stricter, and a hole in a curve would tell that somebody stood out. Cells
    that fail are NaN; in practice they are merged with a neighbour, which a fixed grid does not allow.

    Nothing is clipped and no noise added, so epsilon, bound, clip and seed have no effect. It leaks: subtract the
    releases before and after one household joins, and its exact curve remains.
    """

    households: int = 15
    percent: int = 15
    promise: ClassVar[str] = COMPARISON_ONLY["count-rule"].promise

    def release(self, placed: PlacedDataset, epsilon: float, bound: Bound, clip: int, seed: int) -> Floats:
        """Return the exact sums of the cells that pass."""
        del epsilon, bound, clip, seed
        return np.where(self._passing(placed)[:, :, None], placed.truth(), np.nan)

    def _passing(self, placed: PlacedDataset) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        """Return which cells are published, axes (x, y). In integers, so that exactly 15 % is not above 15 %."""
        used = placed.dataset.readings[:, placed.dataset.train_steps :].sum(axis=1)
        shape, cell = (placed.grid.nx, placed.grid.ny), (placed.cells[:, 0], placed.cells[:, 1])
        count, total, largest = (np.zeros(shape, dtype=np.int64) for _ in range(3))
        np.add.at(count, cell, 1)
        np.add.at(total, cell, used)
        np.maximum.at(largest, cell, used)
        return (count >= self.households) & (100 * largest <= self.percent * total)
