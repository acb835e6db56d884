"""A few readings that try every rule, written to any number of files."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gridveil.geography.grid import Grid
from gridveil.model.running import Limits
from gridveil.model.window import Window
from gridveil.trusted.budget import Bound
from gridveil.trusted.engines.base.engine import EngineSettings
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable
from gridveil.trusted.source.ingest import IngestedSource
from gridveil.trusted.source.report import Report

START = datetime(2013, 2, 4, tzinfo=UTC)
WINDOW = Window(START, timedelta(hours=1), 6)
GRID = Grid(0, 0, 2, 2, 2, 2)
BOUND = Bound(2_000, 5_000)
APART = Limits(part_bytes=1)
"""Every file is a part by itself."""

APART_SETTINGS = EngineSettings(limits=APART)
HOMES = {"household": ["a", "b", "c"], "x": [0.5, 1.5, 1.5], "y": [0.5, 1.5, 0.5]}
ROWS = [
    ("a", 0, 0.5),
    ("a", 1800, 0.7),
    ("a", 1800, 0.2),  # the smaller of two at the same second counts
    ("a", 3600, 9.0),  # above the step bound
    ("b", 3600, 0.1),
    ("b", 3601, 0.2),  # in the same slot, but another second
    ("b", 7200, 1.0),
    ("b", 7200, 1.0),
    ("b", 10800, 2.0),
    ("b", 14400, 2.0),
    ("b", 18000, 2.0),  # above the window bound
    ("c", 7200, 1e300),
    ("c", 9000, 1e12),
    ("c", 10800, -1.0),
    ("c", 10800, float("nan")),
    ("nobody", 3600, 1.0),
    ("c", 10**6, 1.0),
    ("c", 14400, 0.25),
]


def write(
    folder: Path, groups: list[list[tuple[str, int, float]]], **options: Any
) -> tuple[ReadingsTable, HouseholdsTable]:
    """Write a file for each group of rows."""
    folder.mkdir(parents=True, exist_ok=True)
    schema = pa.schema([("household", pa.string()), ("timestamp", pa.timestamp("us")), ("kwh", pa.float64())])
    for index, rows in enumerate(groups):
        names, seconds, kwh = zip(*rows, strict=True) if rows else ((), (), ())
        times = [(START + timedelta(seconds=second)).replace(tzinfo=None) for second in seconds]
        table = pa.table({"household": list(names), "timestamp": times, "kwh": list(kwh)}, schema=schema)
        pq.write_table(table, folder / f"part-{index:03}.parquet", **options)
    pq.write_table(pa.table(HOMES), folder / "homes.parquet")
    return ReadingsTable(f"{folder}/part-*.parquet"), HouseholdsTable(f"{folder}/homes.parquet")


def told(source: IngestedSource, report: Report) -> tuple[Any, ...]:
    """Return all that is seen of readings, but for examples: those are of the first part that has one."""
    counts = source.count_totals(WINDOW, BOUND.step, np.array([0, 1000, 4000]))
    cube = source.bounded_cube(WINDOW, BOUND)
    slabs = [source.bounded_cube(WINDOW, BOUND, slice(x, x + 1)) for x in range(GRID.nx)]
    np.testing.assert_array_equal(np.concatenate(slabs), cube)
    source.close()
    faults = sorted((fault.code, fault.count) for fault in report.faults)
    return cube.tolist(), counts.tolist(), report.readings, report.counted, faults


def kept(scratch: Path, what: str = "parts") -> list[Path]:
    """Return the files of parts, or those of what is counted in them."""
    files = sorted(scratch.glob("gridveil-scratch/*.parquet"))
    return [file for file in files if file.stem.endswith("-counts") == (what == "counts")]
