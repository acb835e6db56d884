"""A table of points and weights, such as feeders and their meters: a density to draw the homes of households from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gridveil.geography.grid import Grid
from gridveil.model.arrays import Floats, Ints
from gridveil.model.errors import InputError, UsageError

Extent = tuple[float, float, float, float]


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
