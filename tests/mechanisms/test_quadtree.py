from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridveil.geography.grid import Grid
from gridveil.mechanisms.inference.space import QuadtreeLevel, depth_of_pillars, depth_of_quarters, make_levels
from gridveil.mechanisms.stpt.series import Slice, make_equal_slices, make_labels, make_weighted_slices, measure_series
from gridveil.model.errors import UsageError
from gridveil.model.window import Window
from gridveil.simulate.sources import kernel_on
from gridveil.trusted.budget import Bound

sides = st.integers(1, 40)


def grid_of(nx: int, ny: int) -> Grid:
    return Grid(0, 0, nx, ny, nx, ny)


@given(sides, sides)
def test_quarters_are_blocks_of_the_stated_index(nx: int, ny: int) -> None:
    deepest = depth_of_quarters(grid_of(nx, ny))
    assert 2**deepest <= min(nx, ny) < 2 ** (deepest + 1)
    for level in make_levels(grid_of(nx, ny), deepest):
        assert level.blocks == 4**level.depth
        expected = [[(i * 2**level.depth // nx, j * 2**level.depth // ny) for j in range(ny)] for i in range(nx)]
        assert np.array_equal(
            level.labels, np.array([[x * 2**level.depth + y for x, y in row] for row in expected], dtype=int)
        )


@given(sides, sides)
def test_levels_are_nested_and_end_at_pillars(nx: int, ny: int) -> None:
    ladder = make_levels(grid_of(nx, ny), depth_of_pillars(grid_of(nx, ny)))
    assert ladder[-1].blocks == nx * ny
    assert len(ladder) == 1 or ladder[-2].blocks < nx * ny
    cube = np.random.default_rng(0).uniform(size=(nx, ny))
    for above, here in pairwise(ladder):
        assert np.allclose(above.gather(here.gather(cube)), above.gather(cube))
        pairs = set(zip(here.labels.ravel().tolist(), above.labels.ravel().tolist(), strict=True))
        assert len(pairs) == here.blocks  # every block has one parent


def test_gather_scatter_and_rake_on_an_odd_grid() -> None:
    level = QuadtreeLevel(nx=3, ny=2, depth=1)
    cells = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert level.gather(cells).tolist() == [[4.0, 6.0], [5.0, 6.0]]
    assert level.scatter(np.array([[1.0, 2.0], [3.0, 4.0]]), (3, 2)).tolist() == [[1, 2], [1, 2], [3, 4]]
    assert level.rake(cells, np.array([[8.0, 6.0], [5.0, 0.0]])).tolist() == [[2, 2], [6, 4], [5, 0]]


def test_slices_of_the_measured_design() -> None:
    parts = make_weighted_slices(make_levels(grid_of(32, 32), 5), 100, lookback=6)
    assert [part.steps for part in parts] == [34, 10, 8, 8, 8, 32]
    assert [part.start for part in parts] == [66, 56, 48, 40, 32, 0]
    assert [part.rows for part in parts] == [34, 10, 1, 1, 1, 1]


def test_slices_of_the_paper_are_cut_to_the_training_window() -> None:
    parts = make_equal_slices(make_levels(grid_of(32, 32), 5), 100, lookback=6)
    assert [(part.start, part.steps) for part in parts] == [(0, 17), (17, 17), (34, 17), (51, 17), (68, 17), (85, 15)]


@pytest.mark.parametrize("share_out", [make_weighted_slices, make_equal_slices])
@given(nx=sides, ny=sides, train_steps=st.integers(1, 120), depth=st.integers(0, 5), lookback=st.integers(1, 8))
def test_every_cell_and_step_enters_one_sum_of_its_own_block(
    share_out: Callable[[list[QuadtreeLevel], int, int], list[Slice]],
    nx: int,
    ny: int,
    train_steps: int,
    depth: int,
    lookback: int,
) -> None:
    tree = make_levels(grid_of(nx, ny), min(depth, depth_of_quarters(grid_of(nx, ny))))
    try:
        parts = share_out(tree, train_steps, lookback)
    except UsageError as error:
        least = int(str(error).split("at least ")[1].split(" ")[0])
        assert least > train_steps
        share_out(tree, least, lookback)  # following the advice helps
        with pytest.raises(UsageError):
            share_out(tree, least - 1, lookback)
        return
    owner = np.full(train_steps, -1)
    for part in parts:
        assert (owner[part.start : part.end] == -1).all()
        owner[part.start : part.end] = part.level.depth
    assert (owner >= 0).all()
    labels = make_labels(parts, train_steps)
    assert np.array_equal(np.unique(labels), np.arange(sum(part.rows * part.level.blocks for part in parts)))
    for part in parts:
        mine = labels[:, :, part.start : part.end]
        assert np.array_equal(
            (mine - mine.min()) % part.level.blocks, np.broadcast_to(part.level.labels[..., None], mine.shape)
        )
        assert len(np.unique(mine)) == part.rows * part.level.blocks


def test_series_are_the_block_sums_and_cost_epsilon_once() -> None:
    readings = np.random.default_rng(0).integers(0, 1000, (5, 6, 40))
    window = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 10)
    kernel = kernel_on(readings, window, epsilon=1e9, bound=Bound(1000, 10_000), train_steps=30)
    parts = make_weighted_slices(make_levels(grid_of(5, 6), 2), 30, lookback=3)
    series = measure_series(kernel.session(), parts, 30, 1e9)
    assert kernel.spent == pytest.approx(1e9)
    for each in series:
        true = readings[:, :, each.part.start : each.part.end]
        rows = np.moveaxis(true, 2, 0) if each.part.stepwise else true.sum(axis=2)[None]
        assert np.array_equal(each.sums, each.part.level.gather(rows.astype(float)))
