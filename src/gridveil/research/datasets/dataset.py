"""Households whose truth is known, and their places on a grid. Nothing here is private."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gridveil.geography.grid import Grid
from gridveil.model.arrays import WH_PER_KWH, Floats, Ints
from gridveil.model.errors import InputError, UsageError
from gridveil.model.window import Window
from gridveil.simulate.sources import ArraySource

Extent = tuple[float, float, float, float]

PLACEMENTS = {
    "uniform": "any cell as likely as another",
    "normal": "around a random centre, standard deviation one third of the grid; redrawn when outside",
    "one-per-cell": "at most one household a cell; those who find no cell are left out",
    "density": "at points of a table, as likely as their weights",
}


@dataclass(frozen=True)
class Dataset:
    """Readings of households without a place, Wh (household, step): the training steps, then the window's.

    `origin` says in one line where they come from, and that they are a stand-in if they are.
    """

    name: str
    origin: str
    window: Window
    train_steps: int
    readings: Ints


@dataclass(frozen=True)
class PlacedDataset:
    """A data set on a grid: every household in one cell (household, 2)."""

    dataset: Dataset
    grid: Grid
    cells: Ints

    def truth(self, clip: int | None = None) -> Floats:
        """Return the true consumption of the window, kWh (x, y, t), each reading cut at `clip` Wh if given."""
        readings = self.dataset.readings[:, self.dataset.train_steps :]
        if clip is not None:
            readings = np.minimum(readings, clip)
        cube = np.zeros((self.grid.nx, self.grid.ny, readings.shape[1]), dtype=np.int64)
        np.add.at(cube, (self.cells[:, 0], self.cells[:, 1]), readings)
        return cube / WH_PER_KWH

    def source(self) -> ArraySource:
        """Return what a kernel asks."""
        window = self.dataset.window
        first = window.before(self.dataset.train_steps).start if self.dataset.train_steps else window.start
        whole = Window(first, window.step, self.dataset.readings.shape[1])
        return ArraySource(self.grid, whole, self.cells, self.dataset.readings)


@dataclass(frozen=True)
class Points:
    """Points with weights, inside an extent (x0, y0, x1, y1), in the coordinate system `crs`.

    spread: homes are around their point, not on it: the standard deviation of their distance each way, in units of y.
        (Of longitudes it is as many metres, not degrees.)
    """

    x: Floats
    y: Floats
    weight: Floats
    extent: Extent
    crs: str = "local"
    spread: float = 0.0

    def homes(self, households: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Draw a home for every household: a point with its weight as probability, and the spread around it.

        A home that the spread carries over the extent's limits stays just inside: it belongs to a point inside.
        """
        point = rng.choice(len(self.weight), size=households, p=self.weight / self.weight.sum())
        north, east = rng.normal(0.0, self.spread, (2, households))
        if self.crs == "EPSG:4326":
            east = east / np.cos(np.radians(self.y[point]))
        x0, y0, x1, y1 = self.extent
        # Cells are half-open, so that a home on the eastern or northern limit would be outside.
        x_margin, y_margin = 1e-6 * (x1 - x0), 1e-6 * (y1 - y0)
        return (
            np.clip(self.x[point] + east, x0 + x_margin, x1 - x_margin),
            np.clip(self.y[point] + north, y0 + y_margin, y1 - y_margin),
        )

    def cells(self, households: int, grid: Grid, rng: np.random.Generator) -> Ints:
        """Draw the cell (household, 2) of every household's home. The grid lies on the points' extent."""
        if (grid.x0, grid.y0, grid.x1, grid.y1) != self.extent:
            msg = f"the grid's extent is {grid.x0},{grid.y0},{grid.x1},{grid.y1}, the points' {self.extent}"
            raise UsageError(msg, code="points-extent")
        x, y = self.homes(households, rng)
        column = (x - grid.x0) / grid.cell_width
        row = (y - grid.y0) / grid.cell_height
        return np.stack([column, row], axis=1).astype(np.int64)


def read_points(path: Path, weight: str = "weight", extent: Extent | None = None, spread: float = 0.0) -> Points:
    """Read a Parquet or CSV table with `lon` and `lat`, or `x` and `y`, and a column of weights.

    Without an extent, the points' bounding box is it; with one, points outside are left out.
    """
    columns = _read(path)
    crs, (x, y) = ("EPSG:4326", ("lon", "lat")) if "lon" in columns else ("local", ("x", "y"))
    missing = [name for name in (x, y, weight) if name not in columns]
    if missing:
        advice = "needs x, y (or lon, lat) and a column of weights"
        if weight in missing:
            advice += ", which --weight COLUMN names"
        msg = f"{path}: no column {', '.join(missing)}; it {advice}, and has: {', '.join(columns)}"
        raise InputError(msg, code="points-columns")
    try:
        east, north, mass = (columns[name].astype(np.float64) for name in (x, y, weight))
    except (TypeError, ValueError):
        msg = f"{path}: {x}, {y} and {weight} must be numbers"
        raise InputError(msg, code="points-not-numbers") from None
    if not len(mass):
        msg = f"{path}: no points in it"
        raise InputError(msg, code="points-empty")
    x0, y0, x1, y1 = extent or (east.min(), north.min(), east.max(), north.max())
    here = (x0 <= east) & (east <= x1) & (y0 <= north) & (north <= y1)
    east, north, mass = east[here], north[here], mass[here]
    if not (np.isfinite(mass).all() and (mass >= 0).all() and mass.sum() > 0):
        msg = f"{path}: weights ({weight}) must be at least 0, not all 0, and there must be points inside the extent"
        raise InputError(msg, code="points-weights")
    return Points(east, north, mass, (float(x0), float(y0), float(x1), float(y1)), crs, spread)


def _read(path: Path) -> dict[str, np.ndarray[tuple[int], np.dtype[np.generic]]]:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet as pq

    try:
        table = pyarrow.csv.read_csv(path) if path.suffix == ".csv" else pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        msg = f"{path}: not readable as {'CSV' if path.suffix == '.csv' else 'Parquet'} ({error})"
        raise InputError(msg, code="points-unreadable") from None
    return {name: table[name].to_numpy() for name in table.column_names}


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
) -> PlacedDataset:
    """Place a data set's households on a grid of (nx, ny) cells; with points, on their extent."""
    nx, ny = shape
    extent, crs = (points.extent, points.crs) if points else ((0.0, 0.0, float(nx), float(ny)), "local")
    grid = Grid(*extent, nx=nx, ny=ny, crs=crs)
    households, cells = place(name, len(dataset.readings), grid, seed, points)
    if len(households) < len(dataset.readings):
        dataset = replace(dataset, readings=dataset.readings[households])
    return PlacedDataset(dataset, grid, cells)


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
