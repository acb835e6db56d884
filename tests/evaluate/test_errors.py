import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridveil.evaluate.errors import QUERIES, WORKLOADS, draw_workload, mre, range_sums, wape

shapes = st.tuples(st.integers(1, 12), st.integers(1, 12), st.integers(1, 15))


@given(name=st.sampled_from(list(WORKLOADS)), shape=shapes, seed=st.integers(0, 2**32))
def test_queries_stay_inside_the_cube(name: str, shape: tuple[int, int, int], seed: int) -> None:
    ranges = draw_workload(name, shape, seed)
    first, past = ranges[:, 0::2], ranges[:, 1::2]
    assert ranges.shape == (QUERIES, 6)
    assert ranges.dtype == np.int64
    assert (first >= 0).all()
    assert (first < past).all()
    assert (past <= shape).all()


@pytest.mark.parametrize(("name", "sides"), [("1x1x1", (1, 1, 1)), ("10x10x10", (4, 10, 10)), ("random", None)])
def test_queries_have_the_workloads_sides_cut_to_the_cube(name: str, sides: tuple[int, int, int] | None) -> None:
    ranges = draw_workload(name, (4, 32, 120))
    drawn = ranges[:, 1::2] - ranges[:, 0::2]
    if sides:
        assert (drawn == sides).all()
    else:
        assert set(drawn[:, 0]) == {1, 2, 3, 4}
        assert len(set(drawn[:, 2])) > 60


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
