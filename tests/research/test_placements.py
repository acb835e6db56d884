from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.codes import has_code

from gridveil.geography.grid import Grid
from gridveil.model.errors import InputError, UsageError
from gridveil.research.datasets.dataset import PLACEMENTS, Points, place, place_dataset, read_points
from gridveil.research.datasets.synthetic import make_standin

GRID = Grid(0, 0, 32, 16, nx=32, ny=16)
TOWN = Points(np.array([0.0, 3.5, 9.0]), np.array([0.0, 1.0, 2.0]), np.array([1.0, 3.0, 0.0]), (0.0, 0.0, 4.0, 2.0))


def counts(cells: np.ndarray, grid: Grid) -> np.ndarray:
    return np.bincount(cells[:, 0] * grid.ny + cells[:, 1], minlength=grid.cells).reshape(grid.nx, grid.ny)


@pytest.mark.parametrize("name", PLACEMENTS)
@pytest.mark.parametrize("grid", [GRID, Grid(0, 0, 1, 1, 1, 1), Grid(0, 0, 5, 7, 5, 7)], ids=lambda g: f"{g.nx}x{g.ny}")
@pytest.mark.parametrize("households", [0, 1, 700])
def test_everyone_is_inside_and_a_seed_gives_the_same_places(name: str, grid: Grid, households: int) -> None:
    extent = (grid.x0, grid.y0, grid.x1, grid.y1)
    points = (
        Points(np.array([0.0, 0.9]), np.array([0.5, 1.0]), np.ones(2), extent, spread=2) if name == "density" else None
    )
    sites, again, other = (place(name, households, grid, seed, points) for seed in (5, 5, 6))
    assert sites.cells.dtype == np.int64
    assert sites.cells.shape == (len(sites.households), 2)
    assert (sites.cells >= 0).all()
    assert (sites.cells < (grid.nx, grid.ny)).all()
    assert all(np.array_equal(*pair) for pair in zip(sites, again, strict=True))
    if households == 700 and grid.cells > 1:
        assert not np.array_equal(sites.cells, other.cells)
    if name != "one-per-cell":
        assert np.array_equal(sites.households, np.arange(households))


def test_uniform_fills_all_cells_alike() -> None:
    found = counts(place("uniform", 200 * GRID.cells, GRID, 0).cells, GRID)
    # Binomial with mean 200, s.d. 14: of 512 cells none is 7 s.d. away but for 1 seed in 700 million.
    assert found.min() > 100
    assert found.max() < 300


def test_normal_spreads_by_a_third_of_the_grid_around_a_centre_of_its_own() -> None:
    wide = Grid(0, 0, 300, 300, 300, 300)
    centre = np.random.default_rng(1).uniform(0, [300, 300])
    cells = place("normal", 100_000, wide, 1).cells + 0.5
    towards_middle = (cells - centre) * np.sign(150 - centre)
    for distance in towards_middle.T:
        near, far = (np.count_nonzero((distance > low) & (distance < low + 20)) for low in (0, 120))
        # Of a standard normal variable: 1.2 to 1.4 against 0 to 0.2. Counts above 2,000: 10 % is more than 4 s.d.
        assert min(near, far) > 2000
        assert far / near == pytest.approx(0.43, rel=0.1)


def test_normal_does_not_heap_households_on_the_border() -> None:
    grid = Grid(0, 0, 32, 32, 32, 32)
    for seed in range(30):
        found = counts(place("normal", 5000, grid, seed).cells, grid)
        # The likeliest cell of a centre in a corner expects 2/pi / (32/3)^2 x 5000 = 28, s.d. 5.3.
        assert found.max() < 70


def test_normal_centres_differ() -> None:
    means = np.array([place("normal", 500, GRID, seed).cells.mean(0) for seed in range(10)])
    assert np.ptp(means[:, 0]) > 5


def test_one_per_cell_leaves_out_who_finds_no_cell() -> None:
    households, cells = place("one-per-cell", 700, GRID, 0)
    assert len(households) == GRID.cells == 512
    assert (counts(cells, GRID) == 1).all()
    assert (np.diff(households) > 0).all()
    assert households[-1] > 512
    few = place("one-per-cell", 100, GRID, 0)
    assert np.array_equal(few.households, np.arange(100))
    assert counts(few.cells, GRID).max() == 1


def test_density_follows_the_weights() -> None:
    cells = place("density", 40_000, Grid(0, 0, 4, 2, 4, 2), 0, TOWN).cells
    # Binomial, 30,000 expected, s.d. 87: 500 is 5.7 s.d., missed by 1 seed in 80 million.
    assert np.count_nonzero((cells == (3, 1)).all(1)) == pytest.approx(30_000, abs=500)
    assert np.count_nonzero((cells == (0, 0)).all(1)) == pytest.approx(10_000, abs=500)


def test_homes_spread_around_their_point_as_many_metres_east_as_north() -> None:
    london = Points(np.zeros(1), np.full(1, 60.0), np.ones(1), (-1.0, 59.0, 1.0, 61.0), "EPSG:4326", spread=0.01)
    x, y = london.homes(10_000, np.random.default_rng(0))
    assert y.std() == pytest.approx(0.01, rel=0.05)
    assert x.std() == pytest.approx(0.02, rel=0.05)


def test_density_wants_points_and_their_extent() -> None:
    with pytest.raises(UsageError, check=has_code("placement-points", "density")):
        place("density", 1, GRID, 0)
    with pytest.raises(UsageError, check=has_code("placement-points", "uniform")):
        place("uniform", 1, GRID, 0, TOWN)
    with pytest.raises(UsageError, check=has_code("points-extent")):
        place("density", 1, GRID, 0, TOWN)


def test_an_unknown_placement_is_refused_with_the_names() -> None:
    with pytest.raises(UsageError, check=has_code("placement-unknown", "uniform, normal, one-per-cell, density")):
        place("nowhere", 1, GRID, 0)


def test_a_placed_data_set_keeps_its_energy() -> None:
    dataset = make_standin("CA")
    placed = place_dataset(dataset, "uniform", (8, 4), 0)
    assert placed.truth().shape == (8, 4, 120)
    assert placed.truth().sum() == pytest.approx(dataset.readings[:, 100:].sum() / 1000)


def test_a_placed_data_set_holds_only_who_has_a_place() -> None:
    dataset = make_standin("CA")
    placed = place_dataset(dataset, "one-per-cell", (8, 4), 0)
    kept = place("one-per-cell", 250, Grid(0, 0, 8, 4, 8, 4), 0).households
    assert np.array_equal(placed.dataset.readings, dataset.readings[kept])
    assert len(placed.cells) == 32


def test_points_bring_their_extent_and_coordinate_system(tmp_path: Path) -> None:
    path = tmp_path / "feeders.parquet"
    pq.write_table(pa.table({"lon": [-0.5, -0.25, -0.3], "lat": [51.4, 51.5, 51.45], "meters": [1, 2, 3]}), path)
    points = read_points(path, weight="meters")
    assert points.extent == (-0.5, 51.4, -0.25, 51.5)
    placed = place_dataset(make_standin("CA"), "density", (4, 4), 0, points)
    assert placed.grid == Grid(-0.5, 51.4, -0.25, 51.5, nx=4, ny=4, crs="EPSG:4326")
    assert {tuple(cell) for cell in placed.cells} == {(0, 0), (3, 3), (3, 2)}
    assert read_points(path, "meters", extent=(-0.4, 51.4, -0.2, 51.6)).weight.tolist() == [2, 3]


def test_points_come_from_csv_too(tmp_path: Path) -> None:
    path = tmp_path / "points.csv"
    path.write_text("x,y,weight\n0,0,1\n2,1,0.5\n")
    points = read_points(path)
    assert points.crs == "local"
    assert points.extent == (0, 0, 2, 1)
    assert points.weight.tolist() == [1, 0.5]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("x,y\n1,1\n", "points-columns"),
        ("x,y,weight\n1,1,-1\n", "points-weights"),
        ("x,y,weight\n1,1,0\n", "points-weights"),
        ("x,y,weight\n1,1,\n2,2,1\n", "points-weights"),
        ("x,y,weight\n1,1,a\n", "points-not-numbers"),
        ("x,y,weight\n1\n", "points-unreadable"),
    ],
)
def test_a_table_that_is_no_density_is_refused(tmp_path: Path, text: str, code: str) -> None:
    path = tmp_path / "points.csv"
    path.write_text(text)
    with pytest.raises(InputError, check=has_code(code, "points.csv")):
        read_points(path)
