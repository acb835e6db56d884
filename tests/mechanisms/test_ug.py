"""The uniform grid."""

import numpy as np
import pytest
from tests.mechanisms.grid_cases import (
    BOUND,
    blocky,
    check_block_means,
    check_noise_on_nothing,
    readings,
    release,
)

from gridveil.mechanisms.literature.ug import UniformGrid
from gridveil.uncertainty import NoisyParts


def test_without_noise_parts_hold_their_means() -> None:
    check_block_means(UniformGrid(constant=1e8), readings((5, 7, 24)))
    cube, _ = blocky((8, 8, 24), (2, 2, 6))
    np.testing.assert_allclose(release(UniformGrid(), cube, "1e9").values, cube, atol=1e-3)


def test_noise_on_nothing() -> None:
    assert check_noise_on_nothing(UniformGrid(constant=1e-3), (5, 7, 24), runs=60) > 10_000


def test_the_grid_follows_the_rule() -> None:
    """Without noise: 64 households of half the bound each count as 32, and 32 ** (2 / 5) = 4 parts per axis."""
    cube = np.full((8, 8, 8), 250)
    estimate = release(UniformGrid(constant=1e9 * 0.98 * 64 * 8 * 250 / BOUND.window / 32), cube, "1e9")
    assert estimate.details["blocks"] == [4, 4, 4]
    assert estimate.details["parts"] == 64


def test_blocks_cost_the_window_bound_whatever_their_shape() -> None:
    estimate = release(UniformGrid(), readings((5, 7, 24)), 2)
    assert isinstance(estimate.errors, NoisyParts)
    np.testing.assert_allclose(estimate.errors.scales, 4000 / (0.98 * 2), rtol=1e-8)


@pytest.mark.parametrize("epsilon", [0.1, 1])
def test_with_little_to_see_there_are_few_blocks(epsilon: float) -> None:
    parts = [release(UniformGrid(), np.zeros((8, 8, 24)), epsilon, seed).details["parts"] for seed in range(20)]
    assert np.median(parts) <= 8
