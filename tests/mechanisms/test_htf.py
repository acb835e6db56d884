"""The homogeneous tree."""

import numpy as np
import pytest
from tests.mechanisms.grid_cases import (
    BOUND,
    blocky,
    check_block_means,
    check_noise_on_nothing,
    readings,
    release,
    window,
)

from gridveil.mechanisms.literature.granularity import Search
from gridveil.mechanisms.literature.grids import make_whole_box
from gridveil.mechanisms.literature.htf import Htf
from gridveil.simulate.sources import kernel_on
from gridveil.uncertainty import NoisyParts


def test_without_noise_parts_hold_their_means() -> None:
    check_block_means(Htf(constant=1e9), readings((5, 7, 24)))


def test_noise_on_nothing() -> None:
    assert check_noise_on_nothing(Htf(constant=1e-2), (4, 4, 8), runs=60) > 1000


@pytest.mark.parametrize("edge", range(1, 12))
def test_the_search_finds_an_edge(edge: int) -> None:
    """Four rounds from the middle single out any of eleven places."""
    cube = np.full((2, 2, 12), 10)
    cube[:, :, edge:] = 200
    kernel = kernel_on(cube, window(12), epsilon="1e9", bound=BOUND)
    found = Search(kernel.session(), make_whole_box(cube.shape), np.array([2]), 1e7).best(rounds=4)
    assert found.tolist() == [edge]


def test_the_search_measures_twice_a_round_and_once_before() -> None:
    for rounds in range(4):
        kernel = kernel_on(readings((1, 1, 100)), window(100), epsilon="1e9", bound=BOUND)
        Search(kernel.session(), make_whole_box((1, 1, 100)), np.array([2]), 1e5).best(rounds)
        assert [record.kind for record in kernel.records] == ["deviations"] * (2 * rounds + 1)


def test_it_splits_where_the_cube_changes() -> None:
    """Four blocks of two levels in x and two in time: without noise no part has cells of two blocks in it."""
    cube, truth = blocky((4, 4, 12), (2, 1, 2))
    estimate = release(Htf(), cube, "1e9")
    assert isinstance(estimate.errors, NoisyParts)
    labels = np.broadcast_to(estimate.errors.labels, cube.shape)
    assert len(np.unique(labels * 1000 + truth)) == estimate.details["parts"]
    np.testing.assert_allclose(estimate.values, cube, atol=1e-3)


def test_the_height_follows_the_rule() -> None:
    """64 households of half the bound: log2(32 * epsilon / constant) levels, at most until all is cut."""
    cube = np.full((8, 8, 8), 250)
    for height in (0, 3, 9):
        estimate = release(Htf(constant=32e9 / 2**height * 1.0001), cube, "1e9")
        assert estimate.details["height"] == height
    assert release(Htf(), cube, "1e9").details["height"] == 9
