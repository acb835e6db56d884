"""What utilities do today: exact, useful, and open to subtraction."""

import numpy as np
from tests.research.nonprivate.town import BOUND, place

from gridveil.research.datasets.dataset import PlacedDataset
from gridveil.research.nonprivate import make
from gridveil.research.nonprivate.count_rule import CountRule

READINGS = np.random.default_rng(0).integers(100, 900, (40, 24))


def released(placed: PlacedDataset, rule: CountRule | None = None) -> np.ndarray:
    return (rule or CountRule()).release(placed, epsilon=1.0, bound=BOUND, clip=10, seed=0)


def test_only_cells_with_enough_households_are_published_and_these_exactly() -> None:
    cells = [[0, 0]] * 15 + [[0, 1]] * 14 + [[1, 0]] * 11
    placed = place(READINGS, cells, nx=2, ny=2)
    cube = released(placed)
    np.testing.assert_array_equal(cube[0, 0], READINGS[:15].sum(axis=0) / 1000)
    assert np.isnan(cube).reshape(4, 24).all(axis=1).tolist() == [False, True, True, True]
    five = make("count-rule-5").release(placed, epsilon=1.0, bound=BOUND, clip=10, seed=0)
    np.testing.assert_array_equal(five[1, 0], READINGS[29:].sum(axis=0) / 1000)
    assert np.isnan(five[1, 1]).all()


def test_training_steps_neither_count_nor_are_published() -> None:
    readings = np.full((15, 8), 100)
    readings[0, :4] = 100_000
    cube = released(place(readings, np.zeros((15, 2)), nx=1, ny=1, train_steps=4))
    np.testing.assert_array_equal(cube, np.full((1, 1, 4), 1.5))


def test_the_share_is_of_the_window_and_exactly_15_percent_may_be_published() -> None:
    readings = np.full((18, 4), 500)
    readings[0] = [6000, 0, 0, 0]  # 15 % of 40 kWh, and far more of the first step
    readings[1:] = 34_000 // 17 // 4
    assert readings[0].sum() * 100 == 15 * readings.sum()
    cells = np.zeros((18, 2))
    assert np.isfinite(released(place(readings, cells, nx=1, ny=1))).all()
    readings[0, 1] = 1
    assert np.isnan(released(place(readings, cells, nx=1, ny=1))).all()
    assert np.isfinite(released(place(readings, cells, nx=1, ny=1), CountRule(percent=16))).all()


def test_a_cell_that_uses_nothing_is_published_as_nothing() -> None:
    assert (released(place(np.zeros((15, 3)), np.zeros((15, 2)), nx=1, ny=1)) == 0).all()


def test_two_releases_reveal_the_exact_curve_of_the_household_that_joined() -> None:
    cells = np.zeros((40, 2))
    before = released(place(READINGS[:-1], cells[:-1], nx=1, ny=1))
    after = released(place(READINGS, cells, nx=1, ny=1))
    np.testing.assert_array_equal(np.rint((after - before)[0, 0] * 1000), READINGS[-1])
