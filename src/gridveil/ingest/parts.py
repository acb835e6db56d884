"""Contributions, part by part: each part of the readings is summed by itself, and then what several parts share."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gridveil.cube import Window
from gridveil.ingest.engines.engine import Engine, answers
from gridveil.ingest.rules import (
    ENERGY_FAULT,
    FAULTY,
    LARGEST_READING,
    OF_HOUSEHOLDS,
    TIMESTAMP_FAULT,
    judged,
    length,
    shows_fault,
)

if TYPE_CHECKING:
    import ibis
    import ibis.expr.types as ir

SLOTS = 60
"""A step is looked at in this many slots: readings in different slots cannot be duplicates of each other."""


def contributions(rows: ibis.Table, window: Window) -> ibis.Table:
    """Sum judged readings to one row per household and step: `wh`, how many `readings`, and the `bits` of their slots.

    Duplicates may hide among them if there are fewer bits than readings, which one pass over the rows shows.

    Sums of LARGEST_READING or more are cut off there: they are `doubtful`, and computed again. Smaller ones are exact,
    as doubles hold whole numbers up to 2**53; and no number of rows makes a sum of doubles fail, as one of integers
    would, or turns it negative, as on some engines.
    """
    import ibis

    slot = -(-length(window) // SLOTS)  # seconds, rounded up
    bits = (ibis.literal(1, "int64") << (rows.second // slot).cast("int64")).bit_or()
    wh = ibis.least(rows.wh.cast("float64").sum(), float(LARGEST_READING)).cast("int64")
    return rows.group_by("number", "step").agg(wh=wh, readings=rows.count(), bits=bits)


@dataclass(frozen=True)
class Summed:
    """A part: its `rows` as they are read, and its contributions, `table`, computed once.

    faults: how many of its readings have which of READING_FAULTS; readings: how many have none.
    steps: those that it has a reading in.
    """

    rows: ibis.Table
    table: ibis.Table
    faults: dict[int, int]
    readings: int
    steps: frozenset[int]

    @classmethod
    def of(cls, engine: Engine, rows: ibis.Table, table: ibis.Table) -> Summed:
        """Count what is in a part's contributions."""
        by_step = table.mutate(faulty=table.number == FAULTY).group_by("faulty", "step")
        counts = answers(engine, by_step.agg(readings=table.readings.sum()))
        good = [row for row in counts if not row["faulty"]]
        return cls(
            rows,
            table,
            {row["step"]: row["readings"] for row in counts if row["faulty"]},
            sum(row["readings"] for row in good),
            frozenset(row["step"] for row in good),
        )


def together(engine: Engine, parts: list[Summed]) -> ibis.Table:
    """Return the contributions of all parts, one row per household and step.

    Only steps that occur in several parts are summed again, and not even those if no household does.
    """
    whole = parts[0].table if len(parts) == 1 else engine.union("parts", [part.table for part in parts])
    whole = whole.filter(whole.number != FAULTY)
    counts = Counter(step for part in parts for step in part.steps)
    shared = sorted(step for step, count in counts.items() if count > 1)
    if not shared or _disjoint(engine, parts, whole):
        return whole
    apart = len(shared) < len(counts)
    several = whole.filter(whole.step.isin(shared)) if apart else whole
    sums = several.group_by("number", "step").agg(
        wh=several.wh.sum(), readings=several.readings.sum(), bits=several.bits.bit_or()
    )
    merged = engine.keep("merged", sums)
    return whole.filter(~whole.step.isin(shared)).union(merged) if apart else merged


def _disjoint(engine: Engine, parts: list[Summed], whole: ibis.Table) -> bool:
    """Whether no household is in two parts; two parts are looked at before all."""
    tables = [part.table.filter(part.table.number != FAULTY) for part in parts]
    first, second = tables[0].view(), tables[1].view()
    if _count(engine, first.select("number").distinct().semi_join(second, "number")):
        return False
    alone = sum(_count(engine, table.select("number").distinct()) for table in tables)
    return alone == _count(engine, whole.select("number").distinct())


def doubtful(engine: Engine, table: ibis.Table) -> ir.BooleanColumn:
    """Return where duplicates may hide, or readings that are over what may count."""
    return (engine.bit_count(table.bits) != table.readings) | (table.wh >= LARGEST_READING)


def look_again(
    engine: Engine, parts: list[Summed], doubt: ibis.Table, numbers: ibis.Table, window: Window
) -> ibis.Table | None:
    """Read rows again that are doubtful or have a fault, of the parts that have any; None if no part has.

    Returns one row per household, step and second: the smallest `wh`, and how many `rows` there are, and how many
    `over` what may count, with their household as an `example`. Of rows with a fault there is one per fault, under the
    number FAULTY, with an `example` and what is written there, `text`, both from the first part that has the fault.
    """
    steps = {row["step"] for row in answers(engine, doubt.select("step").distinct())}
    of_doubt = doubt.select("number").distinct()
    suspects = engine.keep("suspects", numbers.join(of_doubt, "number").select("household", "number"))
    found: list[ibis.Table] = []
    unseen = {fault for part in parts for fault in part.faults}
    for index, part in enumerate(parts):
        faults = unseen & set(part.faults)
        unseen -= faults
        if faults or part.steps & steps:
            known = suspects if faults.isdisjoint(OF_HOUSEHOLDS) else numbers
            rows = judged(_worth_a_look(part.rows, suspects, faults, window), known, window)
            with_fault = part.table.filter(part.table.number == FAULTY, part.table.step.isin(sorted(faults)))
            wanted = doubt.union(with_fault.select("number", "step")) if faults else doubt
            found.append(engine.keep(f"again_{index}", _by_second(rows, wanted)))
    if len(found) <= 1:
        return found[0] if found else None
    every = engine.union("again", found)
    once = every.group_by("number", "step", "second").agg(
        wh=every.wh.min(),
        rows=every.rows.sum(),
        over=every.over.sum(),
        example=every.example.min(),
        text=every.text.min(),
    )
    return engine.keep("once", once)


def _worth_a_look(rows: ibis.Table, suspects: ibis.Table, faults: set[int], window: Window) -> ibis.Table:
    """Return rows of suspects, and those that may have one of the faults."""
    if not faults:
        return rows.semi_join(suspects, "household")
    if faults.isdisjoint(OF_HOUSEHOLDS):  # a row shows them by itself
        return rows.filter(shows_fault(rows, window) | rows.household.isin(suspects.household))
    return rows


def _by_second(rows: ibis.Table, wanted: ibis.Table) -> ibis.Table:
    """Return judged rows of the numbers and steps that are wanted, as `look_again` does."""
    import ibis

    again = rows.view().semi_join(wanted, ["number", "step"])  # ibis cannot join on what a join computed
    faulty = again.number == FAULTY
    text = ibis.cases((again.step == TIMESTAMP_FAULT, again.time_text), (again.step == ENERGY_FAULT, again.energy_text))
    return again.group_by("number", "step", "second").agg(
        wh=again.wh.min(),
        rows=again.count(),
        over=again.over.sum(),
        example=again.household.min(where=faulty | again.over),
        text=text.min(where=faulty),
    )


def resolved(once: ibis.Table) -> ibis.Table:
    """Return the contributions of doubtful households and steps: the smallest of readings at the same second."""
    good = once.filter(once.number != FAULTY)
    return good.group_by("number", "step").agg(wh=good.wh.sum())


def _count(engine: Engine, table: ibis.Table) -> int:
    return int(answers(engine, table.agg(rows=table.count()))[0]["rows"])
