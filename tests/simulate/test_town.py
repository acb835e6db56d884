from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from tests.codes import has_code

from gridveil.geography.grid import Grid
from gridveil.model.errors import UsageError
from gridveil.model.window import Window
from gridveil.simulate.town import DEMO_GRID, DEMO_WINDOW, Town, demo_town, make_town

DAY = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 24)


@pytest.fixture(scope="module")
def town() -> Town:
    return demo_town()


def published(town: Town) -> np.ndarray:
    return town.consumption[:, -DEMO_WINDOW.steps :] / 1000


def test_readings_look_like_measured_ones(town: Town) -> None:
    kwh = published(town)
    assert kwh.shape == (5000, 120)
    assert 0.45 < kwh.mean() < 0.55
    assert 0.6 < kwh.std() < 0.8
    assert np.quantile(kwh, 0.999) > 10 * kwh.mean()
    assert kwh.min() > 0
    assert kwh.max() <= 23


def test_household_totals_look_like_measured_ones(town: Town) -> None:
    totals = published(town).sum(axis=1)
    assert 40 < np.median(totals) < 50
    assert 220 < np.quantile(totals, 0.99) < 300


def test_a_household_that_uses_much_goes_on_using_much(town: Town) -> None:
    kwh = published(town)
    assert np.corrcoef(np.log(kwh[:, :60].sum(1)), np.log(kwh[:, 60:].sum(1)))[0, 1] > 0.9


def test_the_day_has_a_morning_and_an_evening_peak(town: Town) -> None:
    night, morning, noon, evening = town.cube(DEMO_WINDOW).sum((0, 1))[[3, 8, 11, 19]]
    assert night < noon < morning < evening


def test_weekends_differ() -> None:
    weekdays, weekend = (make_town(2000, grid=DEMO_GRID, window=w) for w in (DAY, DAY.before(24)))
    noon = slice(11, 15)
    assert weekend.consumption[:, noon].sum() > 1.1 * weekdays.consumption[:, noon].sum()


def test_homes_cluster_and_leave_cells_empty(town: Town) -> None:
    cells = town.cube(DEMO_WINDOW).sum(2)
    assert 0.2 < np.mean(cells == 0) < 0.6
    busiest = np.sort(cells, axis=None)[::-1]
    assert busiest[:100].sum() > 0.4 * cells.sum()


def test_the_seed_decides() -> None:
    first, again, other = (make_town(50, grid=DEMO_GRID, window=DAY, seed=s) for s in (1, 1, 2))
    assert np.array_equal(first.consumption, again.consumption)
    assert np.array_equal(first.x, again.x)
    assert not np.array_equal(first.consumption, other.consumption)
    assert not np.array_equal(first.x, other.x)


def test_written_readings_add_up_to_the_cube(tmp_path: Path) -> None:
    grid = Grid(-3, 10, 5, 12, nx=7, ny=5)
    town = make_town(300, grid=grid, window=DAY)
    readings_path, households_path = town.write(tmp_path / "new" / "folder")
    readings, homes = pq.read_table(readings_path), pq.read_table(households_path)
    assert str(readings.schema.field("timestamp").type) == "timestamp[us]"
    assert readings["household"][30].as_py() == "H00001"
    assert homes.column_names == ["household", "x", "y"]

    home = {home["household"]: (home["x"], home["y"]) for home in homes.to_pylist()}
    cube = np.zeros((7, 5, 24))
    for reading in readings.to_pylist():
        x, y = home[reading["household"]]
        step = int((reading["timestamp"].replace(tzinfo=UTC) - DAY.start) / DAY.step)
        cube[int((x + 3) / 8 * 7), int((y - 10) / 2 * 5), step] += reading["kwh"]
    np.testing.assert_allclose(town.cube(DAY), cube, atol=1e-9)


def test_readings_are_whole_watt_hours_of_the_step() -> None:
    halves = Window(DAY.start, timedelta(minutes=30), 48)
    town = make_town(500, grid=DEMO_GRID, window=halves)
    assert town.consumption.dtype == np.int64
    assert 0.2 < town.consumption.mean() / 1000 < 0.3


def test_degrees_are_written_as_lon_and_lat(tmp_path: Path) -> None:
    grid = Grid(-0.5, 51.4, -0.25, 51.5, nx=4, ny=4, crs="EPSG:4326")
    _, households = make_town(20, grid=grid, window=DAY).write(tmp_path)
    homes = pq.read_table(households)
    assert homes.column_names == ["household", "lon", "lat"]
    assert -0.5 <= min(homes["lon"].to_pylist()) < max(homes["lon"].to_pylist()) < -0.25


@pytest.mark.parametrize(
    "window", [DAY.before(1), Window(DAY.start, DAY.step, 25), Window(DAY.start, timedelta(minutes=30), 4)]
)
def test_a_cube_outside_the_towns_window_is_refused(window: Window) -> None:
    with pytest.raises(UsageError, check=has_code("town-window")):
        make_town(5, grid=DEMO_GRID, window=DAY).cube(window)
