"""Households whose truth is known to the evaluation: what mechanisms are compared on. Nothing here is private."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.geography.grid import Grid
from gridveil.model.arrays import WH_PER_KWH, Floats, Ints
from gridveil.model.window import Window
from gridveil.simulate.sources import ArraySource


@dataclass(frozen=True)
class Dataset:
    """Readings of households without a place, Wh (household, step): the training steps, then the window's.

    `origin` says in one line where they come from, and that they are a stand-in if they are.
    """

    name: str
    origin: str
    window: Window
    train_steps: int
    readings: Ints


@dataclass(frozen=True)
class Placed:
    """A data set on a grid: every household in one cell (household, 2)."""

    dataset: Dataset
    grid: Grid
    cells: Ints

    def truth(self, clip: int | None = None) -> Floats:
        """Return the true consumption of the window, kWh (x, y, t), each reading cut at `clip` Wh if given."""
        readings = self.dataset.readings[:, self.dataset.train_steps :]
        if clip is not None:
            readings = np.minimum(readings, clip)
        cube = np.zeros((self.grid.nx, self.grid.ny, readings.shape[1]), dtype=np.int64)
        np.add.at(cube, (self.cells[:, 0], self.cells[:, 1]), readings)
        return cube / WH_PER_KWH

    def source(self) -> ArraySource:
        """Return what a kernel asks."""
        window = self.dataset.window
        first = window.before(self.dataset.train_steps).start if self.dataset.train_steps else window.start
        whole = Window(first, window.step, self.dataset.readings.shape[1])
        return ArraySource(self.grid, whole, self.cells, self.dataset.readings)
