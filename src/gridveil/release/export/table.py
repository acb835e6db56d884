"""The long table: a row for every cell and step, as network operators publish them; ordered by time, y, x."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from gridveil.release.export.places import area_ids, centres
from gridveil.release.export.slabs import Slab
from gridveil.release.format import wording
from gridveil.release.format.cf import time_edges
from gridveil.release.query.open import Release

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
    """Makes the rows of a slab. What repeats from step to step is a dictionary, so that it takes little room.

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
