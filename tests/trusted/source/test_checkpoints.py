"""The key of a run: the same for the same households, however many they are and in whatever order they come."""

from datetime import UTC, datetime, timedelta

import pytest

from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.trusted.engines.base.engine import EngineSettings
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable
from gridveil.trusted.engines.duckdb.engine import DuckDBEngine
from gridveil.trusted.source.parts import make_run_key

GRID, WINDOW = Grid(0, 0, 2, 2, 2, 2), Window(datetime(2013, 1, 1, tzinfo=UTC), timedelta(hours=1), 6)
TABLES = ReadingsTable("readings.parquet"), HouseholdsTable("households.parquet")
MANY = 300_000
"""Above what DuckDB gives out in one piece: from there on it keeps no order unless it is told to."""


def key(change: str = "number", order: str = "household") -> str:
    """Return the key of a run whose households have these numbers."""
    engine = DuckDBEngine(EngineSettings())
    engine.con.raw_sql(
        f"CREATE TABLE numbers AS SELECT household, {change} AS number FROM (SELECT 'h' || i AS household, "  # noqa: S608  # ours
        f"CASE WHEN i % 5 > 0 THEN i END AS number FROM range({MANY}) r(i)) ORDER BY {order}"
    )
    found = make_run_key(engine, engine.con.table("numbers"), TABLES, GRID, WINDOW)
    engine.close()
    return found


@pytest.mark.parametrize("order", ["household", "household DESC", "hash(household)"])
def test_the_order_of_households_does_not_matter(order: str) -> None:
    assert key(order=order) == key()


@pytest.mark.parametrize(
    "change", ["CASE household WHEN 'h7' THEN 8 WHEN 'h8' THEN 7 ELSE number END", "COALESCE(number, 0)"]
)
def test_every_number_does(change: str) -> None:
    assert key(change) != key()
