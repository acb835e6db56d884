from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from gridveil.geography.grid import Grid
from gridveil.mechanisms.inference.space import QuadtreeLevel, make_levels
from gridveil.mechanisms.stpt.blocks import (
    BlockSums,
    choose_run_length,
    distribute,
    find_deepest_visible,
    measure_blocks,
    sum_runs,
)
from gridveil.mechanisms.stpt.series import Pattern
from gridveil.model.window import Window
from gridveil.simulate.sources import kernel_on
from gridveil.trusted.budget import Bound

WINDOW = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 24)
CERTAIN = {"shape_variance": 0.0, "shape_memory": 0.0}
FLAT = Pattern(np.full((6, 5), 500.0), np.ones(24), total_variance=36_000.0**2, **CERTAIN)


@pytest.mark.parametrize(
    ("total", "steps", "run"),
    [
        (1e9, 120, 1),  # every step stands out
        (85 * 14.15, 120, 2),  # 85 blocks would, 60 equal ones are taken
        (7 * 14.15, 119, 17),
        (4 * 14.15, 13, 4),
        (3.9 * 14.15, 120, 0),  # too few blocks
        (1e9, 3, 0),
        (4 * 14.15, 5, 0),  # runs of two would leave three blocks
    ],
)
def test_runs_are_as_short_as_noise_allows(total: float, steps: int, run: int) -> None:
    assert choose_run_length(total, scale=1.0, steps=steps) == run


def test_blocks_of_space_are_no_smaller_than_the_noise() -> None:
    candidates = make_levels(Grid(0, 0, 8, 8, 8, 8), 3)
    assert [find_deepest_visible(candidates, total, 1.0).depth for total in (0.1, 1, 3.9, 4, 15, 16, 63, 64, 1e9)] == [
        *[0, 0, 0, 1, 1, 2, 2, 3, 3]
    ]


def test_both_partitions_cover_the_cube_and_spend_all_that_was_given() -> None:
    readings = np.random.default_rng(0).integers(0, 1000, (6, 5, 24))
    kernel = kernel_on(readings, WINDOW, epsilon=1e9, bound=Bound(1000, 24_000))
    sums = measure_blocks(kernel.session(), FLAT, kernel.session().epsilon)
    assert kernel.spent == pytest.approx(1e9, rel=1e-9)
    assert (sums.run, sums.level.blocks) == (1, 30)
    assert np.array_equal(sums.time, readings.sum(axis=(0, 1)))
    assert np.array_equal(sums.space, readings.sum(axis=2))


def test_without_blocks_of_time_space_gets_everything() -> None:
    kernel = kernel_on(np.zeros((6, 5, 24)), WINDOW, epsilon=0.01, bound=Bound(1000, 24_000))
    sums = measure_blocks(kernel.session(), FLAT, kernel.session().epsilon)
    assert (sums.run, sums.time.size, sums.level.depth) == (0, 0, 0)
    assert kernel.spent == pytest.approx(0.01, rel=1e-9)
    space, time = distribute(sums, FLAT)
    assert np.ptp(space) < 1e-9 * space.mean()
    assert np.allclose(time, 1 / 24)


def exact_sums(readings: np.ndarray, run: int, depth: int, scale: float = 1e-3) -> BlockSums:
    level = QuadtreeLevel(*readings.shape[:2], depth)  # type: ignore[call-arg]  # two axes
    over_time = sum_runs(readings.sum(axis=(0, 1)).astype(float), run)
    return BlockSums(over_time, scale, run, level.gather(readings.sum(axis=2).astype(float)), scale, level)


@pytest.mark.parametrize(("run", "depth"), [(1, 3), (5, 1), (6, 2)])
def test_exact_sums_are_reproduced_and_spread_like_the_pattern(run: int, depth: int) -> None:
    random = np.random.default_rng(0)
    readings = random.integers(1, 1000, (6, 5, 24))
    pattern = Pattern(random.uniform(100, 900, (6, 5)), random.uniform(0.5, 1.5, 24), 1e12, **CERTAIN)
    sums = exact_sums(readings, run, depth)
    space, time = distribute(sums, pattern)
    assert time.sum() == pytest.approx(1)
    assert np.allclose(sum_runs(space.sum() * time, run), sums.time, rtol=1e-3)
    assert np.allclose(sums.level.gather(space), sums.space, rtol=0.1)  # as finely as the prior's ratios lie
    within = space / pattern.space
    assert np.allclose(within, sums.level.scatter(sums.level.gather(within) / sums.level.cells, (6, 5)))


def test_noise_without_signal_leaves_the_pattern_alone() -> None:
    random = np.random.default_rng(1)
    pattern = Pattern(random.uniform(1, 2, (8, 8)), random.uniform(1, 2, 24), 1.0, **CERTAIN)
    level = QuadtreeLevel(8, 8, 2)
    sums = BlockSums(random.laplace(0, 1e6, 24), 1e6, 1, random.laplace(0, 1e6, (4, 4)), 1e6, level)
    space, time = distribute(sums, pattern)
    assert (space > 0).all()
    assert (time > 0).all()
    assert space.sum() == pytest.approx(pattern.total, rel=0.01)
    assert np.allclose(time, pattern.time / pattern.time.sum())


def test_an_empty_map_is_published_as_positive_and_small() -> None:
    level = QuadtreeLevel(6, 5, 1)
    sums = BlockSums(np.full(24, -50.0), 10.0, 1, np.full((2, 2), -50.0), 10.0, level)
    space, time = distribute(sums, FLAT)
    assert (space > 0).all()
    assert (time > 0).all()
    assert space.sum() < 1000
