"""How fine to measure space: public numbers and the fitted households decide."""

from __future__ import annotations

from gridveil.geography.grid import Grid
from gridveil.mechanisms.bounds.population import TotalsDistribution
from gridveil.mechanisms.inference.quadtree import QuadtreeLevel, depth_of_pillars
from gridveil.trusted.kernel.session import NoiseKind
from gridveil.trusted.kernel.staircase import best_staircase

NOISE_TO_CONTRAST = 0.65
"""How large the variance of a region's noise may be, relative to what smaller regions show."""
UNEVEN = 0.3
"""How much neighbouring regions differ in density, relatively, apart from chance."""


def choose_level(
    grid: Grid, population: TotalsDistribution, epsilon: float, bound: int, noise: NoiseKind
) -> QuadtreeLevel:
    """Return the finest level of the quadtree that is worth its noise, if space has `epsilon`; regions are `.labels`.

    Smaller regions show where households happen to be (a variance of their number times their mean square) and how
    uneven density is, and cost noise. Measured on London towns of 250 to 2150 households, epsilon 0.5 to 10: the best
    level is about the finest whose noise is somewhat below that, also where most cells are empty.
    """
    variance = 2 * (bound / epsilon) ** 2
    if noise == "staircase":
        variance = best_staircase(bound, epsilon).variance
    finest = QuadtreeLevel(grid.nx, grid.ny, 0)
    for depth in range(1, depth_of_pillars(grid) + 1):
        level = QuadtreeLevel(grid.nx, grid.ny, depth)
        each = max(population.households, 1.0) / level.blocks
        shown = each * population.second(bound) + (UNEVEN * each * population.mean(bound)) ** 2
        if variance > NOISE_TO_CONTRAST * shown:
            break
        finest = level
    return finest
