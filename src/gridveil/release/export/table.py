"""The long table of a release, a row for every cell and step: places, slabs of steps, and metadata."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gridveil.geography.grid import Grid, convert_to_lonlat, edges
from gridveil.model.arrays import Floats
from gridveil.model.running import Progress, silent
from gridveil.release.format import wording
from gridveil.release.format.hdf5_file import time_edges
from gridveil.release.format.label import warnings
from gridveil.release.query.open import Release

# Walking through a release some steps at a time, so that one of any size is exported in little memory.

SLAB = 2**20
"""Cells times steps that are held at a time."""

STAGE = "export"
PUBLIC = 0o644  # an export may be read by everybody, as a release may


@dataclass(frozen=True)
class Slab:
    """The steps from `first` on, with the 95 % interval of every single cell and step; kWh, axes (time, y, x)."""

    first: int
    value: NDArray[np.float32]
    standard_error: NDArray[np.float32]
    low: NDArray[np.float32]
    high: NDArray[np.float32]

    @property
    def steps(self) -> slice:
        """Which steps these are."""
        return slice(self.first, self.first + len(self.value))


def slabs(release: Release, progress: Progress = silent, size: int = SLAB) -> Iterator[Slab]:
    """Give all steps in turn, as many at a time as have about `size` cells, and at least one."""
    ny, nx, steps = release.grid.ny, release.grid.nx, release.window.steps
    rows = max(1, size // (ny * nx))
    for first in range(0, steps, rows):
        last = min(first + rows, steps)
        parts = np.empty((4, last - first, ny, nx), np.float32)
        for step in range(first, last):
            at = release.cells(step, step + 1)
            parts[:, step - first] = at.value, at.standard_error, at.low, at.high
            progress(STAGE, (step + 1) / steps)
        yield Slab(first, *parts)


# Where cells are: names, centres and outlines, in the order of rows (y, then x).

DECIMALS = 7  # of a degree: a centimetre
MIN_DIGITS = 3


def area_ids(grid: Grid) -> list[str]:
    """Return a name for every cell that sorts as its place does.

    >>> area_ids(Grid(0, 0, 2, 1, nx=2, ny=1))
    ['x000_y000', 'x001_y000']
    """
    digits = max(MIN_DIGITS, len(str(max(grid.nx, grid.ny) - 1)))
    return [f"x{x:0{digits}}_y{y:0{digits}}" for y in range(grid.ny) for x in range(grid.nx)]


def centres(grid: Grid) -> dict[str, Floats]:
    """Return the two columns that say where a cell's centre is: lon and lat, or coordinates of the grid's own.

    >>> {name: column.tolist() for name, column in centres(Grid(0, 0, 2, 1, nx=2, ny=1)).items()}
    {'x_centre': [0.5, 1.5], 'y_centre': [0.5, 0.5]}
    """
    x, y = (
        (limits[:-1] + limits[1:]) / 2
        for limits in (edges(grid.x0, grid.x1, grid.nx), edges(grid.y0, grid.y1, grid.ny))
    )
    columns = np.tile(x, grid.ny), np.repeat(y, grid.nx)
    if grid.crs == "local":
        return dict(zip(("x_centre", "y_centre"), columns, strict=True))
    return dict(zip(("lon", "lat"), to_lonlat(grid.crs, *columns), strict=True))


def outlines(grid: Grid) -> Floats:
    """Return the ring of every cell, anticlockwise from its south-west corner and closed: (cell, 5, 2)."""
    x, y = edges(grid.x0, grid.x1, grid.nx), edges(grid.y0, grid.y1, grid.ny)
    across, up = np.tile(np.arange(grid.nx), grid.ny), np.repeat(np.arange(grid.ny), grid.nx)
    right, top = np.array([0, 1, 1, 0, 0]), np.array([0, 0, 1, 1, 0])
    return np.stack([x[across[:, None] + right], y[up[:, None] + top]], axis=2)


def to_lonlat(crs: str, x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Return coordinates as longitude and latitude (WGS 84), to the centimetre.

    >>> lon, lat = to_lonlat("EPSG:27700", np.array([530000.0]), np.array([180000.0]))
    >>> lon.round(3).tolist(), lat.round(3).tolist()
    ([-0.128], [51.504])
    """
    lon, lat = convert_to_lonlat(crs, x, y)
    return np.round(lon, DECIMALS), np.round(lat, DECIMALS)


# What every export says about itself: how private it is, and how its error bars are to be read.


def about(release: Release) -> dict[str, Any]:
    """Return texts, and the whole label as plain data; all of it can be written as JSON."""
    label = release.label
    return {
        "title": label.heading,
        "publisher": label.publisher,
        "published": label.published.isoformat(),
        "private": label.private,
        "privacy": label.promise,
        "warnings": [str(warning) for warning in warnings(label)] if label.private else [],
        "units": "kWh",
        "step_seconds": label.window.step_seconds,
        "error_bars": wording.error_bars(
            corrected=label.correction is not None, about_the_truth=release.about_the_truth
        ),
        "comment": f"{wording.QUADRATURE} {wording.NEGATIVE}",
        "privacy_label": label.model_dump(mode="json"),
    }


def remarks(release: Release) -> list[str]:
    """Return the same as sentences for people, without the label."""
    known = about(release)
    return [
        known["title"],
        f"Published by {known['publisher']} on {known['published']}.",
        known["privacy"],
        *known["warnings"],
        known["error_bars"],
        wording.QUADRATURE,
        wording.NEGATIVE,
    ]


# The long table: a row for every cell and step, as network operators publish them; ordered by time, y, x.

UTC_TIME = pa.timestamp("ms", "UTC")  # Parquet has no whole seconds
MEASURES = {
    "kwh": "value",
    "standard_error_kwh": "standard_error",
    "kwh_low": "low",
    "kwh_high": "high",
}
"""The columns that differ from row to row, and what they are in a `Slab`."""

MEANING = {
    "area_id": "name of the cell: x and y with leading zeros, so that names sort",
    "x": "column of the cell, counted from 0 in the west",
    "y": "row of the cell, counted from 0 in the south",
    "lon": "longitude of the cell's centre, degrees (WGS 84)",
    "lat": "latitude of the cell's centre, degrees (WGS 84)",
    "x_centre": "x of the cell's centre, in the grid's own units: it has no coordinate system",
    "y_centre": "y of the cell's centre, in the grid's own units",
    "interval_start": "start of the step, UTC",
    "kwh": "energy used in the cell during the step, kWh",
    "standard_error_kwh": "its standard error, kWh",
    "kwh_low": "lower end of its 95 % interval, kWh",
    "kwh_high": "upper end of its 95 % interval, kWh",
    "geometry": "outline of the cell, well-known binary",
    "warning": "that the numbers are not private",
}


class LongTable:
    """Makes the rows of a slab. What repeats from step to step is a dictionary, so that it takes little space.

    extra: more columns about the cells, such as a geometry, in the order of cells (y, then x).
    """

    def __init__(self, release: Release, extra: dict[str, Any] | None = None) -> None:
        grid = release.grid
        self.cells = grid.cells
        self._seconds = time_edges(release.window)[:-1]
        self._of_cells = {
            "area_id": pa.array(area_ids(grid)),
            "x": pa.array(np.tile(np.arange(grid.nx, dtype=np.int32), grid.ny)),
            "y": pa.array(np.repeat(np.arange(grid.ny, dtype=np.int32), grid.nx)),
            **{name: pa.array(column) for name, column in centres(grid).items()},
        }
        self._extra = extra or {}
        # A table is easily parted from its label: one of test noise says so in every row.
        self._warning = {} if release.label.private else {"warning": pa.array([wording.NOT_PRIVATE])}

    @property
    def columns(self) -> dict[str, str]:
        """What the columns are called, in their order, and what they mean."""
        names = (*self._of_cells, "interval_start", *MEASURES, *self._extra, *self._warning)
        return {name: MEANING[name] for name in names}

    @property
    def schema(self) -> pa.Schema:
        """The types of the columns."""
        return self.of(Slab(0, *np.empty((4, 0, 1, 1), np.float32))).schema

    def of(self, slab: Slab) -> pa.Table:
        """Return the rows of a slab."""
        steps = len(slab.value)
        cell = np.tile(np.arange(self.cells, dtype=np.int32), steps)
        step = np.repeat(np.arange(steps, dtype=np.int32), self.cells)
        started = pa.array(self._seconds[slab.steps] * 1000).cast(UTC_TIME)
        return pa.table(
            {
                **{name: _repeated(cell, column) for name, column in self._of_cells.items()},
                "interval_start": _repeated(step, started),
                **{name: pa.array(getattr(slab, part).ravel()) for name, part in MEASURES.items()},
                **{name: _repeated(cell, column) for name, column in self._extra.items()},
                **{name: _repeated(np.zeros_like(cell), text) for name, text in self._warning.items()},
            }
        )


def _repeated(numbers: Any, column: Any) -> Any:  # noqa: ANN401 - pyarrow has no types
    return pa.DictionaryArray.from_arrays(pa.array(numbers), column)
