"""The adaptive grid."""

import numpy as np
from tests.mechanisms.grid_cases import (
    blocky,
    check_block_means,
    check_noise_on_nothing,
    readings,
    release,
)

from gridveil.mechanisms.literature.ag import AdaptiveGrid
from gridveil.uncertainty import NoisyParts


def test_without_noise_parts_hold_their_means() -> None:
    check_block_means(AdaptiveGrid(constant=1e9, fine_constant=1e8), readings((5, 7, 24)))
    cube, _ = blocky((8, 8, 24), (2, 2, 6))
    np.testing.assert_allclose(release(AdaptiveGrid(), cube, "1e9").values, cube, atol=1e-3)


def test_noise_on_nothing() -> None:
    """A grid far too fine for its noise is biased: coarse blocks with positive noise are cut, and weigh more."""
    assert check_noise_on_nothing(AdaptiveGrid(), (5, 7, 24), runs=200) > 10_000
    assert check_noise_on_nothing(AdaptiveGrid(fine_constant=1e-3), (5, 7, 24), runs=60, unbiased=False) > 10_000


def test_it_cuts_finer_where_there_is_more() -> None:
    """A part of the town is empty: without noise it keeps its coarse blocks, the rest is cut to single places."""
    cube = np.zeros((8, 8, 24))
    cube[:5] = readings((5, 8, 24))  # 8 is cut into 0:2, 2:5, 5:8
    estimate = release(AdaptiveGrid(), cube, "1e9")
    assert isinstance(estimate.errors, NoisyParts)
    labels = np.broadcast_to(estimate.errors.labels, cube.shape)
    assert estimate.details["coarse_blocks"] == 3 * 3 * 10
    assert len(np.unique(labels[:5])) > 0.9 * 5 * 8 * 24
    assert len(np.unique(labels[5:])) == 3 * 10


def test_both_measurements_of_a_block_count() -> None:
    """Eight coarse blocks of one place each are measured twice with half the epsilon; a household has 2 x 1000 Wh."""
    estimate = release(AdaptiveGrid(), readings((2, 2, 2)), 2)
    assert isinstance(estimate.errors, NoisyParts)
    assert estimate.details["coarse_blocks"] == 8
    np.testing.assert_allclose(estimate.errors.scales, 2000 / (0.98 * 2 * 0.5) / 2**0.5, rtol=1e-8)
