"""H_b: nested levels, and the branching that is best for all ranges."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridveil.mechanisms.literature.hb import Hb, build_hierarchy, choose_branching, list_levels
from gridveil.mechanisms.literature.linear import count_shared_ranges
from gridveil.model.window import Window
from gridveil.simulate.sources import kernel_on
from gridveil.trusted.budget import Bound


@given(st.integers(2, 300), st.integers(2, 300))
def test_levels_are_nested_partitions_down_to_single_places(length: int, branching: int) -> None:
    before = np.array([0, length])
    for limits in list_levels(length, branching):
        assert np.isin(before, limits).all()
        assert np.ptp(np.diff(limits)) <= 1
        children = np.diff(np.searchsorted(limits, before))
        assert children.max() <= branching
        before = limits
    np.testing.assert_array_equal(before, np.arange(length + 1))


def total_variance(length: int, branching: int) -> float:
    """Of all ranges, with noise in proportion to the number of levels: by matrices, as an oracle."""
    strategy = build_hierarchy(length, branching)
    matrix = np.eye(length) if strategy is None else strategy
    count = matrix.sum(axis=0)
    assert (count == count[0]).all()
    return float(count[0] ** 2 * (count_shared_ranges(length) * np.linalg.inv(matrix.T @ matrix)).sum())


@pytest.mark.parametrize("length", [2, 7, 24, 32, 48, 64, 120, 168])
def test_the_branching_is_the_best_one(length: int) -> None:
    best = min(total_variance(length, branching) for branching in range(2, length + 1))
    assert total_variance(length, choose_branching(length)) <= best * (1 + 1e-9)


def test_a_hierarchy_of_time_alone_pays_at_the_papers_size() -> None:
    kernel = kernel_on(
        np.zeros((32, 32, 120)),
        Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 120),
        epsilon=30,
        bound=Bound(1500, 180_000),
        seed=13,
    )
    estimate = Hb().release(kernel.session())
    assert estimate.details == {"branching": [32, 32, 11]}
    assert estimate.errors.x is None
    assert estimate.errors.y is None
    # Two levels, so the noise has twice the scale of an identity's; 11 blocks of 10 or 11 steps give a pillar's total.
    scale = 2 * 180 / 30
    total = np.sqrt((estimate.errors.time.sum(axis=0) ** 2).sum()) / 1000
    sizes = np.diff(list_levels(120, 11)[0])
    assert total == pytest.approx(np.sqrt(2 * scale**2 * (sizes / (1 + sizes)).sum()))


def test_estimates_are_consistent_and_weigh_blocks_and_their_steps() -> None:
    """Two levels over four steps by hand: a block's sum is the weighted mean of its own and its steps' measurement."""
    matrix = build_hierarchy(4, 2)
    assert matrix is not None
    answers = np.array([10.0, 6.0, 1.0, 3.0, 2.0, 1.0])
    estimate = np.linalg.pinv(matrix) @ answers
    blocks = np.array([(2 * 10 + 4) / 3, (2 * 6 + 3) / 3])
    np.testing.assert_allclose(estimate.reshape(2, 2).sum(axis=1), blocks)
    np.testing.assert_allclose(estimate, [1 + (blocks[0] - 4) / 2, 3 + (blocks[0] - 4) / 2, 3, 2])
