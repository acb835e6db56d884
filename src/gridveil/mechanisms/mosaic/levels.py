"""How fine to measure space: public numbers and the fitted number of households decide."""

from __future__ import annotations

from gridveil.cube import Grid
from gridveil.mechanisms.stpt.quadtree import Level, depth_of_pillars
from gridveil.privacy.measure import NoiseKind

FINE_EPSILON = 3.6
"""From this epsilon on (of space alone) staircase noise is far below a household: measure cells."""
HOUSEHOLDS = 2.1
"""A region should hold so many households, divided by epsilon."""


def choose_level(grid: Grid, households: float, epsilon_space: float, bound: int, noise: NoiseKind) -> Level:
    """Return the level of the quadtree to measure; `.labels` are the regions of cells.

    >>> choose_level(Grid(0, 0, 1, 1, 32, 32), 1024.0, 1.0, 80_000, "staircase").shape
    (16, 16)
    """
    del bound
    deepest = depth_of_pillars(grid)
    if noise == "staircase" and epsilon_space > FINE_EPSILON:
        return Level(grid.nx, grid.ny, deepest)
    depth = 0
    while depth < deepest and epsilon_space * households >= HOUSEHOLDS * Level(grid.nx, grid.ny, depth + 1).blocks:
        depth += 1
    return Level(grid.nx, grid.ny, depth)
