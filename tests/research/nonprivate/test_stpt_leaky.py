"""The authors' code, leaks included: these tests show that it does leak."""

import numpy as np
import pytest
from tests.research.nonprivate.town import BOUND, place

from gridveil.research.datasets.dataset import PlacedDataset
from gridveil.research.nonprivate.stpt_leaky import StptLeaky, noise_scales

TRAIN, STEPS, SIDE = 80, 24, 8
CELLS = np.stack(np.meshgrid(np.arange(SIDE), np.arange(SIDE), indexing="ij"), axis=-1).reshape(-1, 2)
READINGS = np.random.default_rng(0).gamma(1.0, 400, (SIDE * SIDE, TRAIN + STEPS)).astype(np.int64)
CLIP = 1000


def town(readings: np.ndarray, cells: np.ndarray = CELLS) -> PlacedDataset:
    return place(readings, cells, nx=SIDE, ny=SIDE, train_steps=TRAIN)


def release(placed: PlacedDataset, epsilon: float = 30.0, seed: int = 0) -> np.ndarray:
    return StptLeaky().release(placed, epsilon, BOUND, CLIP, seed)


def test_a_single_raw_reading_of_the_window_changes_the_partition() -> None:
    """Everything else is fixed: the noise, the network, its training data, the household's extremes."""
    changed = READINGS.copy()
    step = TRAIN + 9
    changed[5, step] = (changed[5].max() - 1) if changed[5, step] < changed[5].mean() else changed[5].min() + 1
    assert (READINGS[:, :step] == changed[:, :step]).all()
    assert (READINGS.min(axis=1) == changed.min(axis=1)).all()
    assert (READINGS.max(axis=1) == changed.max(axis=1)).all()
    _, before = StptLeaky().partition(town(READINGS), 10.0, seed=0)
    _, after = StptLeaky().partition(town(changed), 10.0, seed=0)
    # What is predicted from the changed reading: the next six steps of its own cell.
    assert (before[5, 10:16] != after[5, 10:16]).any()


def test_quiet_cells_show_as_exact_zeros() -> None:
    readings = READINGS.copy()
    readings[:2, TRAIN:] = 0
    readings[0, TRAIN] = 1000
    readings[1, TRAIN] = 1001
    cube = release(town(readings))
    assert (cube[0, 0] == 0).all()
    assert (cube[0, 1] != 0).all()


def test_without_noise_parts_are_means_and_totals_are_kept() -> None:
    placed = town(READINGS)
    cube = release(placed, epsilon=1e12)
    assert cube.sum() == pytest.approx(placed.truth(CLIP).sum(), rel=1e-6)
    _, labels = StptLeaky().partition(placed, 1e12 / 3, seed=0)
    part = labels == labels[0, 0]
    mean = placed.truth(CLIP).reshape(-1, STEPS)[part].mean()
    np.testing.assert_allclose(cube.reshape(-1, STEPS)[part], mean, rtol=1e-6)


def test_means_of_households_are_published_times_their_exact_number() -> None:
    doubled = town(np.concatenate([READINGS, READINGS]), np.concatenate([CELLS, CELLS]))
    np.testing.assert_allclose(release(doubled), 2 * release(town(READINGS)), rtol=1e-4)


def test_noise_is_that_of_theorem_8() -> None:
    """Two pillars, two parts, 1 and 119 steps of one, 119 and 1 of the other: 1.5 kWh * 119 / (20 / 2)."""
    labels = np.zeros((2, 120), dtype=np.int64)
    labels[0, 1:] = labels[1, 0] = 1
    np.testing.assert_allclose(noise_scales(labels, clip=1500, epsilon=20), [17_850, 17_850])


def test_it_repeats_with_its_seed_and_needs_no_power_of_two_nor_anybody() -> None:
    placed = place(READINGS[:30, TRAIN - 72 :], CELLS[:30] % (5, 7), nx=5, ny=7, train_steps=72)
    first = StptLeaky().release(placed, 3.0, BOUND, CLIP, seed=1)
    np.testing.assert_array_equal(first, StptLeaky().release(placed, 3.0, BOUND, CLIP, seed=1))
    assert (first != StptLeaky().release(placed, 3.0, BOUND, CLIP, seed=2)).any()
    assert np.isfinite(first).all()
    assert not release(town(0 * READINGS)).any()
    assert not release(town(READINGS[:0], CELLS[:0])).any()
