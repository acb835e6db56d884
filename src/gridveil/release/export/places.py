"""Where cells are: names, centres and outlines, in the order of rows (y, then x)."""

from __future__ import annotations

import numpy as np

from gridveil.geography.grid import Grid, edges
from gridveil.geography.ground import lonlat
from gridveil.model.units import Floats

DECIMALS = 7  # of a degree: a centimetre
LEAST_DIGITS = 3


def area_ids(grid: Grid) -> list[str]:
    """Return a name for every cell that sorts as its place does.

    >>> area_ids(Grid(0, 0, 2, 1, nx=2, ny=1))
    ['x000_y000', 'x001_y000']
    """
    digits = max(LEAST_DIGITS, len(str(max(grid.nx, grid.ny) - 1)))
    return [f"x{x:0{digits}}_y{y:0{digits}}" for y in range(grid.ny) for x in range(grid.nx)]


def centres(grid: Grid) -> dict[str, Floats]:
    """Return the two columns that say where a cell's centre is: lon and lat, or coordinates of the grid's own.

    >>> {name: column.tolist() for name, column in centres(Grid(0, 0, 2, 1, nx=2, ny=1)).items()}
    {'x_centre': [0.5, 1.5], 'y_centre': [0.5, 0.5]}
    """
    x, y = (
        (limits[:-1] + limits[1:]) / 2
        for limits in (edges(grid.x0, grid.x1, grid.nx), edges(grid.y0, grid.y1, grid.ny))
    )
    columns = np.tile(x, grid.ny), np.repeat(y, grid.nx)
    if grid.crs == "local":
        return dict(zip(("x_centre", "y_centre"), columns, strict=True))
    return dict(zip(("lon", "lat"), to_lonlat(grid.crs, *columns), strict=True))


def outlines(grid: Grid) -> Floats:
    """Return the ring of every cell, anticlockwise from its south-west corner and closed: (cell, 5, 2)."""
    x, y = edges(grid.x0, grid.x1, grid.nx), edges(grid.y0, grid.y1, grid.ny)
    across, up = np.tile(np.arange(grid.nx), grid.ny), np.repeat(np.arange(grid.ny), grid.nx)
    right, top = np.array([0, 1, 1, 0, 0]), np.array([0, 0, 1, 1, 0])
    return np.stack([x[across[:, None] + right], y[up[:, None] + top]], axis=2)


def to_lonlat(crs: str, x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return coordinates as longitude and latitude (WGS 84), to the centimetre.

    >>> lon, lat = to_lonlat("EPSG:27700", np.array([530000.0]), np.array([180000.0]))
    >>> lon.round(3).tolist(), lat.round(3).tolist()
    ([-0.128], [51.504])
    """
    lon, lat = lonlat(crs, x, y)
    return np.round(lon, DECIMALS), np.round(lat, DECIMALS)
