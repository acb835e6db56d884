"""The operator's report: rows dropped and why, and signs of a wrong unit, timezone or file. Never part of a release."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC
from typing import TYPE_CHECKING, Any

from gridveil.geography.grid import Grid
from gridveil.model.errors import GridveilWarning
from gridveil.model.window import Window
from gridveil.trusted.budget import SUPPLY_WATTS
from gridveil.trusted.engines.base.engine import Engine, fetch_rows
from gridveil.trusted.source.rules import ENERGY_FAULT, OUTSIDE_STEPS, READING_FAULTS, TIMESTAMP_FAULT, Places

if TYPE_CHECKING:
    import ibis

    from gridveil.trusted.source.parts import PartSums


# Mistakes that no single row shows: a wrong unit, timezone or file. For the operator only, never for a release.

STANDBY_WATTS = 5
"""Nearly every home uses more, at any hour."""

MAX_SHARE_HIGH, MAX_SHARE_LOW = 0.1, 0.9
"""Of households' steps: if more are above any supply, or below standby, readings are in another unit than stated."""

MIN_EDGE_SHARE = 0.75
"""A first or last step with a smaller share of the readings of its neighbour is not complete."""


def find_warnings(parts: list[PartSums], window: Window) -> tuple[GridveilWarning, ...]:
    """Return what should keep the operator from publishing, of readings some of which count."""
    readings: Counter[int] = sum((Counter(part.steps) for part in parts), Counter())
    found = (_check_units(parts), _check_empty_steps(readings, window), _check_edges(readings, window))
    return tuple(warning for warning in found if warning is not None)


def _check_units(parts: list[PartSums]) -> GridveilWarning | None:
    rows = sum(part.contributions for part in parts) or 1
    high, low = sum(part.high for part in parts) / rows, sum(part.low for part in parts) / rows
    if high > MAX_SHARE_HIGH:
        return GridveilWarning(
            f"WARNING: {high:.0%} of the steps of households have more than {SUPPLY_WATTS // 1000} kW: is the unit "
            "right, or are these Wh read as kWh?",
            code="readings-too-large",
            figures={"share": high, "watts": SUPPLY_WATTS},
        )
    if low > MAX_SHARE_LOW:
        return GridveilWarning(
            f"WARNING: {low:.0%} of the steps of households have less than {STANDBY_WATTS} W: is the unit right, or "
            "are these kWh read as Wh?",
            code="readings-too-small",
            figures={"share": low, "watts": STANDBY_WATTS},
        )
    return None


def _check_empty_steps(readings: Counter[int], window: Window) -> GridveilWarning | None:
    """Warn of steps without readings: a day that is filed as another's looks like that."""
    empty = [moment.astimezone(UTC) for step, moment in enumerate(window.times()) if not readings[step]]
    if not empty:
        return None
    first, last = (f"{moment:%Y-%m-%d %H:%M}" for moment in (empty[0], empty[-1]))
    which = f"that of {first} UTC" if len(empty) == 1 else f"from {first} to {last} UTC"
    steps = f"{len(empty):,} step{'s' if len(empty) > 1 else ''}"
    return GridveilWarning(
        f"WARNING: no reading counts in {steps}, {which}: is a file missing, or does one hold another day?",
        code="steps-without-readings",
        figures={"steps": len(empty), "first": empty[0].isoformat(), "last": empty[-1].isoformat()},
    )


def _check_edges(readings: Counter[int], window: Window) -> GridveilWarning | None:
    """Warn of a first or last step that is not complete: so it is if intervals are taken for later ones."""
    shares = {
        which: readings[step] / readings[neighbour]
        for which, step, neighbour in (("first", 0, 1), ("last", window.steps - 1, window.steps - 2))
        if window.steps > 1 and 0 < readings[step] < MIN_EDGE_SHARE * readings[neighbour]
    }
    if not shares:
        return None
    edges = [f"the {which} step has {share:.0%} of the readings of its neighbour" for which, share in shares.items()]
    return GridveilWarning(
        f"WARNING: {', and '.join(edges)}: are timezone and timestamps (start or end) right, and the files whole?",
        code="edge-steps-incomplete",
        figures=shares,
    )


# What was dropped and why: for the operator only, never for a release.

NO_READING_COUNTS = GridveilWarning(
    "WARNING: no reading counts, so a release is nothing but noise. Check the extent (X0,Y0,X1,Y1: west, south, east, "
    "north), start and steps, timezone, unit, and that the ids of both tables are the same.",
    code="no-reading-counts",
)

FAULTS = {
    "reading-without-household": "household missing, or line unreadable",
    "timestamp-unreadable": "timestamp missing or unreadable",
    OUTSIDE_STEPS: "outside the steps read",
    "energy-unreadable": "energy missing, unreadable or not finite",
    "energy-negative": "energy negative",
    "household-unknown": "household not in the table of households",
    "household-without-place": "household without a usable place",
    "energy-too-large": "energy above 1 GWh, counted as 1 GWh",
    "reading-duplicate": "duplicate: same household and second",
    "household-unreadable": "household missing, or line unreadable",
    "coordinate-unreadable": "coordinate missing, unreadable or not finite",
    "household-two-places": "two different places: household dropped",
    "household-outside-extent": "outside the extent: household dropped",
    "household-duplicate": "same household and place again",
}
"""What is wrong with rows, by code."""

CODES, TOO_LARGE = (*READING_FAULTS, "energy-too-large"), len(READING_FAULTS)
"""Faults of readings by number; the last is found where duplicates are resolved."""

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

NEIGHBOUR_DAYS = (
    "files of the window's days are read whole, and on purpose those of the day before and the day after, in which "
    "readings of the window may lie: their rows of other times are here, as they should be. Where the files of the "
    "window's own days hold another day's readings, those are here too, and then fewer readings count than you expect"
)

MAX_QUOTED = 40


@dataclass(frozen=True)
class Fault:
    """How often something was wrong, with one household that it happened to, and what may help."""

    table: str
    code: str
    count: int
    example: str | None
    hint: str | None = None

    @property
    def what(self) -> str:
        """What was wrong, in words."""
        return FAULTS[self.code]

    def to_record(self) -> dict[str, Any]:
        """Return what the operator's record keeps."""
        return {"table": self.table, "code": self.code, "count": self.count, "example": self.example}


@dataclass(frozen=True)
class Report:
    """What was read, counted and dropped, and why. Exact counts of private data: show it to the operator only."""

    households: int
    readings: int
    counted: int
    faults: tuple[Fault, ...]
    notices: tuple[GridveilWarning, ...] = ()
    """What no single row shows."""

    def __str__(self) -> str:
        rows = f"{self.readings:,} rows of readings, {self.counted:,} of them counted"
        lines = [
            f"{rows}; {self.households:,} households inside the extent.",
            *map(str, self.warnings),
            *(f"  {fault.table}: {fault.what}: {fault.count:,}" for fault in self.faults),
            *self.hints,
        ]
        return "\n".join(lines)

    @property
    def warnings(self) -> list[GridveilWarning]:
        """What should keep the operator from publishing."""
        return list(self.notices) if self.counted else [NO_READING_COUNTS]

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

    once, examples: what was found by `parts.reread_doubtful` and `parts.find_examples`.
    by_days: whether files were chosen by the days of the window.
    """
    counts = sum((Counter(part.faults) for part in parts), Counter())
    twice = 0
    if once is not None:
        of_doubt = once.agg(duplicates=(once.rows - 1).sum(), over=once.over.sum(), example=once.example.min())
        [found] = fetch_rows(engine, of_doubt)
        twice, counts[TOO_LARGE] = found["duplicates"] or 0, found["over"] or 0
        examples = {**examples, TOO_LARGE: {"example": found["example"], "text": None}}
    faults = [
        Fault(
            "readings", CODES[number], count, example["example"], _make_hint(number, example["text"], by_days=by_days)
        )
        for number, count in sorted((+counts).items())
        for example in [examples.get(number, {"example": None, "text": None})]  # unless files changed meanwhile
    ]
    duplicates = [Fault("readings", "reading-duplicate", twice, None)] if twice else []
    return twice, [*faults, *duplicates]


def _make_hint(fault: int, text: str | None, *, by_days: bool) -> str | None:
    """Return an unreadable text with one that can be read; or why rows are outside the steps."""
    if by_days and CODES[fault] == OUTSIDE_STEPS:
        return NEIGHBOUR_DAYS
    if fault not in READABLE:
        return None
    return NOT_TEXT[fault] if text is None else f"there is {_quote(text)}; {READABLE[fault]}"


def _quote(text: str) -> str:
    """Return text of anybody's letter by letter, never as commands to a terminal, and not all of it if it is long."""
    return ascii(text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]}...")


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
    where = _describe_place(b["x"], b["y"], grid)
    faults = (
        Fault("households", "household-unreadable", a["nameless"] or 0, None),
        Fault("households", "coordinate-unreadable", a["placeless"] or 0, a["example"]),
        Fault("households", "household-two-places", b["conflicts"] or 0, b["conflict"]),
        Fault("households", "household-outside-extent", b["outsiders"] or 0, b["outsider"], where),
        Fault("households", "household-duplicate", b["repeats"] or 0, b["repeated"]),
    )
    return [fault for fault in faults if fault.count]


def _describe_place(x: float | None, y: float | None, grid: Grid) -> str | None:
    """Return a place outside the extent, and the extent."""
    if x is None or y is None:
        return None
    extent = f"the extent is x {grid.x0:g} to {grid.x1:g}, y {grid.y0:g} to {grid.y1:g}"
    turned = grid.x0 <= y < grid.x1 and grid.y0 <= x < grid.y1
    return f"one is at x {x:g}, y {y:g}; {extent}" + ("; with x and y swapped it would be inside" if turned else "")
