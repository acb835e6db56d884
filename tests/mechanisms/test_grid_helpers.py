"""Boxes, the rule of grids and the least squares of trees, against plain ways to compute them."""

import numpy as np
import pytest

from gridveil.mechanisms.literature.granularity import find_longest_axes, halve
from gridveil.mechanisms.literature.grids import (
    TreeLevel,
    choose_parts,
    count_worthwhile_blocks,
    make_consistent,
    make_whole_box,
    paint,
    sides_of,
    sizes_of,
    subdivide,
)


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 1, 9), (5, 7, 24), (32, 32, 120)])
@pytest.mark.parametrize("counts", [(1, 1, 1), (1, 1, 5), (3, 2, 7), (5, 7, 24)])
def test_blocks_cover_everything_once(shape: tuple[int, int, int], counts: tuple[int, int, int]) -> None:
    blocks, parents = subdivide(make_whole_box(shape), np.minimum(np.array([counts]), shape))
    assert len(blocks) == np.minimum(counts, shape).prod()
    assert (sides_of(blocks) >= 1).all()
    assert not parents.any()
    np.testing.assert_array_equal(np.bincount(paint(blocks, shape).ravel()), sizes_of(blocks))
    for number, ((x0, x1), (y0, y1), (t0, t1)) in enumerate(blocks[:50]):
        assert (paint(blocks, shape)[x0:x1, y0:y1, t0:t1] == number).all()


def test_blocks_of_several_boxes_come_box_by_box() -> None:
    boxes, _ = subdivide(make_whole_box((6, 4, 8)), np.array([[2, 1, 1]]))
    blocks, parents = subdivide(boxes, np.array([[1, 2, 1], [3, 1, 4]]))
    assert parents.tolist() == [0] * 2 + [1] * 12
    np.testing.assert_array_equal(paint(boxes, (6, 4, 8)), parents[paint(blocks, (6, 4, 8))])


def test_the_rule_keeps_within_one_block_and_all_cells() -> None:
    sides = np.array([[32, 32, 120], [1, 1, 1], [1, 1, 9], [5, 7, 24]])
    for people in (-1e9, 0.0, 1.0, 1e3, 1e30):
        worth = count_worthwhile_blocks(np.full(4, people), 1.0, sides, 10.0)
        counts = choose_parts(sides, worth)
        assert (counts >= 1).all()
        assert (counts <= sides).all()
    np.testing.assert_array_equal(counts, sides)
    # In d dimensions (people * epsilon / constant) ** (2 / (d + 2)) per axis.
    one, three = count_worthwhile_blocks(np.full(2, 80.0), 1.0, np.array([[1, 1, 99], [99, 99, 99]]), 10.0)
    assert one == pytest.approx(8 ** (2 / 3))
    assert three == pytest.approx(8 ** (6 / 5))


def test_blocks_come_out_as_many_as_wanted_and_near_cubic() -> None:
    counts = choose_parts(np.array([[32, 32, 120]]), np.array([240.0]))[0]
    assert counts.tolist() == [4, 4, 15]
    assert choose_parts(np.array([[32, 32, 2]]), np.array([64.0])).tolist() == [[8, 8, 1]]


def test_halves_are_disjoint_and_what_cannot_be_split_stays() -> None:
    boxes = np.array([[[0, 4], [0, 2], [0, 6]], [[4, 5], [0, 1], [0, 1]]])
    axes = find_longest_axes(boxes, (5, 2, 6))
    assert axes[0] == 1  # all of y, all of t and four fifths of x: the first of the longest
    halves, parents = halve(boxes, np.array([2, 0]), np.array([5, 1]))
    assert parents.tolist() == [0, 0, 1]
    assert halves[:, 2].tolist() == [[0, 5], [5, 6], [0, 1]]
    np.testing.assert_array_equal(halves[2], boxes[1])


def test_trees_are_solved_by_least_squares() -> None:
    """Against the normal equations, with unequal variances, a node that is not split, and one not measured."""
    rng = np.random.default_rng(0)
    parents = [np.zeros(1, np.int64), np.array([0, 0, 0]), np.array([0, 0, 1, 2, 2, 2])]
    levels = [TreeLevel(p, rng.normal(size=len(p)), rng.uniform(0.5, 2, len(p))) for p in parents]
    levels[1].variances[2] = np.inf
    leaves = len(parents[2])
    rows = [np.ones((1, leaves)), (parents[2] == np.arange(3)[:, None]).astype(float), np.eye(leaves)]
    design, sums = np.concatenate(rows), np.concatenate([level.sums for level in levels])
    weights = 1 / np.concatenate([level.variances for level in levels])
    covariance = np.linalg.inv(design.T @ (weights[:, None] * design))
    final, variances = make_consistent(levels)
    np.testing.assert_allclose(final, covariance @ design.T @ (weights * sums))
    np.testing.assert_allclose(variances, np.diag(covariance))
    assert (covariance - np.diag(np.diag(covariance)) <= 1e-12).all()
