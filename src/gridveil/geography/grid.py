"""A rectangle of equal cells: where consumption is published. Everything here is public."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gridveil.model.errors import UsageError
from gridveil.model.units import Floats


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
