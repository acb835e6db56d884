from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.research.datasets.dataset import place
from gridveil.research.datasets.synthetic import KINDS, kind_at, make_districts, place_in_sectors
from gridveil.simulate.town import Town

GRID = Grid(0, 0, 8000, 8000, nx=32, ny=32)
WINDOW = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 120)


@pytest.fixture(scope="module")
def town() -> Town:
    return make_districts(3000, grid=GRID, window=WINDOW)


def day_of(town: Town, kind: int) -> np.ndarray:
    """The share of each hour of the day in what the districts of a kind consume."""
    here = kind_at(town.x / 8000, town.y / 8000) == kind
    day = town.consumption[here].reshape(-1, 5, 24).sum(axis=(0, 1))
    return day / day.sum()


def test_districts_differ_in_when(town: Town) -> None:
    homes, heated, offices = (day_of(town, kind) for kind in range(len(KINDS)))
    assert heated[1:5].sum() > 2.5 * homes[1:5].sum()
    assert offices[10:16].sum() > 1.5 * homes[10:16].sum()
    assert homes[18:22].sum() > 1.5 * offices[18:22].sum()


def test_districts_do_not_differ_in_how_much(town: Town) -> None:
    kind = kind_at(town.x / 8000, town.y / 8000)
    means = [town.consumption[kind == k].mean() for k in range(len(KINDS))]
    # The level's coefficient of variation is 0.84, of at least 400 households: five standard errors.
    assert min(np.bincount(kind)) > 400
    assert max(means) / min(means) < 1 + 5 * np.sqrt(2) * 0.84 / np.sqrt(400)
    assert 0.4 < town.consumption.mean() / 1000 < 0.6


def test_the_seed_decides() -> None:
    first, again, other = (make_districts(50, grid=GRID, window=WINDOW, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(first.consumption, again.consumption)
    assert not np.array_equal(first.consumption, other.consumption)


def test_one_profile_explains_much_less_than_in_other_towns(town: Town) -> None:
    cube = town.cube(WINDOW)
    separable = cube.sum(2)[..., None] * cube.sum((0, 1)) / cube.sum()
    blocks = [a.reshape(4, 8, 4, 8, 5, 24).sum((1, 3, 4)) for a in (cube, separable)]
    assert np.abs(blocks[0] - blocks[1]).sum() / blocks[0].sum() > 0.2


def test_groups_live_together_where_households_lived_before() -> None:
    groups = np.repeat(["b", "a", "c"], [300, 500, 200])
    sites = place_in_sectors("uniform", groups, GRID, 5)
    plain = place("uniform", 1000, GRID, 5)
    np.testing.assert_array_equal(sites.households, np.arange(1000))
    np.testing.assert_array_equal(np.sort(sites.cells @ [32, 1]), np.sort(plain.cells @ [32, 1]))
    directions = np.arctan2(*(sites.cells - sites.cells.mean(axis=0)).T)
    for group in "abc":
        gaps = np.diff(np.sort(directions[groups == group]))
        assert np.abs(np.exp(1j * directions[groups == group]).mean()) > 0.4, group
        assert np.median(gaps) < 0.05


def test_one_household_a_cell_keeps_its_rule() -> None:
    grid = Grid(0, 0, 4, 4, nx=4, ny=4)
    sites = place_in_sectors("one-per-cell", np.arange(30) % 2, grid, 0)
    assert len(np.unique(sites.households)) == 16
    assert (np.diff(sites.households) > 0).all()
    assert len(np.unique(sites.cells @ [4, 1])) == 16
