from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.trusted.source import parted

from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.trusted.budget import Bound
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable
from gridveil.trusted.source.ingest import ingest
from gridveil.trusted.source.report import Report

WINDOW = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 4)
HOMES = {"household": ["a", "b"], "x": [0.5, 1.5], "y": [0.5, 1.5]}
Ask = Callable[..., tuple[dict[tuple[int, ...], int], Report]]


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """Ingest readings and households (columns, bytes of CSV, or a path): Wh by (x, y, step), and the report."""

    def place(table: Any, name: str) -> str:
        if isinstance(table, bytes):
            (tmp_path / f"{name}.csv").write_bytes(table)
            return str(tmp_path / f"{name}.csv")
        if isinstance(table, dict):
            pq.write_table(pa.table(table), tmp_path / f"{name}.parquet")
            return str(tmp_path / f"{name}.parquet")
        return str(table)

    def run(
        readings: Any,
        households: Any = HOMES,
        *,
        window: Window = WINDOW,
        grid: Grid | None = None,
        at: dict[str, Any] | None = None,
        **options: Any,
    ) -> tuple[dict[tuple[int, ...], int], Report]:
        tables = (
            ReadingsTable(place(readings, "readings"), **options),
            HouseholdsTable(place(households, "households"), **(at or {})),
        )
        source, report = ingest(*tables, grid or Grid(0, 0, 2, 2, 2, 2), window)
        cube = source.bounded_cube(window, Bound(10**6, 10**9))
        return {tuple(int(i) for i in where): int(cube[tuple(where)]) for where in np.argwhere(cube)}, report

    return run


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, ...]:
    """All that is seen of `parted.ROWS` in one file; test_parts has what that is, by hand."""
    whole = parted.write(tmp_path_factory.mktemp("whole"), [parted.ROWS])
    return parted.told(*ingest(*whole, parted.GRID, parted.WINDOW))
