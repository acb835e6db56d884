from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.release.conftest import KINDS

from gridveil.errors import UsageError
from gridveil.release.highest import highest, places
from gridveil.release.open import Cells, Release, open_release


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


def test_places_are_those_that_no_interval_rules_out(opened: Release) -> None:
    asked = [
        opened.query(x=(x, x + 1), y=(y, y + 1), time=(0, 30))
        for y in range(opened.grid.ny)
        for x in range(opened.grid.nx)
    ]
    found = highest(opened, 0, 30, opened.grid.cells)
    assert len(found) == opened.grid.cells
    for cell in found:
        own = asked[cell.y * opened.grid.nx + cell.x]
        above = sum(other.low > own.high for other in asked)
        below = sum(other.high < own.low for other in asked)
        assert cell.place == (1 + above, opened.grid.cells - below)
    ranks = np.arange(1, len(found) + 1)
    assert all(cell.place[0] <= rank <= cell.place[1] for rank, cell in zip(ranks, found, strict=True))


def test_intervals_that_touch_leave_the_order_open() -> None:
    rng = np.random.default_rng(0)
    low = rng.integers(0, 9, (6, 7)).astype(float)
    high = low + rng.integers(0, 4, low.shape)
    cells = Cells(low, low, low, high)
    first, last = places(cells)
    for own in np.ndindex(low.shape):
        assert first[own] == 1 + (low > high[own]).sum()
        assert last[own] == low.size - (high < low[own]).sum()


def test_more_cells_than_there_are_is_all_of_them(opened: Release) -> None:
    assert len(highest(opened, 0, 1, 1000)) == 40


@pytest.mark.parametrize(("start", "stop", "count"), [(3, 3, 1), (0, 31, 1), (0, 3, 0)])
def test_an_empty_question_is_refused(opened: Release, start: int, stop: int, count: int) -> None:
    with pytest.raises(UsageError):
        highest(opened, start, stop, count)
