"""How large cells are on the ground, and where the map's corners are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.geography.grid import Grid
from gridveil.geography.ground import cell_size
from gridveil.release.export.table import to_lonlat

MOST_OF_MAP = 0.4
KILOMETRE = 1000


@dataclass(frozen=True)
class Ground:
    """Size of the middle cell in metres, or in the grid's units where it has no coordinate system."""

    grid: Grid
    width: float
    height: float

    @property
    def aspect(self) -> float:
        """Width over height of the map as it lies on the ground."""
        return self.width * self.grid.nx / (self.height * self.grid.ny)

    @property
    def metres(self) -> bool:
        """Whether sizes are metres."""
        return self.grid.crs != "local"

    def bar(self) -> tuple[float, str]:
        """Return a scale bar: its part of the map's width, and its length in words."""
        across = self.width * self.grid.nx
        power = 10.0 ** np.floor(np.log10(across * MOST_OF_MAP))
        length = max(digit * power for digit in (1, 2, 5) if digit * power <= across * MOST_OF_MAP)
        words = f"{length / KILOMETRE:g} km" if length >= KILOMETRE else f"{length:g} m"
        return length / across, words


def ground_of(grid: Grid) -> Ground:
    """Return the size of the cell in the middle of a grid."""
    return Ground(grid, *cell_size(grid))


def limits_in_words(grid: Grid) -> str:
    """Say where the map lies."""
    if grid.crs == "local":
        return (
            f"x from {grid.x0:g} to {grid.x1:g}, y from {grid.y0:g} to {grid.y1:g}, in the publisher's own coordinates."
        )
    lon, lat = to_lonlat(grid.crs, np.array([grid.x0, grid.x1]), np.array([grid.y0, grid.y1]))
    corners = [degrees(float(a), float(b)) for a, b in zip(lon, lat, strict=True)]
    return f"South-west corner {corners[0]}, north-east corner {corners[1]} ({grid.crs})."


def degrees(lon: float, lat: float) -> str:
    """Return a place on earth.

    >>> degrees(-0.12837, 51.50372)
    '51.5037° N, 0.1284° W'
    """
    return f"{abs(lat):.4f}° {'N' if lat >= 0 else 'S'}, {abs(lon):.4f}° {'E' if lon >= 0 else 'W'}"
