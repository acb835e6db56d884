"""A rectangle of equal cells, where consumption is published, and its coordinate system. All of it is public."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridveil.model.arrays import Floats
from gridveil.model.errors import UsageError

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
