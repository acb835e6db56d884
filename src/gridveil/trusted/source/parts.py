"""Contributions, part by part: each part of the readings is summed by itself, and then what several parts share."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gridveil.model.window import Window
from gridveil.trusted.engines.base.engine import COUNTS, Engine, Opened, answers
from gridveil.trusted.engines.base.schema import ReadingsTable
from gridveil.trusted.kernel.bound import SUPPLY
from gridveil.trusted.source.plausible import STANDBY
from gridveil.trusted.source.rules import FAULTY, LARGEST_READING, length, readings

if TYPE_CHECKING:
    import ibis
    import ibis.expr.types as ir

SLOTS = 60
"""A step is looked at in this many slots: readings in different slots cannot be duplicates of each other."""


@dataclass(frozen=True)
class Readings:
    """The publisher's readings, of which the engine shows some parts, and the `numbers` of households."""

    engine: Engine
    role: str
    opened: Opened
    table: ReadingsTable
    window: Window
    numbers: ibis.Table

    def rows(self, of: ibis.Table | None = None) -> ibis.Table:
        """Return rows as they are read, of all households or of some."""
        return readings(self.engine, self.opened.table, self.table, self.window, of)


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
    """A part's contributions, `table`, computed once.

    faults: how many of its readings have which of READING_FAULTS; readings: how many have none.
    steps: those that it has a reading in, and how many.
    contributions: how many steps of households it has; high, low: in how many of them a lot is used, or nearly nothing.
    group: parts of the same group have no household in common (see `Opened`).
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
    def of(cls, readings: Readings, index: int, sums: ibis.Table, key: str | None) -> Summed:
        """Compute a part's contributions, and count what is in them. Both are kept with its `key`."""
        engine = readings.engine
        engine.show(readings.role, [index])
        table = engine.keep(f"part_{index}", sums, key)
        hours = length(readings.window) / 3600
        judged = table.mutate(
            faulty=table.number == FAULTY,
            high=(table.wh > SUPPLY * hours).ifelse(1, 0),
            low=(table.wh < STANDBY * hours).ifelse(1, 0),
        )
        counted = judged.group_by("faulty", "step").agg(
            readings=judged.readings.sum(),
            contributions=judged.count(),
            high=judged.high.sum(),
            low=judged.low.sum(),
        )
        if key is not None:  # a run that goes on then reads none of the contributions to count them
            counted = engine.keep(f"counts_{index}", counted, f"{key}{COUNTS}")
        counts = answers(engine, counted)
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


def together(engine: Engine, parts: list[Summed]) -> ibis.Table:
    """Return the contributions of all parts, one row per household and step.

    Only steps that occur in several groups of parts are summed again, and not even those if no household does.
    """
    whole = parts[0].table if len(parts) == 1 else engine.union("parts", [part.table for part in parts])
    whole = whole.filter(whole.number != FAULTY)
    counts = Counter(step for _, step in {(part.group, step) for part in parts for step in part.steps})
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
    """Whether no household is in two parts; two parts are looked at before all, of different groups."""
    tables = [part.table.filter(part.table.number != FAULTY) for part in parts]
    other = next(index for index, part in enumerate(parts) if part.group != parts[0].group)
    first, second = tables[0].view(), tables[other].view()
    if _count(engine, first.select("number").distinct().semi_join(second, "number")):
        return False
    alone = sum(_count(engine, table.select("number").distinct()) for table in tables)
    return alone == _count(engine, whole.select("number").distinct())


def doubtful(engine: Engine, table: ibis.Table) -> ir.BooleanColumn:
    """Return where duplicates may hide, or readings that are over what may count."""
    return (engine.bit_count(table.bits) != table.readings) | (table.wh >= LARGEST_READING)


def _count(engine: Engine, table: ibis.Table) -> int:
    return int(answers(engine, table.agg(rows=table.count()))[0]["rows"])
