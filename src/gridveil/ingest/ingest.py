"""From the publisher's tables to the source, materialised once, and the operator's report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gridveil.cube import Grid, Window
from gridveil.ingest.engines.connect import connect
from gridveil.ingest.engines.engine import Engine, Part
from gridveil.ingest.engines.settings import EngineSettings
from gridveil.ingest.report import Report, answers, duplicate_faults, household_faults, reading_faults
from gridveil.ingest.rules import LARGEST_READING, accepted, coordinates, places, readings
from gridveil.ingest.schema import HouseholdsTable, ReadingsTable
from gridveil.ingest.source import IngestedSource, contributions, resolved
from gridveil.progress import Progress, silent

if TYPE_CHECKING:
    import ibis

BY_DEFAULT = EngineSettings()


def axes(households_table: HouseholdsTable, settings: EngineSettings = BY_DEFAULT) -> tuple[str, str]:
    """Return the names of the columns of the place, without reading a row."""
    engine = connect(settings)
    with engine.complaints(households_table.path):
        return coordinates(_whole(engine.open("households", households_table)), households_table)


def ingest(
    readings_table: ReadingsTable,
    households_table: HouseholdsTable,
    grid: Grid,
    window: Window,
    settings: EngineSettings = BY_DEFAULT,
    progress: Progress = silent,
) -> tuple[IngestedSource, Report]:
    """Read both tables and return the source of `window` (all steps to be read), with the report on its faults.

    A household's rows decide on nothing but its own contribution, whatever they hold (see `rules`). Only a fault of a
    whole table raises. Cost: linear in rows; faults and duplicates take another pass
    each, but only where there are any.
    """
    engine = connect(settings)
    progress("read the tables", 0.0)
    with engine.complaints(households_table.path):
        table = _whole(engine.open("households", households_table))
        where = places(engine, table, households_table, grid).materialised(engine)
        faults = household_faults(engine, where, grid)
        households = _count(engine, where.located)
    with engine.complaints(readings_table.path):
        rows = readings(engine, _whole(engine.open("readings", readings_table, window)), readings_table, window)
        good = accepted(rows, where.located, window)
        binned = engine.keep("binned", contributions(engine, good, window))
        total, (counted, largest, doubtful) = _count(engine, rows), _tally(engine, binned)
        if counted < total or largest >= LARGEST_READING:
            faults += reading_faults(engine, rows, where, window)
        parts = binned.filter(~binned.doubtful).select("number", "cell", "step", "wh")
        if doubtful:
            again = engine.keep("resolved", resolved(good, binned.filter(binned.doubtful)))
            duplicates = duplicate_faults(engine, again)
            counted, faults = counted - sum(fault.count for fault in duplicates), faults + duplicates
            parts = parts.union(again.drop("duplicates"))
    progress("read the tables", 1.0)
    return IngestedSource(engine, grid, window, parts), Report(households, total, counted, tuple(faults))


def _whole(parts: list[Part]) -> ibis.Table:
    import ibis

    return ibis.union(*(part.table for part in parts))


def _count(engine: Engine, table: ibis.Table) -> int:
    return int(answers(engine, table.agg(rows=table.count()))[0]["rows"])


def _tally(engine: Engine, binned: ibis.Table) -> tuple[int, int, int]:
    """Return how many readings were binned, the largest contribution, and how many may hide duplicates."""
    row = binned.agg(readings=binned.readings.sum(), largest=binned.wh.max(), doubtful=binned.doubtful.sum())
    readings, largest, doubtful = answers(engine, row)[0].values()
    return readings or 0, largest or 0, doubtful or 0
