"""The density-aware tree that cuts one axis per level."""

import numpy as np
from tests.mechanisms.grid_cases import (
    blocky,
    check_block_means,
    check_noise_on_nothing,
    readings,
    release,
)

from gridveil.mechanisms.literature.granularity import Granularity
from gridveil.uncertainty import NoisyParts


def test_without_noise_parts_hold_their_means() -> None:
    check_block_means(Granularity(constant=1e8), readings((5, 7, 24)))
    cube, _ = blocky((8, 8, 24), (2, 2, 6))
    np.testing.assert_allclose(release(Granularity(), cube, "1e9").values, cube, atol=1e-3)


def test_noise_on_nothing() -> None:
    """A grid far too fine for its noise is biased: nodes with positive noise are cut, and weigh more."""
    assert check_noise_on_nothing(Granularity(), (5, 7, 24), runs=400) > 400
    assert check_noise_on_nothing(Granularity(constant=1e-3), (5, 7, 24), runs=60, unbiased=False) > 1000


def test_it_cuts_finer_where_there_is_more_and_gives_the_rest_its_whole_budget() -> None:
    """One half of the town is empty. Each part of it is measured twice, once with all that its level left."""
    cube = np.zeros((8, 8, 24))
    cube[:4] = readings((4, 8, 24)) * 4
    estimate = release(Granularity(constant=0.5), cube, 30)
    assert isinstance(estimate.errors, NoisyParts)
    labels = np.broadcast_to(estimate.errors.labels, cube.shape)
    full, empty = labels[0], labels[-1]
    assert len(np.unique(full)) > 5 * len(np.unique(empty))
    scales = estimate.errors.scales
    assert scales[empty].mean() < scales[full].mean() / 1.2
    # Nothing is better than all of epsilon on one part would be.
    assert scales.min() >= 4000 / 30
