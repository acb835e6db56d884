"""The source: integer contributions of every household, made once from the publisher's tables."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from gridveil.geography.grid import Grid
from gridveil.model.arrays import Ints
from gridveil.model.errors import InputError, UsageError
from gridveil.model.running import Progress, silent
from gridveil.model.window import Window
from gridveil.trusted.budget import Bound
from gridveil.trusted.engines.base.engine import Engine, EngineSettings, connect, fetch_rows
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable, has_fields
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

if TYPE_CHECKING:
    import ibis


# The source: integer contributions of every household, and the sums of them that the kernel asks for.


@dataclass(frozen=True)
class IngestedSource:
    """Contributions as a table: `number` of the household, `step`, `wh`. Implements the kernel's `Source`.

    `located` has the `cell` of every number. `path` is what is said to be unreadable if the engine fails: its own words
    may quote rows. What was computed once is kept in the engine until `close`.
    """

    engine: Engine
    grid: Grid
    window: Window
    table: ibis.Table
    located: ibis.Table
    path: str
    _totals: dict[tuple[Window, int], ibis.Table] = field(default_factory=dict, compare=False, repr=False)

    def bounded_cube(self, window: Window, bound: Bound, rows: slice | None = None) -> Ints:
        """Return the sums of bounded contributions per cell and step, of all cells or of those with `x` in `rows`.

        Cap each step, then scale a household whose total is still above the window bound down to it, rounding down.
        The division is one of doubles, but exact: the dividend `a` is an integer below 2**53 (see `Bound`), so that a
        quotient `a / b` is at least `1 / b` below the next whole number, more than rounding can add.
        """
        first, last, _ = (rows or slice(None)).indices(self.grid.nx)
        cube = np.zeros(((last - first) * self.grid.ny, window.steps), dtype=np.int64)
        with self.engine.translate_errors(self.path):
            totals = self._sum_households(window, bound.step)
            inside = totals.filter(totals.cell >= first * self.grid.ny, totals.cell < last * self.grid.ny)
            capped = self._clip_steps(window, bound.step)
            if rows is not None:
                capped = self._select_near(capped, inside)
            of = capped.join(inside, "number")
            wh = (of.total > bound.window).ifelse((of.wh * bound.window) // of.total, of.wh)
            sums = of.group_by("cell", "step").agg(wh=wh.sum().cast("int64"))
            for batch in self.engine.fetch_batches(sums):
                cell, step, total = (np.from_dlpack(batch[name]) for name in ("cell", "step", "wh"))  # without pandas
                cube[cell - first * self.grid.ny, step - self._find_offset(window)] = total
        return cube.reshape(last - first, self.grid.ny, window.steps)

    def count_totals(self, window: Window, step_bound: int, edges: Ints) -> Ints:
        """Return how many households have their capped window total in each bin.

        Those without a reading in the window are in none: a household whose readings of just this window are taken away
        leaves one bin and enters no other, which a ledger of windows relies on.
        """
        with self.engine.translate_errors(self.path):
            totals = self._sum_households(window, step_bound)
            reached = {f"edge_{index}": (totals.total >= edge).sum() for index, edge in enumerate(edges.tolist())}
            [counts] = fetch_rows(self.engine, totals.agg(**reached))
        at_least = np.array([counts[name] or 0 for name in reached], dtype=np.int64)
        return -np.diff(at_least, append=0)

    def close(self) -> None:
        """Let go of the engine; what outlasts it stays."""
        self.engine.close()

    def forget(self) -> None:
        """Take away what was kept to go on after an interruption, and let go of the engine."""
        self.engine.forget()
        self.engine.close()

    def _find_offset(self, window: Window) -> int:
        offset = window.start - self.window.start
        first, rest = divmod(offset, self.window.step)
        if rest or window.step != self.window.step or first < 0 or first + window.steps > self.window.steps:
            msg = (
                f"the window from {window.start} ({window.steps} steps) was not read: "
                f"the source has {self.window.steps} steps from {self.window.start}"
            )
            raise UsageError(msg, code="window-not-read")
        return first

    def _clip_steps(self, window: Window, step_bound: int) -> ibis.Table:
        import ibis

        first = self._find_offset(window)
        rows = self.table.filter(self.table.step >= first, self.table.step < first + window.steps)
        return rows.mutate(wh=ibis.least(rows.wh, step_bound))

    def _select_near(self, rows: ibis.Table, inside: ibis.Table) -> ibis.Table:
        """Return the rows of some neighbouring households: numbers go up by cell, and an engine may skip the others."""
        [ends] = fetch_rows(self.engine, inside.agg(first=inside.number.min(), last=inside.number.max()))
        if ends["first"] is None:
            return rows.limit(0)
        return rows.filter(rows.number >= ends["first"], rows.number <= ends["last"])

    def _sum_households(self, window: Window, step_bound: int) -> ibis.Table:
        """Return number, cell and total of the households that have a reading in the window."""
        if (window, step_bound) not in self._totals:
            capped = self._clip_steps(window, step_bound)
            totals = capped.group_by("number").agg(total=capped.wh.sum())
            placed = totals.join(self.located, "number").select("number", "cell", "total")
            self._totals[window, step_bound] = self.engine.keep(f"totals_{len(self._totals)}", placed)
        return self._totals[window, step_bound]


# From the publisher's tables to the source, materialised once, and the operator's report.

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
    """Reports to the operator how far and how fast parts are read: rounded, as counts of readings are private.

    What an interrupted run had read is told once, and is no part of this run's work: it would pass for speed.
    """

    def __init__(self, progress: Progress, there: list[bool]) -> None:
        self.progress, self.there = progress, there
        self.last, self.readings, self.seconds = time.monotonic(), 0, 1e-3
        if any(there):
            progress(f"{sum(there)} of {len(there)} parts were read before.", 1.0)

    def __call__(self, parts: list[PartSums]) -> None:
        """Report progress after the last of `parts`."""
        now, number, of = time.monotonic(), len(parts), len(self.there)
        since, self.last = now - self.last, now
        if self.there[number - 1]:
            return
        self.readings, self.seconds = self.readings + parts[-1].readings, self.seconds + since
        rate = f"{self.readings / self.seconds / 1e6:.2g} M readings/s"
        told = f" ({number} of {of} parts, {rate})" if of > 1 else ""
        self.progress(f"{READ_STAGE}{told}", self.there[:number].count(False) / self.there.count(False))
