"""From the publisher's tables to the source, materialised once, and the operator's report."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from typing import TYPE_CHECKING

from gridveil.cube import Grid, Window
from gridveil.ingest.report import Report, answer, duplicate_faults, household_faults, reading_faults
from gridveil.ingest.rules import LARGEST_READING, accepted, coordinates, places, readings
from gridveil.ingest.schema import HouseholdsTable, ReadingsTable
from gridveil.ingest.source import IngestedSource, contributions, resolved
from gridveil.ingest.tables import open_table, reading

if TYPE_CHECKING:
    import ibis
    from ibis.backends.duckdb import Backend


def connect() -> Backend:
    """Return a fresh in-memory engine; what does not fit into memory goes to a private folder that is removed after."""
    import ibis

    con = ibis.duckdb.connect()
    spill = tempfile.mkdtemp(prefix="gridveil-")
    weakref.finalize(con, shutil.rmtree, spill, ignore_errors=True)
    con.con.execute("SET temp_directory = ?", [spill]).fetchall()
    con.raw_sql("SET TimeZone = 'UTC'")
    con.raw_sql("SET enable_progress_bar = false")
    return con


def axes(households_table: HouseholdsTable) -> tuple[str, str]:
    """Return the names of the columns of the place, without reading a row."""
    with reading(households_table.path):
        return coordinates(open_table(connect(), "households", households_table), households_table)


def ingest(
    readings_table: ReadingsTable, households_table: HouseholdsTable, grid: Grid, window: Window
) -> tuple[IngestedSource, Report]:
    """Read both tables and return the source of `window` (all steps to be read), with the report on its faults.

    A household's rows decide on nothing but its own contribution, whatever they hold (see `rules`). Only a fault of a
    whole table raises. Cost: linear in rows; faults and duplicates take another pass
    each, but only where there are any.
    """
    con = connect()
    with reading(households_table.path):
        where = places(open_table(con, "households", households_table), households_table, grid).materialised(con)
        faults = household_faults(where, grid)
        households = answer(where.located.count())
    with reading(readings_table.path):
        rows = readings(open_table(con, "readings", readings_table), readings_table, window)
        good = accepted(rows, where.located, window)
        binned = con.create_table("binned", contributions(good, window))
        total, (counted, largest, doubtful) = answer(rows.count()), _tally(binned)
        if counted < total or largest >= LARGEST_READING:
            faults += reading_faults(rows, where, window)
        parts = binned.filter(~binned.doubtful).select("number", "cell", "step", "wh")
        if doubtful:
            again = con.create_table("resolved", resolved(good, binned.filter(binned.doubtful)))
            duplicates = duplicate_faults(again)
            counted, faults = counted - sum(fault.count for fault in duplicates), faults + duplicates
            parts = parts.union(again.drop("duplicates"))
    return IngestedSource(grid, window, parts), Report(households, total, counted, tuple(faults))


def _tally(binned: ibis.Table) -> tuple[int, int, int]:
    """Return how many readings were binned, the largest contribution, and how many may hide duplicates."""
    row = binned.agg(readings=binned.readings.sum(), largest=binned.wh.max(), doubtful=binned.doubtful.sum())
    readings, largest, doubtful = row.to_pyarrow().to_pylist()[0].values()
    return readings or 0, largest or 0, doubtful or 0
