"""Ingest of the London readings, beside a bare GROUP BY of the same file in the same process."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable
from gridveil.trusted.source.ingest import ingest

READINGS = Path(__file__).parents[2] / "shared" / "data" / "lcl" / "readings_hourly.parquet"
WINDOW = Window(datetime(2013, 1, 14, tzinfo=UTC), timedelta(hours=1), 1008)
GRID = Grid(0, 0, 32, 32, 32, 32)
REPEATS = 3


def measure() -> dict[str, float]:
    """Return the best of three of each, taking turns; nothing if the file is not there."""
    if not READINGS.exists():
        return {}
    with tempfile.TemporaryDirectory() as folder:
        households = _placed(Path(folder) / "households.parquet")
        tables = ReadingsTable(str(READINGS)), HouseholdsTable(str(households))
        report = ingest(*tables, GRID, WINDOW)[1]
        times = [(_seconds(lambda: ingest(*tables, GRID, WINDOW)), _seconds(_group_by)) for _ in range(REPEATS)]
    ingested, grouped = (min(column) for column in zip(*times, strict=True))
    return {
        "ingest_seconds": ingested,
        "group_by_seconds": grouped,
        "ratio": ingested / grouped,
        "readings": report.readings,
    }


def _placed(path: Path) -> Path:
    ids = pq.read_table(READINGS, columns=["household"])["household"].unique()
    x, y = np.random.default_rng(0).uniform(0, 32, (2, len(ids)))
    pq.write_table(pa.table({"household": ids, "x": x, "y": y}), path)
    return path


def _group_by() -> None:
    step = "date_diff('hour', TIMESTAMP '2013-01-14', timestamp)"
    query = f"SELECT household, {step} AS step, sum(kwh) FROM '{READINGS}' GROUP BY 1, 2"  # noqa: S608  # a path of ours
    with duckdb.connect() as con:
        con.execute(f"CREATE TABLE b AS {query}").fetchall()


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
