"""A small town for the tests of the evaluation. Importable by other processes."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.research.datasets.dataset import Dataset, PlacedDataset

STEPS, TRAIN = 12, 6


def small_town(seed: int = 0, households: int = 40) -> PlacedDataset:
    rng = np.random.default_rng(seed)
    readings = rng.gamma(2.0, 300.0, (households, TRAIN + STEPS)).astype(np.int64)
    window = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), STEPS)
    dataset = Dataset("small", "invented for a test", window, TRAIN, readings)
    return PlacedDataset(dataset, Grid(0, 0, 5, 4, 5, 4), rng.integers((5, 4), size=(households, 2)))


@dataclass(frozen=True)
class SmallTowns:
    """Stands for something that finds data by name."""

    def __call__(self, dataset: str, placement: str, seed: int) -> PlacedDataset:
        assert (dataset, placement) == ("small", "drawn")
        return small_town(seed)
