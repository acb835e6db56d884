"""Small towns for baselines."""

from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import ArrayLike

from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.research.datasets.dataset import Dataset, PlacedDataset
from gridveil.trusted.budget import Bound

BOUND = Bound(step=2000, window=20_000)
"""Yardsticks make no use of it."""


def place(readings: ArrayLike, cells: ArrayLike, nx: int, ny: int, train_steps: int = 0) -> PlacedDataset:
    series = np.asarray(readings, dtype=np.int64)
    window = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), series.shape[1] - train_steps)
    dataset = Dataset("small", "invented", window, train_steps, series)
    return PlacedDataset(dataset, Grid(0, 0, nx, ny, nx, ny), np.asarray(cells, dtype=np.int64))
