"""Where a grid lies on the ground: longitudes and latitudes, and how large its cells are there."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from gridveil.geography.grid import Grid
from gridveil.model.arrays import Floats
from gridveil.model.errors import InputError

MAX_PIECES = 32
MAX_ERROR_METRES = 1.0  # metres by which a place read off the lattice may be off


def convert_to_lonlat(crs: str, x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return coordinates as longitude and latitude (WGS 84).

    >>> lon, lat = convert_to_lonlat("EPSG:27700", np.array([530000.0]), np.array([180000.0]))
    >>> lon.round(3).tolist(), lat.round(3).tolist()
    ([-0.128], [51.504])
    """
    from pyproj.exceptions import ProjError

    try:
        lon, lat = _to_wgs84(crs).transform(x, y, errcheck=True)
    except ProjError as error:
        msg = f"coordinate system {crs}: PROJ cannot turn this grid into longitude and latitude ({error})"
        raise InputError(msg, code="crs-no-lonlat") from error
    return np.asarray(lon), np.asarray(lat)


@lru_cache(maxsize=32)
def _to_wgs84(crs: str) -> Any:  # noqa: ANN401 - a pyproj Transformer; choosing one takes a tenth of a second
    from pyproj import Transformer

    return Transformer.from_crs(crs, "EPSG:4326", always_xy=True)


def find_cell_size(grid: Grid) -> tuple[float, float]:
    """Return width and height of the cell in the middle: metres, or the grid's units where it has no system.

    >>> width, height = find_cell_size(Grid(530000, 180000, 534000, 183000, nx=4, ny=3, crs="EPSG:27700"))
    >>> round(width), round(height)
    (1000, 1000)
    """
    if grid.crs == "local":
        return grid.cell_width, grid.cell_height
    x, y = (grid.x0 + grid.x1) / 2, (grid.y0 + grid.y1) / 2
    across, up = grid.cell_width / 2, grid.cell_height / 2
    lon, lat = convert_to_lonlat(grid.crs, np.array([x - across, x, x + across, x]), np.array([y, y - up, y, y + up]))
    width, height = _compute_distances((lon[:2], lat[:2]), (lon[2:], lat[2:])).tolist()
    return width, height


def make_lattice(grid: Grid) -> Floats:
    """Return longitude and latitude of points spread evenly over a grid with a coordinate system, edges included.

    Rows from the south, points from the west: (row, column, 2). Between four points, places are found in proportion:
    there are as many points as that needs to be right to a metre, or 33 x 33.

    >>> make_lattice(Grid(-0.5, 51.25, -0.1, 51.5, nx=8, ny=5, crs="EPSG:4326")).tolist()
    [[[-0.5, 51.25], [-0.1, 51.25]], [[-0.5, 51.5], [-0.1, 51.5]]]
    """
    points = _place_points(grid, 1)
    for pieces in 2 ** np.arange(1, MAX_PIECES.bit_length()):
        finer = _place_points(grid, int(pieces))
        if _compute_distances(_split(finer), _split(_refine(points))).max() <= MAX_ERROR_METRES:
            break
        points = finer
    return points


def _place_points(grid: Grid, pieces: int) -> Floats:
    x, y = np.meshgrid(np.linspace(grid.x0, grid.x1, pieces + 1), np.linspace(grid.y0, grid.y1, pieces + 1))
    return np.stack(convert_to_lonlat(grid.crs, x, y), axis=2)


def _refine(points: Floats) -> Floats:
    """Return a lattice with twice as many pieces, all from the same points."""
    for axis in (0, 1):
        ends = np.moveaxis(points, axis, 0)
        finer = np.empty((2 * len(ends) - 1, *ends.shape[1:]))
        finer[::2], finer[1::2] = ends, (ends[1:] + ends[:-1]) / 2
        points = np.moveaxis(finer, 0, axis)
    return points


def _split(points: Floats) -> tuple[Floats, Floats]:
    return points[..., 0], points[..., 1]


def _compute_distances(one: tuple[Floats, Floats], other: tuple[Floats, Floats]) -> Floats:
    from pyproj import Geod

    lon, lat, other_lon, other_lat = (np.ravel(part) for part in (*one, *other))
    return np.asarray(Geod(ellps="WGS84").inv(lon, lat, other_lon, other_lat)[2])
