"""Contributions, part by part: sums per part, duplicates between parts, and keys of results that outlast a process."""

from __future__ import annotations

import hashlib
import json
from array import array
from collections import Counter
from dataclasses import asdict, dataclass
from functools import reduce
from importlib import metadata
from operator import or_
from typing import TYPE_CHECKING, Any

from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.trusted.budget import SUPPLY_WATTS
from gridveil.trusted.engines.base.engine import COUNTS_SUFFIX, Engine, OpenedTable, fetch_rows
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable
from gridveil.trusted.source.report import STANDBY_WATTS
from gridveil.trusted.source.rules import (
    ENERGY_FAULT,
    FAULTY,
    HOUSEHOLD_FAULTS,
    LARGEST_READING,
    TIMESTAMP_FAULT,
    Clock,
    classify_readings,
    find_faults,
    find_first_fault,
    select_readings,
    step_seconds,
)

if TYPE_CHECKING:
    import ibis
    import ibis.expr.types as ir


# The key of a run: results of parts that outlast a process are used again only by a run that would compute the same.
#
# What is kept of a part are sums by the numbers of households. They rest on the part's rows, on how rows are read,
# and on which household has which number. Were the numbers others, one household's readings would count as several
# households', each of them bounded by itself: so it is the numbers themselves that a key depends on, not the files
# that they are from.

FORMAT = 6
"""Of what is kept. Raise it with every change to the code of ingest that gives a part other sums, or another meaning:
a version of gridveil may stay the same while its code changes."""

BATCH = 2**20
"""Rows that are held as text at once."""


def make_run_key(
    engine: Engine, numbers: ibis.Table, tables: tuple[ReadingsTable, HouseholdsTable], grid: Grid, window: Window
) -> str:
    """Return what all parts of a run share. Cost: the households' ids are sorted and go through this process once."""
    settings = [asdict(table) for table in tables]
    versions = [metadata.version(name) for name in ("gridveil", "duckdb", "ibis-framework")]
    clock = Clock.of(tables[0].timezone, window)  # its offsets: the system's table of a zone's clock may be updated
    return hash_facts(FORMAT, versions, settings, clock, grid, window, _hash_numbers(engine, numbers))


def hash_facts(*facts: object) -> str:
    """Return a digest of what can be written as JSON or text."""
    return hashlib.sha256(json.dumps(facts, default=str).encode()).hexdigest()


def _hash_numbers(engine: Engine, numbers: ibis.Table) -> list[str]:
    """Return digests that two tables of households and numbers share only if they have the same rows.

    They are sorted here: an engine that may give out rows in any order, which is faster, keeps not even a stated one.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = pa.schema([("household", pa.large_string()), ("number", pa.int64())])  # text of over 2 GB, too
    filled = numbers.select("household", number=numbers.number.fill_null(-1))  # by the engine: Arrow would load pandas
    given = [batch.select(columns.names).cast(columns) for batch in engine.fetch_batches(filled)]
    ids, lengths, values = (hashlib.sha256() for _ in range(3))  # each of a whole column: batches may be cut anywhere
    for batch in pa.Table.from_batches(given, columns).sort_by("household").to_batches(max_chunksize=BATCH):
        ids.update("".join(batch["household"].to_pylist()).encode())
        lengths.update(array("q", pc.binary_length(batch["household"]).to_pylist()))
        values.update(array("q", batch["number"].to_pylist()))
    return [column.hexdigest() for column in (ids, lengths, values)]


# Contributions: each part of the readings is summed by itself, then the steps that several parts share.

SLOTS = 60
"""A step is looked at in this many slots: readings in different slots cannot be duplicates of each other."""


@dataclass(frozen=True)
class Readings:
    """The publisher's readings, of which the engine shows some parts, and the `numbers` of households."""

    engine: Engine
    role: str
    opened: OpenedTable
    table: ReadingsTable
    window: Window
    numbers: ibis.Table

    def rows(self, of: ibis.Table | None = None) -> ibis.Table:
        """Return rows as they are read, of all households or of some."""
        return select_readings(self.engine, self.opened.table, self.table, self.window, of)


def sum_contributions(rows: ibis.Table, window: Window) -> ibis.Table:
    """Sum classified readings to one row per household and step: `wh`, the count `readings`, and the `bits` of slots.

    Duplicates may hide among them if there are fewer bits than readings, which one pass over the rows shows.

    Sums of LARGEST_READING or more are cut off there: they are doubtful (`is_doubtful`), and computed again. Smaller
    ones are exact, as doubles hold whole numbers up to 2**53; and no number of rows makes a sum of doubles fail, as one
    of integers would, or turns it negative, as on some engines.
    """
    import ibis

    slot = -(-step_seconds(window) // SLOTS)  # seconds, rounded up
    bits = (ibis.literal(1, "int64") << (rows.second // slot).cast("int64")).bit_or()
    wh = ibis.least(rows.wh.cast("float64").sum(), float(LARGEST_READING)).cast("int64")
    return rows.group_by("number", "step").agg(wh=wh, readings=rows.count(), bits=bits)


@dataclass(frozen=True)
class PartSums:
    """A part's contributions, `table`, computed once.

    faults: how many of its readings have which of READING_FAULTS; readings: how many have none.
    steps: those that it has a reading in, and how many.
    contributions: how many steps of households it has; high, low: in how many of them a lot is used, or nearly nothing.
    group: parts of the same group have no household in common (see `OpenedTable`).
    """

    table: ibis.Table
    faults: dict[int, int]
    readings: int
    steps: dict[int, int]
    contributions: int
    high: int
    low: int
    group: int

    @classmethod
    def of(cls, readings: Readings, index: int, sums: ibis.Table, key: str | None) -> PartSums:
        """Compute a part's contributions, and count what is in them. Both are kept with its `key`."""
        engine = readings.engine
        engine.select_parts(readings.role, [index])
        table = engine.keep(f"part_{index}", sums, key)
        hours = step_seconds(readings.window) / 3600
        judged = table.mutate(
            faulty=table.number == FAULTY,
            high=(table.wh > SUPPLY_WATTS * hours).ifelse(1, 0),
            low=(table.wh < STANDBY_WATTS * hours).ifelse(1, 0),
        )
        counted = judged.group_by("faulty", "step").agg(
            readings=judged.readings.sum(),
            contributions=judged.count(),
            high=judged.high.sum(),
            low=judged.low.sum(),
        )
        if key is not None:  # a run that goes on then reads none of the contributions to count them
            counted = engine.keep(f"counts_{index}", counted, f"{key}{COUNTS_SUFFIX}")
        counts = fetch_rows(engine, counted)
        good = [row for row in counts if not row["faulty"]]
        return cls(
            table,
            faults={row["step"]: row["readings"] for row in counts if row["faulty"]},
            readings=sum(row["readings"] for row in good),
            steps={row["step"]: row["readings"] for row in good},
            contributions=sum(row["contributions"] for row in good),
            high=sum(row["high"] for row in good),
            low=sum(row["low"] for row in good),
            group=readings.opened.groups[index],
        )


def merge_parts(engine: Engine, parts: list[PartSums]) -> ibis.Table:
    """Return the contributions of all parts, one row per household and step.

    Only steps that occur in several groups of parts are summed again, and not even those if no household does.
    """
    whole = parts[0].table if len(parts) == 1 else engine.union("parts", [part.table for part in parts])
    whole = whole.filter(whole.number != FAULTY)
    counts = Counter(step for _, step in {(part.group, step) for part in parts for step in part.steps})
    shared = sorted(step for step, count in counts.items() if count > 1)
    if not shared or _are_disjoint(engine, parts, whole):
        return whole
    apart = len(shared) < len(counts)
    several = whole.filter(whole.step.isin(shared)) if apart else whole
    sums = several.group_by("number", "step").agg(
        wh=several.wh.sum(), readings=several.readings.sum(), bits=several.bits.bit_or()
    )
    merged = engine.keep("merged", sums)
    return whole.filter(~whole.step.isin(shared)).union(merged) if apart else merged


def _are_disjoint(engine: Engine, parts: list[PartSums], whole: ibis.Table) -> bool:
    """Whether no household is in two parts; two parts are looked at before all, of different groups."""
    tables = [part.table.filter(part.table.number != FAULTY) for part in parts]
    other = next(index for index, part in enumerate(parts) if part.group != parts[0].group)
    first, second = tables[0].view(), tables[other].view()
    if _count_rows(engine, first.select("number").distinct().semi_join(second, "number")):
        return False
    alone = sum(_count_rows(engine, table.select("number").distinct()) for table in tables)
    return alone == _count_rows(engine, whole.select("number").distinct())


def is_doubtful(engine: Engine, table: ibis.Table) -> ir.BooleanColumn:
    """Return where duplicates may hide, or readings that are over what may count."""
    return (engine.count_bits(table.bits) != table.readings) | (table.wh >= LARGEST_READING)


def _count_rows(engine: Engine, table: ibis.Table) -> int:
    return int(fetch_rows(engine, table.agg(rows=table.count()))[0]["rows"])


# Second pass: doubtful readings are resolved, and an example of each fault is found.
#
# Only parts that have any are read again, all of them at once.


def reread_doubtful(readings: Readings, parts: list[PartSums], doubt: ibis.Table) -> ibis.Table | None:
    """Read the households and steps that are in `doubt` again; None if there are none.

    Returns one row per household, step and second: the smallest `wh`, how many `rows` there are, and how many `over`
    what may count, with their household as an `example`.
    """
    engine = readings.engine
    steps = {row["step"] for row in fetch_rows(engine, doubt.select("step").distinct())}
    if not steps:
        return None
    engine.select_parts(readings.role, [index for index, part in enumerate(parts) if part.steps.keys() & steps])
    of_doubt = doubt.select("number").distinct()
    suspects = engine.keep("suspects", readings.numbers.join(of_doubt, "number").select("household", "number"))
    rows = classify_readings(readings.rows(suspects), suspects, readings.window)
    again = rows.view().semi_join(doubt, ["number", "step"])  # ibis cannot join on what a join computed
    by_second = again.group_by("number", "step", "second").agg(
        wh=again.wh.min(),
        rows=again.count(),
        over=again.over.sum(),
        example=again.household.min(where=again.over),
    )
    return engine.keep("once", by_second)


def resolve_duplicates(once: ibis.Table) -> ibis.Table:
    """Return the contributions that were in doubt: of readings at the same second, the smallest counts."""
    return once.group_by("number", "step").agg(wh=once.wh.sum())


def find_examples(readings: Readings, parts: list[PartSums]) -> dict[int, dict[str, Any]]:
    """Return a household of every fault, as `example`, and what is written there, `text`.

    Both are from the first part that has the fault, or from others that are looked at for another fault.
    """
    import ibis

    engine = readings.engine
    first: dict[int, int] = {}
    for index, part in enumerate(parts):
        for fault in part.faults:
            first.setdefault(fault, index)
    if not first:
        return {}
    engine.select_parts(readings.role, sorted(set(first.values())))
    rows, with_numbers = readings.rows(), not first.keys().isdisjoint(HOUSEHOLD_FAULTS)
    if with_numbers:
        rows = rows.left_join(readings.numbers, "household")
    faults = find_faults(rows, readings.window, with_numbers=with_numbers)
    rows = rows.filter(reduce(or_, (faults[fault] for fault in first))).mutate(fault=find_first_fault(faults))
    text = ibis.cases((rows.fault == TIMESTAMP_FAULT, rows.time_text), (rows.fault == ENERGY_FAULT, rows.energy_text))
    found = rows.group_by("fault").agg(example=rows.household.nullif("").min(), text=text.min())
    return {row["fault"]: row for row in fetch_rows(engine, found)}
