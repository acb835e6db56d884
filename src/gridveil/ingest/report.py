"""What was dropped and why: for the operator only, never for a release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gridveil.cube import Window
from gridveil.ingest.rules import LARGEST_READING, READING_FAULTS, Places, row_faults

if TYPE_CHECKING:
    import ibis
    import ibis.expr.types as ir


NOTHING_COUNTED = (
    "WARNING: no reading counts, so a release is nothing but noise. Check the extent (X0,Y0,X1,Y1: west, south, east, "
    "north), start and steps, timezone, unit, and that the ids of both tables are the same."
)


@dataclass(frozen=True)
class Fault:
    """How often something was wrong, with one household that it happened to."""

    table: str
    what: str
    count: int
    example: str | None


@dataclass(frozen=True)
class Report:
    """What ingest saw. Exact counts of private data: show it to nobody but the operator."""

    households: int
    readings: int
    counted: int
    faults: tuple[Fault, ...]

    def __str__(self) -> str:
        rows = f"{self.readings:,} rows of readings, {self.counted:,} of them counted"
        lines = [
            f"{rows}; {self.households:,} households inside the extent.",
            *([NOTHING_COUNTED] if not self.counted else []),
            *(f"  {fault.table}: {fault.what}: {fault.count:,}" for fault in self.faults),
        ]
        return "\n".join(lines)


def answer(number: ir.Scalar) -> Any:  # noqa: ANN401  # whatever the engine's type is in Python
    """Compute a single value."""
    return number.to_pyarrow().as_py()


def reading_faults(rows: ibis.Table, places: Places, window: Window) -> list[Fault]:
    """Count the rows of readings with a fault, each under the first rule that applies."""
    import ibis

    named = places.seen.select("household").mutate(named=True)
    located = places.located.select("household").mutate(placed=True)
    rows = rows.left_join(named, "household").drop("household_right")
    rows = rows.left_join(located, "household").drop("household_right")
    faults = (*row_faults(rows, window), rows.named.isnull(), rows.placed.isnull(), rows.wh > LARGEST_READING)
    fault = ibis.cases(*((fault, index) for index, fault in enumerate(faults)), else_=None)
    judged = rows.select("household", fault=fault).drop_null("fault")
    counts = judged.group_by("fault").agg(rows=judged.count(), example=judged.household.min())
    texts = (*READING_FAULTS, "energy above 1 GWh, counted as 1 GWh")
    found = counts.order_by("fault").to_pyarrow().to_pylist()
    return [Fault("readings", texts[row["fault"]], row["rows"], row["example"]) for row in found]


def duplicate_faults(resolved: ibis.Table) -> list[Fault]:
    """Count the readings that were left out because the household has another one at the same second."""
    duplicates = answer(resolved.duplicates.sum())
    return [Fault("readings", "duplicate: same household and second", duplicates, None)] if duplicates else []


def household_faults(places: Places) -> list[Fault]:
    """Count what is wrong with the table of households."""
    rows, seen = places.rows, places.seen
    no_place = rows.household.notnull() & (rows.x.isnull() | rows.y.isnull())
    of_rows = rows.agg(
        nameless=rows.household.isnull().sum(), placeless=no_place.sum(), example=rows.household.min(where=no_place)
    )
    conflict, outside = (seen.usable > 0) & ~seen.one_place, seen.one_place & ~seen.inside
    twice = seen.one_place & (seen.usable > 1)
    of_seen = seen.agg(
        conflicts=conflict.sum(),
        conflict=seen.household.min(where=conflict),
        outsiders=outside.sum(),
        outsider=seen.household.min(where=outside),
        repeats=(seen.usable - 1).sum(where=twice),
        repeated=seen.household.min(where=twice),
    )
    a, b = of_rows.to_pyarrow().to_pylist()[0], of_seen.to_pyarrow().to_pylist()[0]
    faults = (
        Fault("households", "household missing, or line unreadable", a["nameless"] or 0, None),
        Fault("households", "coordinate missing, unreadable or not finite", a["placeless"] or 0, a["example"]),
        Fault("households", "two different places: household dropped", b["conflicts"] or 0, b["conflict"]),
        Fault("households", "outside the extent: household dropped", b["outsiders"] or 0, b["outsider"]),
        Fault("households", "same household and place again", b["repeats"] or 0, b["repeated"]),
    )
    return [fault for fault in faults if fault.count]
