from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from tests.release.conftest import KINDS, WINDOW, make_label

from gridveil.geography.grid import Grid
from gridveil.model.errors import UsageError
from gridveil.model.window import Window
from gridveil.release.format.netcdf import write_release
from gridveil.release.query.highest import High, highest, order_in_words, places, widen_jointly
from gridveil.release.query.open import Release, open_release
from gridveil.uncertainty import Estimate, Posterior


@pytest.fixture(params=KINDS)
def opened(request: pytest.FixtureRequest, publish: Callable[..., Path]) -> Release:
    return open_release(publish(request.param))


def test_the_highest_cells_are_those_of_single_queries_in_order(opened: Release) -> None:
    asked = {
        (x, y): opened.query(x=(x, x + 1), y=(y, y + 1), time=(3, 9))
        for x in range(opened.grid.nx)
        for y in range(opened.grid.ny)
    }
    expected = sorted(asked, key=lambda cell: -asked[cell].value)[:7]
    found = highest(opened, 3, 9, 7)
    assert [(cell.x, cell.y) for cell in found] == expected
    for cell in found:
        single = asked[cell.x, cell.y]
        assert (cell.value, cell.standard_error, cell.low, cell.high) == pytest.approx(
            (single.value, single.standard_error, single.low, single.high)
        )


def test_places_are_those_that_no_interval_rules_out_if_all_hold_together(opened: Release) -> None:
    asked = [
        opened.query(x=(x, x + 1), y=(y, y + 1), time=(0, 30))
        for y in range(opened.grid.ny)
        for x in range(opened.grid.nx)
    ]
    ratio = np.log(20 * 40) / np.log(20)  # of Laplace noise that 1 in 800 and 1 in 20 exceed
    wide = [(one.value - ratio * (one.value - one.low), one.value + ratio * (one.high - one.value)) for one in asked]
    found = highest(opened, 0, 30, opened.grid.cells)
    assert len(found) == opened.grid.cells
    for cell in found:
        low, high = wide[cell.y * opened.grid.nx + cell.x]
        above = sum(other > high for other, _ in wide)
        below = sum(other < low for _, other in wide)
        assert cell.place == (1 + above, opened.grid.cells - below)
    ranks = np.arange(1, len(found) + 1)
    assert all(cell.place[0] <= rank <= cell.place[1] for rank, cell in zip(ranks, found, strict=True))


@pytest.mark.parametrize("cells", [1024, 65_536])
@pytest.mark.parametrize("noise", ["laplace", "normal"])
def test_stated_places_hold_in_95_of_100_maps(cells: int, noise: str) -> None:
    """Cells alike but for noise, and cells that differ: 40 maps, of which 2 may fail; none does."""
    rng = np.random.default_rng(1)
    width = np.log(20) if noise == "laplace" else stats.norm.ppf(0.975)
    failed = 0
    for number in range(40):
        truth = rng.gamma(2, 4, cells) if number % 2 else rng.uniform(0, 1e-9, cells)
        value = truth + getattr(rng, noise)(size=cells)
        first, last = places(*widen_jointly(value, value - width, value + width))
        rank = stats.rankdata(-truth)
        failed += bool(((rank < first) | (rank > last)).any())
    assert failed <= 2


def test_intervals_that_touch_leave_the_order_open() -> None:
    rng = np.random.default_rng(0)
    low = rng.integers(0, 9, (6, 7)).astype(float)
    high = low + rng.integers(0, 4, low.shape)
    first, last = places(low, high)
    for own in np.ndindex(low.shape):
        assert first[own] == 1 + (low > high[own]).sum()
        assert last[own] == low.size - (high < low[own]).sum()


def test_a_value_outside_its_interval_stays_where_it_may_be() -> None:
    low, high = widen_jointly(np.array([5.0, 5.0]), np.array([6.0, 0.0]), np.array([8.0, 4.0]))
    assert low.tolist()[0] == 6.0
    assert high.tolist()[1] == 4.0


def test_places_are_of_the_intervals_shown(tmp_path: Path) -> None:
    """On maps of more than 1,024 cells those of all cells at once are approximations; shown are exact ones."""
    rng = np.random.default_rng(2)
    grid, window = Grid(0, 0, 40, 40, nx=40, ny=40), Window(WINDOW.start, WINDOW.step, 4)
    space = np.exp(rng.normal(11, 3, (40, 40))) * np.exp(0.05 * rng.normal(size=(40, 40, 40)))
    draws = Posterior(space, np.zeros((40, 40), int), np.full((40, 1, 4), 0.25), np.full(40, 8000.0))
    estimate = Estimate(np.repeat(space.mean(axis=0)[..., None] / 4, 4, axis=2), draws)
    write_release(tmp_path / "r", grid=grid, window=window, estimate=estimate, label=make_label(grid, window))
    shown = highest(open_release(tmp_path / "r"), 0, 1, 1600)
    ratio = np.log(20 * 1600) / np.log(20)
    low, high = (
        np.array([one.value + ratio * (getattr(one, end) - one.value) for one in shown]) for end in ("low", "high")
    )
    found = np.array([cell.place for cell in shown])
    assert found[:, 0].tolist() == [1 + int((low > own).sum()) for own in high]
    assert found[:, 1].tolist() == [1600 - int((high < own).sum()) for own in low]
    assert (found[:, 0] > 1).any()


def test_more_cells_than_there_are_is_all_of_them(opened: Release) -> None:
    assert len(highest(opened, 0, 1, 1000)) == 40


@pytest.mark.parametrize(("start", "stop", "count"), [(3, 3, 1), (0, 31, 1), (0, 3, 0)])
def test_an_empty_question_is_refused(opened: Release, start: int, stop: int, count: int) -> None:
    with pytest.raises(UsageError):
        highest(opened, start, stop, count)


@pytest.mark.parametrize("places", [[(1, 1), (2, 2)], [(1, 1), (2, 9)], [(1, 9), (1, 9)]])
def test_no_order_is_called_certain(places: list[tuple[int, int]]) -> None:
    words = order_in_words([High(1.0, 1.0, 0.0, 2.0, x=0, y=0, place=place) for place in places])
    assert "if all intervals hold" in words.lower()
    assert "certain" not in words
