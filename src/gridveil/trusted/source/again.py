"""The second look: readings that are in doubt are resolved, and of each fault an example is found.

Only parts that have any are read again, all of them at once.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any

from gridveil.trusted.engines.base.engine import answers
from gridveil.trusted.source.parts import Readings, Summed
from gridveil.trusted.source.rules import ENERGY_FAULT, OF_HOUSEHOLDS, TIMESTAMP_FAULT, faults_of, first_fault, judged

if TYPE_CHECKING:
    import ibis


def look_again(readings: Readings, parts: list[Summed], doubt: ibis.Table) -> ibis.Table | None:
    """Read the households and steps that are in `doubt` again; None if there are none.

    Returns one row per household, step and second: the smallest `wh`, how many `rows` there are, and how many `over`
    what may count, with their household as an `example`.
    """
    engine = readings.engine
    steps = {row["step"] for row in answers(engine, doubt.select("step").distinct())}
    if not steps:
        return None
    engine.show(readings.role, [index for index, part in enumerate(parts) if part.steps.keys() & steps])
    of_doubt = doubt.select("number").distinct()
    suspects = engine.keep("suspects", readings.numbers.join(of_doubt, "number").select("household", "number"))
    rows = judged(readings.rows(suspects), suspects, readings.window)
    again = rows.view().semi_join(doubt, ["number", "step"])  # ibis cannot join on what a join computed
    by_second = again.group_by("number", "step", "second").agg(
        wh=again.wh.min(),
        rows=again.count(),
        over=again.over.sum(),
        example=again.household.min(where=again.over),
    )
    return engine.keep("once", by_second)


def resolved(once: ibis.Table) -> ibis.Table:
    """Return the contributions that were in doubt: of readings at the same second, the smallest counts."""
    return once.group_by("number", "step").agg(wh=once.wh.sum())


def examples(readings: Readings, parts: list[Summed]) -> dict[int, dict[str, Any]]:
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
    engine.show(readings.role, sorted(set(first.values())))
    rows, with_numbers = readings.rows(), not first.keys().isdisjoint(OF_HOUSEHOLDS)
    if with_numbers:
        rows = rows.left_join(readings.numbers, "household")
    faults = faults_of(rows, readings.window, with_numbers=with_numbers)
    rows = rows.filter(reduce(or_, (faults[fault] for fault in first))).mutate(fault=first_fault(faults))
    text = ibis.cases((rows.fault == TIMESTAMP_FAULT, rows.time_text), (rows.fault == ENERGY_FAULT, rows.energy_text))
    found = rows.group_by("fault").agg(example=rows.household.nullif("").min(), text=text.min())
    return {row["fault"]: row for row in answers(engine, found)}
