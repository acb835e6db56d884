"""DPCube: a partition found in noisy cells."""

import numpy as np
from tests.mechanisms.grid_cases import (
    blocky,
    check_block_means,
    check_noise_on_nothing,
    readings,
    release,
)

from gridveil.mechanisms.literature.dpcube import (
    DpCube,
    compute_box_sums,
    compute_prefix_sums,
    find_best_cuts,
    list_cuts,
)
from gridveil.mechanisms.literature.grids import make_whole_box
from gridveil.uncertainty import NoisyParts


def test_without_noise_parts_hold_their_means() -> None:
    check_block_means(DpCube(), readings((5, 7, 24)))


def test_noise_on_nothing() -> None:
    assert check_noise_on_nothing(DpCube(), (2, 2, 6), runs=3000) >= 3000


def test_homogeneous_cubes_are_seldom_cut() -> None:
    """At most 5 % of them by the bound; 1,000 runs exceed 5 % + 5 standard deviations less than 1 in 1e6 times."""
    cube = np.full((4, 4, 12), 100)
    cut = sum(release(DpCube(), cube, 1, seed).details["parts"] > 1 for seed in range(1000))
    assert cut <= 50 + 5 * (1000 * 0.05 * 0.95) ** 0.5


def test_it_finds_the_blocks_of_a_cube_made_of_blocks() -> None:
    cube, truth = blocky((9, 8, 24), (3, 2, 4))
    estimate = release(DpCube(), cube, "1e6")
    assert isinstance(estimate.errors, NoisyParts)
    labels = np.broadcast_to(estimate.errors.labels, cube.shape)
    assert estimate.details["parts"] == 24
    assert len(np.unique(labels * 1000 + truth)) == 24
    np.testing.assert_allclose(estimate.values, cube, atol=0.1)


def test_the_best_cut_is_the_one_with_the_least_squared_deviation() -> None:
    cube = np.random.default_rng(0).integers(0, 1000, (4, 5, 6))
    cube[:, :3] += 300
    box, axis, at = find_best_cuts(compute_prefix_sums(cube), make_whole_box(cube.shape), scale=1e-6)
    left = {}
    for axis_, at_ in zip(*list_cuts(make_whole_box(cube.shape))[1:], strict=True):
        sides = np.split(cube, [at_], axis=axis_)
        left[int(axis_), int(at_)] = sum(((side - side.mean()) ** 2).sum() for side in sides)
    assert len(left) == 3 + 4 + 5
    assert (int(axis[0]), int(at[0])) == min(left, key=left.__getitem__)
    assert box.tolist() == [0]


def test_sums_of_boxes() -> None:
    cube = np.random.default_rng(1).integers(-9, 9, (3, 4, 5))
    boxes = np.array([[[0, 3], [0, 4], [0, 5]], [[1, 2], [0, 3], [2, 5]]])
    assert compute_box_sums(compute_prefix_sums(cube), boxes).tolist() == [cube.sum(), cube[1:2, 0:3, 2:5].sum()]


def test_the_merge_weighs_by_variance() -> None:
    """One box of 24 places: its sum has variance 1 from the second phase and 24 from the first."""
    estimate = release(DpCube(), np.zeros((2, 2, 6)), 2, seed=3)
    assert isinstance(estimate.errors, NoisyParts)
    assert estimate.details["parts"] == 1
    np.testing.assert_allclose(estimate.errors.scales, 4000 * (24 / 25) ** 0.5, rtol=1e-8)
