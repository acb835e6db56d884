"""A rectangle of equal cells, where consumption is published, and where it lies on the ground. All of it is public."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from gridveil.model.arrays import Floats
from gridveil.model.errors import InputError, UsageError

# A rectangle of equal cells, where consumption is published, and its coordinate system. All of it is public.

# Coordinate systems: whether one is known, and how long its units are.

METRES_PER_DEGREE = 111_320.0
POLE = 90.0


def metres_per_unit(crs: str, south: float, north: float) -> tuple[float, float]:
    """Return the metres that one unit of the coordinate system is long, west-east and south-north, in mid-extent."""
    if crs == "local":
        return 1.0, 1.0
    from pyproj import CRS
    from pyproj.exceptions import CRSError

    try:
        system = CRS.from_user_input(crs)
    except CRSError as error:
        msg = f"coordinate system {crs!r} is not known; give a name such as EPSG:4326 or EPSG:27700, or none at all"
        raise UsageError(msg, code="crs-unknown") from error
    if not (system.is_geographic or system.is_projected):
        msg = f"coordinate system {crs!r} is not one of maps: give a geographic or projected one"
        raise UsageError(msg, code="crs-not-a-map")
    if system.is_projected:
        factors = [axis.unit_conversion_factor for axis in system.axis_info[:2]]
        return factors[0], factors[1]
    if not -POLE <= south < north <= POLE:
        msg = f"extent from {south} to {north} in {crs}: give degrees as LON0,LAT0,LON1,LAT1, between the poles"
        raise UsageError(msg, code="extent-beyond-poles")
    return METRES_PER_DEGREE * math.cos(math.radians((south + north) / 2)), METRES_PER_DEGREE


@dataclass(frozen=True)
class Grid:
    """A rectangle of `nx` x `ny` equal cells. Cell (0, 0) is the south-west one; cells are half-open.

    `crs` names the coordinate system that extent and households share (e.g. "EPSG:4326"), or is "local"
    for coordinates without one.

    >>> Grid(0, 0, 32, 16, nx=32, ny=16).cell_width
    1.0
    """

    x0: float
    y0: float
    x1: float
    y1: float
    nx: int
    ny: int
    crs: str = "local"

    def __post_init__(self) -> None:
        """Refuse a grid with no area or no cells."""
        if not (self.x0 < self.x1 and self.y0 < self.y1):
            msg = f"extent {self.x0},{self.y0},{self.x1},{self.y1}: give X0,Y0,X1,Y1 with X0 < X1 and Y0 < Y1"
            raise UsageError(msg, code="extent-empty")
        if self.nx < 1 or self.ny < 1:
            msg = f"grid {self.nx}x{self.ny}: it needs at least one cell each way"
            raise UsageError(msg, code="grid-empty")

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return self.nx * self.ny

    @property
    def cell_width(self) -> float:
        """West-east size of a cell, in units of the coordinate system."""
        return (self.x1 - self.x0) / self.nx

    @property
    def cell_height(self) -> float:
        """South-north size of a cell, in units of the coordinate system."""
        return (self.y1 - self.y0) / self.ny


def edges(first: float, last: float, cells: int) -> Floats:
    """Return where cells begin and end."""
    return np.linspace(first, last, cells + 1)


def index_range(axis: str, asked: tuple[int, int] | None, size: int) -> tuple[int, int]:
    """Return a half-open index range, or the whole axis.

    >>> index_range("x", None, 32)
    (0, 32)
    """
    start, stop = (0, size) if asked is None else index_pair(axis, asked)
    if not 0 <= start < stop <= size:
        why = "is empty" if start >= stop else "reaches outside"
        msg = f"{axis} range {start}:{stop} {why}; {axis} goes from 0 to {size}, and the end is not included"
        raise UsageError(msg, code="range-outside")
    return start, stop


def index_pair(axis: str, asked: Any) -> tuple[Any, Any]:  # noqa: ANN401  # whatever a user gave
    """Return the start and the end that a user gave."""
    if not isinstance(asked, tuple | list) or len(asked) != len(("start", "stop")):
        msg = f"{axis} {asked!r}: give a start and an end, which is not included, e.g. {axis}=(0, 10)"
        raise UsageError(msg, code="range-syntax")
    return asked[0], asked[1]


# Where a grid lies on the ground: longitudes and latitudes, and how large its cells are there.

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
