from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.research.datasets.dataset import Dataset, PlacedDataset

WINDOW = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 2)


def placed(train_steps: int) -> PlacedDataset:
    readings = np.array([[9, 1000, 2000], [9, 10, 20], [9, 500, 0]])[:, 1 - train_steps :]
    cells = np.array([[0, 1], [2, 0], [0, 1]])
    return PlacedDataset(Dataset("three", "made up", WINDOW, train_steps, readings), Grid(0, 0, 3, 2, 3, 2), cells)


@pytest.mark.parametrize("train_steps", [0, 1])
def test_truth_is_the_window_s_consumption_in_kwh(train_steps: int) -> None:
    truth = placed(train_steps).truth()
    expected = np.zeros((3, 2, 2))
    expected[0, 1] = 1.5, 2.0
    expected[2, 0] = 0.01, 0.02
    np.testing.assert_array_equal(truth, expected)


def test_a_clip_cuts_each_reading_before_they_are_added() -> None:
    np.testing.assert_array_equal(placed(1).truth(clip=600)[0, 1], [1.1, 0.6])


@pytest.mark.parametrize("train_steps", [0, 1])
def test_the_source_covers_training_and_window(train_steps: int) -> None:
    source = placed(train_steps).source()
    assert source.window.end == WINDOW.end
    assert source.window.steps == 2 + train_steps
    assert source.readings.shape == (3, 2 + train_steps)
