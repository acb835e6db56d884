"""From the publisher's tables to the source, materialised once, and the operator's report."""

from __future__ import annotations

import time
from dataclasses import replace

from gridveil.geography.grid import Grid
from gridveil.model.errors import InputError
from gridveil.model.progress import Progress, silent
from gridveil.model.window import Window
from gridveil.trusted.engines.base.engine import Engine, fetch_rows
from gridveil.trusted.engines.base.partitions import has_fields
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable
from gridveil.trusted.engines.base.settings import EngineSettings, connect
from gridveil.trusted.kernel.labels import is_held
from gridveil.trusted.source.parts import (
    PartSums,
    Readings,
    find_examples,
    hash_facts,
    is_doubtful,
    make_run_key,
    merge_parts,
    reread_doubtful,
    resolve_duplicates,
    sum_contributions,
)
from gridveil.trusted.source.report import Report, find_warnings, household_faults, reading_faults
from gridveil.trusted.source.rules import classify_readings, find_coordinates, locate_households
from gridveil.trusted.source.source import IngestedSource

DEFAULT_SETTINGS = EngineSettings()
READ_STAGE = "read the tables"
READINGS = "readings"
RESOLVE_STAGE = "look again at doubtful readings"
MAX_PARTS_IN_MEMORY = 4
"""So many parts are kept in memory, unless something else was stated; more go to files, which are smaller."""


def find_axes(households_table: HouseholdsTable, settings: EngineSettings = DEFAULT_SETTINGS) -> tuple[str, str]:
    """Return the names of the columns of the place, without reading a row."""
    engine = connect(replace(settings, scratch=None))
    try:
        with engine.translate_errors(households_table.path):
            return find_coordinates(engine.open("households", households_table).table, households_table)
    finally:
        engine.close()


def ingest(
    readings_table: ReadingsTable,
    households_table: HouseholdsTable,
    grid: Grid,
    window: Window,
    settings: EngineSettings = DEFAULT_SETTINGS,
    progress: Progress = silent,
) -> tuple[IngestedSource, Report]:
    """Read both tables and return the source of `window` (all steps to be read), with the report on its faults.

    A household's rows decide on nothing but its own contribution, whatever they hold (see `rules`). Only a fault of a
    whole table raises. Cost: linear in rows; parts with a reading in a step that has doubtful ones are read again, and
    so is the first part with a fault, for an example of it.
    """
    progress(READ_STAGE, 0.0)
    engine = connect(settings)
    try:
        return _ingest(engine, readings_table, households_table, grid, window, settings, progress)
    except BaseException:
        engine.close()
        raise


def _ingest(
    engine: Engine,
    readings_table: ReadingsTable,
    households_table: HouseholdsTable,
    grid: Grid,
    window: Window,
    settings: EngineSettings,
    progress: Progress,
) -> tuple[IngestedSource, Report]:
    with engine.translate_errors(households_table.path):
        where = locate_households(engine, engine.open("households", households_table).table, households_table, grid)
        faults = household_faults(engine, where, grid)
        # Of this table, because an engine that knows its size can bring it to the readings, instead of sorting those.
        [count] = fetch_rows(engine, where.numbers.agg(households=where.numbers.number.count()))
    with engine.translate_errors(readings_table.path):
        parts: list[PartSums] = []
        opened = engine.open(READINGS, readings_table, window)
        readings = Readings(engine, READINGS, opened, readings_table, window, where.numbers)
        small = settings.scratch is None and settings.memory is None and len(opened.keys) <= MAX_PARTS_IN_MEMORY
        outlasts = settings.scratch is not None and any(opened.keys)
        run = (
            make_run_key(engine, where.numbers, (readings_table, households_table), grid, window) if outlasts else "run"
        )
        keys = [f"{run}-{hash_facts(key)}" if key and not small else None for key in opened.keys]
        there = [key is not None and engine.has(key) for key in keys]
        tell = _ReadingRate(progress, there)
        sums = sum_contributions(classify_readings(readings.rows(), where.numbers, window), window)
        if not is_held(grid.cells * window.steps, settings.limits):  # so that a slab's households are in few places
            sums = sums.order_by("number")
        for index, key in enumerate(keys):
            parts.append(PartSums.of(readings, index, sums, key))
            tell(parts)
        total = sum(part.readings + sum(part.faults.values()) for part in parts)
        if opened.rows not in (None, total):
            msg = f"{readings_table.path}: the statistics in its files are not those of their rows; write them again"
            raise InputError(msg, code="statistics-wrong")
        progress(READ_STAGE, 1.0)
        progress(RESOLVE_STAGE, 0.0)
        table = merge_parts(engine, parts)
        doubt = engine.keep("doubtful", table.filter(is_doubtful(engine, table)).select("number", "step"))
        once = reread_doubtful(readings, parts, doubt)
        if once is not None:
            sure = table.filter(~is_doubtful(engine, table)).select("number", "step", "wh")
            table = sure.union(engine.keep("resolved", resolve_duplicates(once)))
        found = find_examples(readings, parts)
        dropped, of_readings = reading_faults(engine, parts, once, found, by_days=has_fields(readings_table.path))
        engine.check_unchanged()
    progress(RESOLVE_STAGE, 1.0)
    counted = sum(part.readings for part in parts) - dropped
    sums = table.select("number", "step", "wh")
    source = IngestedSource(engine, grid, window, sums, where.located, readings_table.path)
    return source, Report(count["households"], total, counted, (*faults, *of_readings), find_warnings(parts, window))


class _ReadingRate:
    """Tells the operator how far and how fast parts are read: rounded, as counts of readings are private.

    What an interrupted run had read is told once, and is no part of this run's work: it would pass for speed.
    """

    def __init__(self, progress: Progress, there: list[bool]) -> None:
        self.progress, self.there = progress, there
        self.last, self.readings, self.seconds = time.monotonic(), 0, 1e-3
        if any(there):
            progress(f"{sum(there)} of {len(there)} parts were read before.", 1.0)

    def __call__(self, parts: list[PartSums]) -> None:
        """Tell of the last of `parts`."""
        now, number, of = time.monotonic(), len(parts), len(self.there)
        since, self.last = now - self.last, now
        if self.there[number - 1]:
            return
        self.readings, self.seconds = self.readings + parts[-1].readings, self.seconds + since
        rate = f"{self.readings / self.seconds / 1e6:.2g} M readings/s"
        told = f" ({number} of {of} parts, {rate})" if of > 1 else ""
        self.progress(f"{READ_STAGE}{told}", self.there[:number].count(False) / self.there.count(False))
