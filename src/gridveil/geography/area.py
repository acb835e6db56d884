"""Areas: which cells of the map, and what share of each."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridveil.geography.grid import Grid, edges, index_range
from gridveil.geography.outline import compute_coverage, parse_outline
from gridveil.model.arrays import Floats
from gridveil.model.errors import UsageError

Range = tuple[int, int]
CORNERS = ("west", "south", "east", "north")


@dataclass(frozen=True)
class Area:
    """What share of each cell is meant: weights (y, x) from 0 to 1, index 0 in the south-west."""

    weights: Floats

    @classmethod
    def box(cls, grid: Grid, x: Range | None = None, y: Range | None = None) -> Area:
        """Return the cells of two half-open ranges; what is left out is all.

        >>> Area.box(Grid(0, 0, 4, 2, nx=4, ny=2), x=(1, 3)).weights.tolist()
        [[0.0, 1.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0]]
        """
        weights = np.zeros((grid.ny, grid.nx))
        weights[slice(*index_range("y", y, grid.ny)), slice(*index_range("x", x, grid.nx))] = 1.0
        return cls(weights)

    @classmethod
    def rectangle(cls, grid: Grid, west: float, south: float, east: float, north: float) -> Area:
        """Return what lies between coordinates of the grid's own system; cells at the border count in part.

        >>> Area.rectangle(Grid(0, 0, 4, 2, nx=4, ny=2), 0.5, -3, 2, 1).weights.tolist()
        [[0.5, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
        """
        limits = dict(zip(CORNERS, (west, south, east, north), strict=True))
        for name, limit in limits.items():
            if not isinstance(limit, int | float) or not math.isfinite(limit):
                msg = f"{name} {limit!r}: give a coordinate, a finite number"
                raise UsageError(msg, code="limit-not-finite")
        if not (west < east and south < north):
            msg = (
                f"limits {west:g},{south:g},{east:g},{north:g}: give west,south,east,north; west < east, south < north"
            )
            raise UsageError(msg, code="limits-order")
        columns = _compute_shares(edges(grid.x0, grid.x1, grid.nx), west, east)
        rows = _compute_shares(edges(grid.y0, grid.y1, grid.ny), south, north)
        return cls._inside(grid, np.outer(rows, columns))

    @classmethod
    def polygon(cls, grid: Grid, geometry: Mapping[str, Any]) -> Area:
        """Return what a GeoJSON polygon covers: Polygon, MultiPolygon, a Feature or a FeatureCollection of such.

        Coordinates are longitude and latitude where the grid has a coordinate system, else the grid's own. Several
        polygons are taken together; what several cover counts once.

        >>> triangle = {"type": "Polygon", "coordinates": [[[0, 0], [2, 0], [0, 2], [0, 0]]]}
        >>> Area.polygon(Grid(0, 0, 4, 2, nx=4, ny=2), triangle).weights.tolist()
        [[1.0, 0.5, 0.0, 0.0], [0.5, 0.0, 0.0, 0.0]]
        """
        return cls._inside(grid, compute_coverage(parse_outline(grid, geometry), grid.nx, grid.ny))

    @classmethod
    def _inside(cls, grid: Grid, weights: Floats) -> Area:
        if not weights.any():
            limits = f"{grid.x0:g},{grid.y0:g} to {grid.x1:g},{grid.y1:g}"
            msg = f"the area covers nothing of the map, which goes from {limits} ({grid.crs})"
            raise UsageError(msg, code="area-outside-map")
        return cls(weights)

    @property
    def cells(self) -> float:
        """How many cells it covers, parts of cells added up."""
        return float(self.weights.sum())


def _compute_shares(limits: Floats, first: float, last: float) -> Floats:
    """Return the share of each interval between `limits` that lies between two numbers."""
    shared = np.minimum(limits[1:], last) - np.maximum(limits[:-1], first)
    return np.asarray(np.clip(shared / np.diff(limits), 0.0, 1.0))
