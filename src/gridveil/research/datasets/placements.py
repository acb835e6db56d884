"""Places for households that have none. Places made here are plausible, not true: say so wherever a figure is shown."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from gridveil.geography.grid import Grid
from gridveil.model.arrays import Ints
from gridveil.model.errors import UsageError
from gridveil.research.datasets.dataset import Dataset, Placed
from gridveil.research.datasets.points import Points

PLACEMENTS = {
    "uniform": "any cell as likely as another",
    "normal": "around a random centre, standard deviation one third of the grid; redrawn when outside",
    "one-per-cell": "at most one household a cell; those who find no cell are left out",
    "density": "at points of a table, as likely as their weights",
}


class Sites(NamedTuple):
    """The households that got a place, by number in ascending order, and the cell of each (household, 2)."""

    households: Ints
    cells: Ints


def place(name: str, households: int, grid: Grid, seed: int, points: Points | None = None) -> Sites:
    """Place households on a grid by one of the rules; the same arguments give the same places."""
    if name not in PLACEMENTS:
        msg = f"placement {name}: there are {', '.join(PLACEMENTS)}"
        raise UsageError(msg, code="placement-unknown")
    if (name == "density") != (points is not None):
        msg = f"placement {name}: points and weights are for density, which needs them"
        raise UsageError(msg, code="placement-points")
    rng = np.random.default_rng(seed)
    if name == "one-per-cell":
        return _one_per_cell(households, grid, rng)
    if points is not None:
        cells = points.cells(households, grid, rng)
    else:
        cells = (_uniform if name == "uniform" else _normal)(households, grid, rng)
    return Sites(np.arange(households), cells)


def place_dataset(
    dataset: Dataset, name: str, shape: tuple[int, int], seed: int, points: Points | None = None
) -> Placed:
    """Place a data set's households on a grid of (nx, ny) cells; with points, on their extent."""
    nx, ny = shape
    extent, crs = (points.extent, points.crs) if points else ((0.0, 0.0, float(nx), float(ny)), "local")
    grid = Grid(*extent, nx=nx, ny=ny, crs=crs)
    households, cells = place(name, len(dataset.readings), grid, seed, points)
    if len(households) < len(dataset.readings):
        dataset = replace(dataset, readings=dataset.readings[households])
    return Placed(dataset, grid, cells)


def _uniform(households: int, grid: Grid, rng: np.random.Generator) -> Ints:
    return rng.integers((grid.nx, grid.ny), size=(households, 2))


def _normal(households: int, grid: Grid, rng: np.random.Generator) -> Ints:
    """Draw around a random centre, again while outside: clamping would heap up to 3 of 4 households on the border."""
    size = np.array([grid.nx, grid.ny], dtype=np.float64)
    centre = rng.uniform(0, size)
    at = np.empty((households, 2))
    outside = np.arange(households)
    while outside.size:
        at[outside] = rng.normal(centre, size / 3, (outside.size, 2))
        outside = np.flatnonzero(((at < 0) | (at >= size)).any(axis=1))
    return at.astype(np.int64)


def _one_per_cell(households: int, grid: Grid, rng: np.random.Generator) -> Sites:
    """Draw as many households as there are cells, if there are more, and as many cells, without replacement."""
    some = min(households, grid.cells)
    kept = np.sort(rng.choice(households, some, replace=False))
    cell = rng.choice(grid.cells, some, replace=False)
    return Sites(kept, np.stack(np.divmod(cell, grid.ny), axis=1))
