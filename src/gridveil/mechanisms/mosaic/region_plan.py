"""How to look for regional profiles: what is asked and what it may cost, from public numbers and released ones."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import numpy as np
from numpy.typing import NDArray

from gridveil.geography.grid import Grid
from gridveil.model.units import Floats, Ints
from gridveil.model.window import Window

ENOUGH = 5_500
"""Households times epsilon below which even strong differences go unseen in a look that costs little."""

TEST = 400
"""What the first look needs of that product ..."""

TEST_SHARES = (0.015, 0.025)
"""... and the least and the most that it may take of the budget."""

TEST_BLOCKS, TEST_PARTS = 3, 3

FULL_SHARE = 0.12

BLOCKS = 8
"""Each way. More would show more from a product of 100,000 on, but make error bars slow: each has a profile."""

PARTS = ((20_000, 6), (0, 4))
"""From which product on the day is cut into how many parts."""

HOURS = 24


@dataclass(frozen=True)
class RegionMeasurement:
    """A question: sums over `blocks` of the map (each way) and parts of the day, all days together, for an epsilon.

    region (x, y), part (t,): of every cell and step. hour (t,): of the day, in the middle of each step.
    """

    blocks: tuple[int, int]
    region: Ints
    part: Ints
    hour: Ints
    epsilon: float

    @property
    def regions(self) -> int:
        """How many regions there are."""
        return self.blocks[0] * self.blocks[1]

    @property
    def parts(self) -> int:
        """How many parts of the day the window touches."""
        return int(self.part.max()) + 1

    def labels(self) -> NDArray[np.int16]:
        """Return the labels (x, y, t) for `Session.sums`: region after region, in each the parts of the day."""
        region, part = self.region.astype(np.int16), self.part.astype(np.int16)
        return region[:, :, None] * np.int16(self.parts) + part

    def centres(self) -> Floats:
        """Return where the regions are (k, 2), the map being the unit square."""
        columns, rows = self.blocks
        x, y = np.meshgrid((np.arange(columns) + 0.5) / columns, (np.arange(rows) + 0.5) / rows, indexing="ij")
        return np.stack([x.ravel(), y.ravel()], axis=1)


@dataclass(frozen=True)
class RegionPlan:
    """A first look, and the full one that pays if the first sees differences."""

    test: RegionMeasurement
    full: RegionMeasurement


def plan_regions(grid: Grid, window: Window, households: float, epsilon: float) -> RegionPlan | None:
    """Return how to look for regional profiles with a budget of `epsilon`; `None` if that cannot pay.

    households: a rough number, or one that was measured.

    >>> from datetime import UTC, datetime
    >>> week = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 168)
    >>> plan = plan_regions(Grid(0, 0, 32, 32, 32, 32), week, 4000, 10.0)
    >>> plan.test.epsilon, plan.full.blocks, plan.full.epsilon
    (0.15, (8, 8), 1.2)
    """
    power = households * epsilon
    if power < ENOUGH or grid.cells == 1 or window.step >= timedelta(hours=HOURS):
        return None
    hour = np.array([(time + window.step / 2).hour for time in window.times()], dtype=np.int64)
    test = _look(grid, hour, TEST_BLOCKS, TEST_PARTS, epsilon * float(np.clip(TEST / power, *TEST_SHARES)))
    if test.parts == 1:
        return None
    parts = next(count for least, count in PARTS if power >= least)
    return RegionPlan(test, _look(grid, hour, BLOCKS, parts, epsilon * FULL_SHARE))


def _look(grid: Grid, hour: Ints, blocks: int, parts: int, epsilon: float) -> RegionMeasurement:
    columns, rows = min(blocks, grid.nx), min(blocks, grid.ny)
    region = (np.arange(grid.nx) * columns // grid.nx)[:, None] * rows + np.arange(grid.ny) * rows // grid.ny
    part = np.unique(hour * parts // HOURS, return_inverse=True)[1]
    return RegionMeasurement((columns, rows), region, part, hour, epsilon)
