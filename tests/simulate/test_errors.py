import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gridveil.simulate.rehearse import bias, draw_workload, mae, mre, mre_authors, mre_floor, range_sums, wape

shapes = st.tuples(st.integers(1, 12), st.integers(1, 12), st.integers(1, 15))


@given(shape=shapes, seed=st.integers(0, 2**32))
def test_range_sums_are_sums_over_ranges(shape: tuple[int, int, int], seed: int) -> None:
    cube = np.random.default_rng(seed).normal(size=shape)
    ranges = draw_workload("random", shape, seed)[:5]
    slow = [cube[x0:x1, y0:y1, t0:t1].sum() for x0, x1, y0, y1, t0, t1 in ranges]
    np.testing.assert_allclose(range_sums(cube, ranges), slow, atol=1e-9)


def test_mre_by_hand() -> None:
    # 2 of 10 and 1 of 20 are off; the third has no truth.
    assert mre(np.array([10.0, 20.0, 0.0]), np.array([12.0, 19.0, 7.0])) == (12.5, 1)


def test_mre_leaves_out_empty_ranges_in_spite_of_rounding() -> None:
    cube = np.full((8, 8, 8), 1234.567)
    cube[5, 5, 5] = 0
    empty = range_sums(cube, np.array([[5, 6, 5, 6, 5, 6]]))
    assert mre(empty, np.array([1.0])).left_out == 1


def test_mre_of_an_empty_town_is_unknown() -> None:
    percent, left_out = mre(np.zeros(3), np.ones(3))
    assert np.isnan(percent)
    assert left_out == 3


def test_wape_by_hand() -> None:
    # Errors of 2, 1 and 3 on a truth of 30.
    assert wape(np.array([10.0, 20.0, 0.0]), np.array([12.0, 19.0, 3.0])) == 20
    assert np.isnan(wape(np.zeros(2), np.ones(2)))


def test_a_floor_keeps_small_truths_in_and_tame() -> None:
    # 2 of 10, 0.1 of a floor of 1, 0.3 of a floor of 1; with a floor of 20: 2, 0.1 and 0.3 of 20.
    truth, answers = np.array([10.0, 0.5, 0.0]), np.array([12.0, 0.6, 0.3])
    assert np.isclose(mre_floor(truth, answers), 20)
    assert np.isclose(mre_floor(truth, answers, floor=20), 4)


def test_the_authors_divide_by_20_where_nothing_was_used() -> None:
    # 20 %, 5 %, and 7 of 20.
    assert mre_authors(np.array([10.0, 20.0, 0.0]), np.array([12.0, 19.0, 7.0])) == (20, 1)


def test_mae_has_no_sign_and_bias_has_one() -> None:
    truth, answers = np.array([10.0, 20.0]), np.array([8.0, 19.0])
    assert mae(truth, answers) == 1.5
    assert bias(truth, answers) == -1.5
    assert bias(answers, truth) == 1.5
