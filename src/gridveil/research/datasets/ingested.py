"""A publisher's tables as a data set in memory, through the same ingest as a publication. Nothing here is private."""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa

from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.publishing.spec import Spec
from gridveil.research.datasets.dataset import Dataset, PlacedDataset, place_dataset, read_points
from gridveil.trusted.engines.base.engine import EngineSettings
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable, require_columns
from gridveil.trusted.engines.duckdb.engine import DuckDBEngine
from gridveil.trusted.engines.duckdb.tables import translate_errors
from gridveil.trusted.source.ingest import ingest
from gridveil.trusted.source.report import Report
from gridveil.trusted.source.rules import read_identifier

AS_GIVEN = "as-given"
"""The placement of households that have coordinates of their own."""

NAME = "readings"


@dataclass(frozen=True)
class IngestedTown:
    """Where the processes of a comparison find its data: a file of arrays, and how to place households without a place.

    Without a placement of its own (`as-given`), the town stands as it is; with one, every seed is another placement.
    """

    path: str
    points: str | None = None
    weight: str = "weight"
    extent: tuple[float, float, float, float] | None = None

    def __call__(self, dataset: str, placement: str, seed: int) -> PlacedDataset:
        """Return the town, placed."""
        del dataset  # there is one
        town = _load(Path(self.path))
        if placement == AS_GIVEN:
            return town
        points = read_points(Path(self.points), self.weight, self.extent) if self.points else None
        return place_dataset(town.dataset, placement, (town.grid.nx, town.grid.ny), seed, points)


def ingest_town(spec: Spec, train_steps: int, *, placed: bool) -> tuple[PlacedDataset, Report]:
    """Read a spec's tables by the rules of a publication, with `train_steps` steps before the window.

    Households without any reading that counts are left out: they have no part in any truth. With `placed=False`
    coordinates are neither needed nor used: all households are in the first cell, to be placed later, and they are
    those of the table of households or, without one, all that have readings.
    """
    window, grid = spec.to_window(), spec.to_grid()
    first = window.before(train_steps).start if train_steps else window.start
    whole = Window(first, window.step, train_steps + window.steps)
    if placed:
        source, report = ingest(*spec.tables(), grid, whole)
    else:
        spec.need("readings")
        with tempfile.TemporaryDirectory(prefix="gridveil-") as folder:
            source, report = ingest(spec.readings, _place_in_first_cell(spec, grid, Path(folder)), grid, whole)  # type: ignore[arg-type]  # needed above
    located = source.table.join(source.located, "number")
    rows = pa.Table.from_batches(source.engine.fetch_batches(located), located.schema().to_pyarrow())
    number, cell, step, wh = (rows[name].to_numpy() for name in ("number", "cell", "step", "wh"))
    known, household = np.unique(number, return_inverse=True)
    readings = np.zeros((len(known), whole.steps), dtype=np.int64)
    readings[household, step] = wh
    cells = np.zeros(len(known), dtype=np.int64)
    cells[household] = cell
    origin = f"{spec.readings.path if spec.readings else ''}: {len(known)} households"
    dataset = Dataset(NAME, origin, window, train_steps, readings)
    return PlacedDataset(dataset, grid, np.stack(np.divmod(cells, grid.ny), axis=1)), report


def _place_in_first_cell(spec: Spec, grid: Grid, folder: Path) -> HouseholdsTable:
    """Write a table that puts every household into the first cell."""
    table: ReadingsTable | HouseholdsTable | None = spec.households or spec.readings
    if table is None:
        msg = "needed above"
        raise AssertionError(msg)
    engine = DuckDBEngine(EngineSettings())
    with translate_errors(table.path):
        rows = engine.open("named", table).table
        require_columns(rows, table.path, {"household": table.household})
        names = rows.select(household=read_identifier(engine, rows[table.household], table.path).nullif("")).distinct()
        names = names.filter(names.household.notnull())
        names.mutate(x=grid.x0, y=grid.y0).to_parquet(folder / "households.parquet")
    return HouseholdsTable(str(folder / "households.parquet"), x="x", y="y")


def hash_town(town: PlacedDataset, points: Path | None, weight: str) -> str:
    """Return a digest of the data, which a study's file holds; for the operator's own files only."""
    with translate_errors(str(points)):
        drawn = points.read_bytes() + weight.encode() if points else b""
    return hashlib.sha256(town.cells.tobytes() + town.dataset.readings.tobytes() + drawn).hexdigest()


def save_town(town: PlacedDataset, path: Path) -> None:
    """Write a town to a file of arrays, for other processes."""
    grid, window = town.grid, town.dataset.window
    np.savez(
        path,
        cells=town.cells,
        readings=town.dataset.readings,
        extent=np.array([grid.x0, grid.y0, grid.x1, grid.y1]),
        shape=np.array([grid.nx, grid.ny]),
        window=np.array([int(window.step.total_seconds()), window.steps, town.dataset.train_steps]),
        words=np.array([grid.crs, window.start.isoformat(), town.dataset.name, town.dataset.origin]),
    )


def _load(path: Path) -> PlacedDataset:
    with np.load(path) as kept:
        crs, start, name, origin = (str(word) for word in kept["words"])
        seconds, steps, train_steps = (int(number) for number in kept["window"])
        nx, ny = (int(number) for number in kept["shape"])
        x0, y0, x1, y1 = (float(edge) for edge in kept["extent"])
        grid = Grid(x0, y0, x1, y1, nx, ny, crs)
        window = Window(datetime.fromisoformat(start), timedelta(seconds=seconds), steps)
        return PlacedDataset(Dataset(name, origin, window, train_steps, kept["readings"]), grid, kept["cells"])
