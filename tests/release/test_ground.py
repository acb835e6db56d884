"""Where grids lie: places read off the lattice against PROJ itself, cells against the ellipsoid."""

from __future__ import annotations

import numpy as np
import pytest
from pyproj import Geod, Transformer

from gridveil.geography.grid import Grid, find_cell_size, make_lattice


@pytest.mark.parametrize(
    ("crs", "corner", "size", "points"),
    [
        ("EPSG:27700", (480_000, 130_000), 50_000, 9),
        ("EPSG:27700", (450_000, 130_000), 100_000, 17),
        ("EPSG:3857", (-50_000, 6_700_000), 100_000, 17),
        ("EPSG:4326", (-0.5, 51), 0.25, 2),
    ],
)
def test_places_between_the_points_are_right_to_a_metre(
    crs: str, corner: tuple[float, float], size: float, points: int
) -> None:
    x0, y0 = corner
    found = make_lattice(Grid(x0, y0, x0 + size, y0 + size, nx=10, ny=10, crs=crs))
    assert found.shape == (points, points, 2)
    share = np.random.default_rng(2).uniform(0, points - 1, (2000, 2))
    column, row = np.floor(share).astype(int).T
    a, b = (share % 1).T[..., None]
    read = (1 - b) * ((1 - a) * found[row, column] + a * found[row, column + 1])
    read += b * ((1 - a) * found[row + 1, column] + a * found[row + 1, column + 1])
    x, y = x0 + share[:, 0] * size / (points - 1), y0 + share[:, 1] * size / (points - 1)
    true = Transformer.from_crs(crs, "EPSG:4326", always_xy=True).transform(x, y)
    assert max(Geod(ellps="WGS84").inv(*true, *read.T)[2]) < 1.1


def test_a_local_grid_has_cells_of_its_own_units() -> None:
    assert find_cell_size(Grid(0, 0, 400, 300, nx=4, ny=6)) == (100, 50)
