"""The operator's report: rows dropped and why, and signs of a wrong unit, timezone or file. Never part of a release."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.trusted.engines.base.engine import Engine, fetch_rows
from gridveil.trusted.kernel.bound import SUPPLY_WATTS
from gridveil.trusted.source.rules import ENERGY_FAULT, OUTSIDE_STEPS, READING_FAULTS, TIMESTAMP_FAULT, Places

if TYPE_CHECKING:
    import ibis

    from gridveil.trusted.source.parts import PartSums


# Mistakes that no single row shows: a wrong unit, timezone or file. For the operator only, never for a release.

STANDBY = 5
"""Watts. Nearly every home uses more, at any hour."""

MANY, MOST = 0.1, 0.9
"""Of households' steps: if more are above the one, or below the other, readings are in another unit than was stated."""

THIN = 0.75
"""A first or last step with a smaller share of the readings that its neighbour has is not whole."""


def warnings_of(parts: list[PartSums], window: Window) -> tuple[str, ...]:
    """Return what should keep the operator from publishing, of readings some of which count."""
    readings: Counter[int] = sum((Counter(part.steps) for part in parts), Counter())
    return (*_units(parts), *_silence(readings, window), *_ends(readings, window))


def _units(parts: list[PartSums]) -> list[str]:
    rows = sum(part.contributions for part in parts) or 1
    high, low = sum(part.high for part in parts) / rows, sum(part.low for part in parts) / rows
    if high > MANY:
        use, unit = f"{high:.0%} of the steps of households have more than {SUPPLY_WATTS // 1000} kW", "Wh read as kWh"
    elif low > MOST:
        use, unit = f"{low:.0%} of the steps of households have less than {STANDBY} W", "kWh read as Wh"
    else:
        return []
    return [f"WARNING: {use}: is the unit right, or are these {unit}?"]


def _silence(readings: Counter[int], window: Window) -> list[str]:
    """Return a warning if there are steps without readings: a day that is filed as another's looks like that."""
    silent = [moment for step, moment in enumerate(window.times()) if not readings[step]]
    if not silent:
        return []
    first, last = _told(silent[0]), _told(silent[-1])
    which = f"that of {first} UTC" if len(silent) == 1 else f"from {first} to {last} UTC"
    steps = f"{len(silent):,} step{'s' if len(silent) > 1 else ''}"
    return [f"WARNING: no reading counts in {steps}, {which}: is a file missing, or does one hold another day?"]


def _ends(readings: Counter[int], window: Window) -> list[str]:
    """Return a warning if the first or the last step is not whole: so it is if intervals are taken for later ones."""
    thin = []
    for which, step, beside in (("first", 0, 1), ("last", window.steps - 1, window.steps - 2)):
        if window.steps > 1 and 0 < readings[step] < THIN * readings[beside]:
            thin.append(
                f"the {which} step has {readings[step] / readings[beside]:.0%} of the readings of its neighbour"
            )
    if not thin:
        return []
    return [f"WARNING: {', and '.join(thin)}: are timezone and timestamps (start or end) right, and the files whole?"]


def _told(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"


# What was dropped and why: for the operator only, never for a release.

NOTHING_COUNTED = (
    "WARNING: no reading counts, so a release is nothing but noise. Check the extent (X0,Y0,X1,Y1: west, south, east, "
    "north), start and steps, timezone, unit, and that the ids of both tables are the same."
)


FAULTS, OVER = (*READING_FAULTS, "energy above 1 GWh, counted as 1 GWh"), len(READING_FAULTS)

READABLE = {
    TIMESTAMP_FAULT: "write 2013-02-04 00:30:00, year first",
    ENERGY_FAULT: "write 0.5, with a point",
}
"""For text that has another form."""
NOT_TEXT = {
    TIMESTAMP_FAULT: "there is none (empty or null), or one that is not finite",
    ENERGY_FAULT: "there is none (empty or null), or it is NaN or infinite",
}
"""Where no text was written that could have another form."""

BESIDE = (
    "files of the window's days are read whole, and on purpose those of the day before and the day after, in which "
    "readings of the window may lie: their rows of other times are here, as they should be. Where the files of the "
    "window's own days hold another day's readings, those are here too, and then fewer readings count than you expect"
)

LONGEST_SHOWN = 40

OUTSIDE = "outside the extent: household dropped"


@dataclass(frozen=True)
class Fault:
    """How often something was wrong, with one household that it happened to, and what may help."""

    table: str
    what: str
    count: int
    example: str | None
    hint: str | None = None


@dataclass(frozen=True)
class Report:
    """What was read, counted and dropped, and why. Exact counts of private data: show it to the operator only."""

    households: int
    readings: int
    counted: int
    faults: tuple[Fault, ...]
    notices: tuple[str, ...] = ()
    """What no single row shows (see `plausible`)."""

    def __str__(self) -> str:
        rows = f"{self.readings:,} rows of readings, {self.counted:,} of them counted"
        lines = [
            f"{rows}; {self.households:,} households inside the extent.",
            *self.warnings,
            *(f"  {fault.table}: {fault.what}: {fault.count:,}" for fault in self.faults),
            *self.hints,
        ]
        return "\n".join(lines)

    @property
    def warnings(self) -> list[str]:
        """What should keep the operator from publishing."""
        return list(self.notices) if self.counted else [NOTHING_COUNTED]

    @property
    def hints(self) -> list[str]:
        """What may help, with a value from the tables as an example."""
        return [f"{fault.what.capitalize()}: {fault.hint}" for fault in self.faults if fault.hint]


def reading_faults(
    engine: Engine,
    parts: list[PartSums],
    once: ibis.Table | None,
    examples: dict[int, dict[str, Any]],
    *,
    by_days: bool = False,
) -> tuple[int, list[Fault]]:
    """Return how many readings are duplicates, and all that is wrong with the rows of readings.

    once, examples: what was found by `again.look_again` and `again.examples`.
    by_days: whether files were chosen by the days of the window.
    """
    counts = sum((Counter(part.faults) for part in parts), Counter())
    twice = 0
    if once is not None:
        of_doubt = once.agg(duplicates=(once.rows - 1).sum(), over=once.over.sum(), example=once.example.min())
        [found] = fetch_rows(engine, of_doubt)
        twice, counts[OVER] = found["duplicates"] or 0, found["over"] or 0
        examples = {**examples, OVER: {"example": found["example"], "text": None}}
    faults = [
        Fault("readings", FAULTS[code], count, example["example"], _hint(code, example["text"], by_days=by_days))
        for code, count in sorted((+counts).items())
        for example in [examples.get(code, {"example": None, "text": None})]  # unless files changed meanwhile
    ]
    duplicates = [Fault("readings", "duplicate: same household and second", twice, None)] if twice else []
    return twice, [*faults, *duplicates]


def _hint(fault: int, text: str | None, *, by_days: bool) -> str | None:
    """Return what is readable, beside what is not; or why rows are outside the steps."""
    if by_days and FAULTS[fault] == OUTSIDE_STEPS:
        return BESIDE
    if fault not in READABLE:
        return None
    return NOT_TEXT[fault] if text is None else f"there is {_shown(text)}; {READABLE[fault]}"


def _shown(text: str) -> str:
    """Return text of anybody's letter by letter, never as commands to a terminal, and not all of it if it is long."""
    return ascii(text if len(text) <= LONGEST_SHOWN else f"{text[:LONGEST_SHOWN]}...")


def household_faults(engine: Engine, places: Places, grid: Grid) -> list[Fault]:
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
        x=seen.west.argmin(seen.household, where=outside),
        y=seen.south.argmin(seen.household, where=outside),
        repeats=(seen.usable - 1).sum(where=twice),
        repeated=seen.household.min(where=twice),
    )
    [a], [b] = fetch_rows(engine, of_rows), fetch_rows(engine, of_seen)
    faults = (
        Fault("households", "household missing, or line unreadable", a["nameless"] or 0, None),
        Fault("households", "coordinate missing, unreadable or not finite", a["placeless"] or 0, a["example"]),
        Fault("households", "two different places: household dropped", b["conflicts"] or 0, b["conflict"]),
        Fault("households", OUTSIDE, b["outsiders"] or 0, b["outsider"], _where(b["x"], b["y"], grid)),
        Fault("households", "same household and place again", b["repeats"] or 0, b["repeated"]),
    )
    return [fault for fault in faults if fault.count]


def _where(x: float | None, y: float | None, grid: Grid) -> str | None:
    """Return a place that is outside, beside the extent."""
    if x is None or y is None:
        return None
    extent = f"the extent is x {grid.x0:g} to {grid.x1:g}, y {grid.y0:g} to {grid.y1:g}"
    turned = grid.x0 <= y < grid.x1 and grid.y0 <= x < grid.y1
    return f"one is at x {x:g}, y {y:g}; {extent}" + ("; with x and y swapped it would be inside" if turned else "")
