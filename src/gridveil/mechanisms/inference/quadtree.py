"""The quadtree over space, and which of its levels to measure. It splits by position only, so it is public."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from gridveil.geography.grid import Grid
from gridveil.mechanisms.bounds.population import TotalsDistribution
from gridveil.model.arrays import Floats, Ints
from gridveil.trusted.kernel.session import NoiseKind
from gridveil.trusted.kernel.staircase import choose_staircase


@dataclass(frozen=True)
class QuadtreeLevel:
    """The blocks of one depth: `2**depth` along each axis, or as many as there are cells.

    A number per block is an array whose last two axes are blocks along x and along y. Levels are nested also when
    a side of the grid is no power of two; blocks then differ by a cell.

    >>> QuadtreeLevel(nx=5, ny=3, depth=1).of_cell_x
    array([0, 0, 0, 1, 1])
    """

    nx: int
    ny: int
    depth: int

    @property
    def shape(self) -> tuple[int, int]:
        """How many blocks there are along x and along y."""
        return min(2**self.depth, self.nx), min(2**self.depth, self.ny)

    @property
    def blocks(self) -> int:
        """How many blocks there are."""
        return self.shape[0] * self.shape[1]

    @cached_property
    def of_cell_x(self) -> Ints:
        """Which block along x a cell lies in."""
        return _nest(self.nx, self.shape[0])

    @cached_property
    def of_cell_y(self) -> Ints:
        """Which block along y a cell lies in."""
        return _nest(self.ny, self.shape[1])

    @property
    def labels(self) -> Ints:
        """The block number of every cell, axes (x, y)."""
        return self.of_cell_x[:, None] * self.shape[1] + self.of_cell_y

    @property
    def cells(self) -> Floats:
        """How many cells each block has."""
        return np.outer(np.bincount(self.of_cell_x), np.bincount(self.of_cell_y)).astype(np.float64)

    def gather(self, fine: Floats) -> Floats:
        """Sum the blocks of a deeper level, or cells, into the blocks of this one."""
        along_x = np.add.reduceat(fine, _find_starts(fine.shape[-2], self.shape[0]), axis=-2)
        return np.asarray(
            np.add.reduceat(along_x, _find_starts(fine.shape[-1], self.shape[1]), axis=-1), dtype=np.float64
        )

    def scatter(self, coarse: Floats, fine: tuple[int, int]) -> Floats:
        """Give every block of a deeper level of shape `fine`, or cell, the number of the block it lies in."""
        return coarse[..., _nest(fine[0], self.shape[0])[:, None], _nest(fine[1], self.shape[1])]

    def rake(self, fine: Floats, totals: Floats) -> Floats:
        """Scale positive numbers of a deeper level so that they add up to `totals` in each of these blocks."""
        return fine * self.scatter(totals / self.gather(fine), (fine.shape[-2], fine.shape[-1]))


def make_levels(grid: Grid, deepest: int) -> list[QuadtreeLevel]:
    """Return the levels from the root down to depth `deepest`."""
    return [QuadtreeLevel(grid.nx, grid.ny, depth) for depth in range(deepest + 1)]


def depth_of_quarters(grid: Grid) -> int:
    """Return the greatest depth at which every block still splits into four: floor(log2(shorter side))."""
    return min(grid.nx, grid.ny).bit_length() - 1


def depth_of_pillars(grid: Grid) -> int:
    """Return the depth at which every block is a single cell."""
    return (max(grid.nx, grid.ny) - 1).bit_length()


def _nest(fine: int, coarse: int) -> Ints:
    return np.arange(fine, dtype=np.int64) * coarse // fine


def _find_starts(fine: int, coarse: int) -> Ints:
    return np.searchsorted(_nest(fine, coarse), np.arange(coarse)).astype(np.int64)


# How fine to measure space: public numbers and the fitted households decide.

NOISE_TO_CONTRAST = 0.65
"""How large the variance of a region's noise may be, relative to what smaller regions show."""
UNEVENNESS = 0.3
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
        variance = choose_staircase(bound, epsilon).variance
    finest = QuadtreeLevel(grid.nx, grid.ny, 0)
    for depth in range(1, depth_of_pillars(grid) + 1):
        level = QuadtreeLevel(grid.nx, grid.ny, depth)
        each = max(population.households, 1.0) / level.blocks
        shown = each * population.second(bound) + (UNEVENNESS * each * population.mean(bound)) ** 2
        if variance > NOISE_TO_CONTRAST * shown:
            break
        finest = level
    return finest
