"""Which rows count, and how columns and local clocks are read. A rule looks at one row or one household."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from gridveil.geography.grid import Grid
from gridveil.model.errors import InputError, UsageError
from gridveil.model.window import Window, timezone
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable, describe_columns, require_columns

if TYPE_CHECKING:
    import ibis
    import ibis.expr.types as ir

    from gridveil.trusted.engines.base.engine import Engine


# Local clocks as public tables of offsets, so that every engine converts alike, in integers.


@dataclass(frozen=True)
class Clock:
    """`offsets[i]` seconds ahead of UTC hold until the clock, in seconds since the window's start, shows `until[i]`.

    A time that occurs twice (autumn) is taken as the first of the two; one that never occurs (spring) is counted on
    with the offset before the change.
    """

    until: tuple[int, ...]
    offsets: tuple[int, ...]

    @classmethod
    def of(cls, name: str, window: Window) -> Clock:
        """Return the clock of a timezone over the window and two days around it.

        Farther away, a wrong offset does no harm: no clock is so far from UTC that it could move a time into the
        window.
        """
        zone = timezone(name)
        first, last = window.start - timedelta(days=2), window.end + timedelta(days=2)
        until, offsets = [], [_find_offset(zone, first)]
        for change in _find_changes(zone, first, last):
            before, after = offsets[-1], _find_offset(zone, change)
            until.append(int((change - window.start).total_seconds()) + max(before, after))
            offsets.append(after)
        return cls(tuple(until), tuple(offsets))

    def to_utc(self, local: ir.IntegerColumn) -> ir.IntegerColumn:
        """Return seconds of UTC for seconds that the clock shows."""
        import ibis

        if not self.until:
            return local - self.offsets[0] if self.offsets[0] else local
        branches = [(local < until, offset) for until, offset in zip(self.until, self.offsets, strict=False)]
        return local - ibis.cases(*branches, else_=self.offsets[-1])


def _find_offset(zone: ZoneInfo, instant: datetime) -> int:
    offset = instant.astimezone(zone).utcoffset()
    return int(offset.total_seconds()) if offset is not None else 0


def _find_changes(zone: ZoneInfo, first: datetime, last: datetime) -> list[datetime]:
    """Return the instants at which the zone's offset changes, to the second, by halving the days that have one."""
    changes = []
    while first < last:
        after = min(first + timedelta(days=1), last)
        if _find_offset(zone, first) != _find_offset(zone, after):
            low, high = first, after
            while high - low > timedelta(seconds=1):
                middle = low + timedelta(seconds=int((high - low).total_seconds()) // 2)
                low, high = (middle, high) if _find_offset(zone, middle) == _find_offset(zone, first) else (low, middle)
            changes.append(high)
        first = after
    return changes


# Which rows count, and how their columns are read. A rule looks at one row or one household, never at row order.

# Columns are converted to the few types that the rules work on. Unreadable entries become null.
#
# Text is read by patterns of ours, not by what an engine would accept ("epoch", "1_000", zone names it then ignores).

NUMBER = r"^ *[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)? *$"
"""No text is looked at in more than one way: Java would try all of them, for hours on a long one."""

OFFSET = r"(Z|[+-][01][0-9](:?[0-5][0-9])?)"
TIMESTAMP = rf"^ *[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}([T ][0-9]{{2}}:[0-9]{{2}}(:[0-9]{{2}}([.][0-9]+)?)?{OFFSET}?)? *$"


def _make_type_error(path: str, column: ir.Column, want: str) -> InputError:
    kind = column.type()
    name = kind.raw_type if kind.is_unknown() else kind
    return InputError(f"{path}: column {column.get_name()} is of type {name}; it must be {want}", code="column-type")


def _keep_matching(text: ir.StringColumn, pattern: str) -> ir.StringColumn:
    return text.re_search(pattern).ifelse(text, None)


def read_identifier(engine: Engine, column: ir.Column, path: str) -> ir.StringColumn:
    """Return household ids as text; that of no household is null or empty."""
    if column.type().is_string():
        return engine.to_plain_text(column)  # and nothing else: an engine can tell from it which rows to pass over
    if column.type().is_integer() or column.type().is_uuid():
        return column.cast("string")
    raise _make_type_error(path, column, "text or whole numbers")


def read_text(column: ir.Column) -> ir.StringColumn:
    """Return a column as it is written, if it is text and not empty; else null."""
    import ibis

    return column.nullif("") if column.type().is_string() else ibis.null("string")


def read_number(engine: Engine, column: ir.Column, path: str) -> ir.FloatingColumn:
    """Return numbers in double precision: the same on every engine. Not finite or unreadable: null."""
    if column.type().is_string():
        value = engine.parse_double(_keep_matching(column, NUMBER))
    elif column.type().is_numeric() and not column.type().is_boolean():
        value = engine.to_double(column)
    else:
        raise _make_type_error(path, column, "a number")
    return (value.isnan() | value.isinf()).ifelse(None, value)


def read_seconds(engine: Engine, column: ir.Column, path: str, window: Window, zone: str) -> ir.IntegerColumn:
    """Return whole seconds of UTC since the window's start, rounded down; unreadable: null."""
    clock, origin = Clock.of(zone, window), window.start.astimezone(UTC)
    if column.type().is_string():
        text = _keep_matching(column, TIMESTAMP)
        instant = engine.to_seconds(engine.parse_timestamp(text, zoned=True), origin)
        local = clock.to_utc(engine.to_seconds(engine.parse_timestamp(text, zoned=False), origin))
        return text.re_search(rf":[0-9.]+{OFFSET} *$").ifelse(instant, local)
    if not (column.type().is_timestamp() or column.type().is_date()):
        raise _make_type_error(path, column, "a timestamp, a date, or text such as 2013-02-04 00:30:00")
    since = engine.to_seconds(column, origin)
    return since if column.type().is_timestamp() and column.type().timezone is not None else clock.to_utc(since)


# Which rows count. Each rule looks at one row, or at the rows of one household: never at the order of rows.
#
# Rows of readings, by the first rule that applies:
#   no household, or a line that cannot be read; timestamp missing or unreadable; outside the steps read; energy
#   missing, unreadable or not finite; energy negative; a household that is not in the table of households; a household
#   without a usable place.
# Several readings of one household at the same second: the smallest counts, the others are duplicates.
# A reading above 1 GWh counts as 1 GWh.
#
# Rows of households: no household; a coordinate missing, unreadable or not finite. Of the rest, a household with two
# different places is dropped altogether, and so is one outside the extent; the same place twice counts once.

LARGEST_READING = 10**9
"""Wh; fits int32. No number of rows takes a sum out of int64, and so makes a publication fail: of each second, one
reading counts at most, so that a step of less than 290 years stays inside; and before duplicates are found, the sum of
a household's step is itself cut off at this number (see `parts.sum_contributions`)."""

FAULTY = -1
"""The number of rows that do not count."""

OUTSIDE_STEPS = "reading-outside-steps"
READING_FAULTS = (
    "reading-without-household",
    "timestamp-unreadable",
    OUTSIDE_STEPS,
    "energy-unreadable",
    "energy-negative",
    "household-unknown",
    "household-without-place",
)
"""Codes; `report.FAULTS` has their sentences."""

TIMESTAMP_FAULT, ENERGY_FAULT = 1, 3
"""Which of READING_FAULTS are about text that has another form."""

HOUSEHOLD_FAULTS = {5, 6}
"""Which of READING_FAULTS are seen only beside the table of households."""


@dataclass(frozen=True)
class Places:
    """Households' places: `seen` has one row per household named, `located` those that count, with their cell.

    `numbers` has the household and number of all that are named; without a usable place the number is null.
    """

    rows: ibis.Table
    seen: ibis.Table
    located: ibis.Table
    numbers: ibis.Table


def locate_households(engine: Engine, table: ibis.Table, schema: HouseholdsTable, grid: Grid) -> Places:
    """Return the cell of every household, `x * ny + y`, computed once. Numbers go up from cell to cell."""
    import ibis

    width, height = grid.x1 - grid.x0, grid.y1 - grid.y0
    if not (math.isfinite(width) and math.isfinite(height)):
        msg = f"extent {grid.x0},{grid.y0},{grid.x1},{grid.y1}: too large to tell places apart"
        raise UsageError(msg, code="extent-too-large")
    x, y = find_coordinates(table, schema)
    require_columns(table, schema.path, {"household": schema.household, "x": x, "y": y})
    rows = table.select(
        household=read_identifier(engine, table[schema.household], schema.path).nullif(""),
        x=read_number(engine, table[x], schema.path),
        y=read_number(engine, table[y], schema.path),
    )
    named = rows.filter(rows.household.notnull())
    usable = named.x.notnull() & named.y.notnull()
    seen = named.group_by("household").agg(
        west=named.x.min(where=usable),
        east=named.x.max(where=usable),
        south=named.y.min(where=usable),
        north=named.y.max(where=usable),
        usable=usable.sum(),
    )
    one_place = (seen.west == seen.east) & (seen.south == seen.north)
    inside = (seen.west >= grid.x0) & (seen.west < grid.x1) & (seen.south >= grid.y0) & (seen.south < grid.y1)
    seen = engine.keep(
        "seen", seen.mutate(one_place=one_place, inside=inside).fill_null({"one_place": False, "inside": False})
    )
    kept = seen.filter(seen.one_place & seen.inside)
    column = ((kept.west - grid.x0) / width * grid.nx).floor().cast("int64")
    row = ((kept.south - grid.y0) / height * grid.ny).floor().cast("int64")
    # Just below the upper edge, rounding may reach it: such a place is in the last cell.
    cells = kept.select("household", cell=ibis.least(column, grid.nx - 1) * grid.ny + ibis.least(row, grid.ny - 1))
    first = ibis.row_number().over(order_by=[cells.cell, cells.household])
    located = engine.keep("located", cells.select("household", "cell", number=first))
    numbers = seen.left_join(located, "household").select("household", "number")
    return Places(rows, seen, located, engine.keep("numbers", numbers))


def find_coordinates(table: ibis.Table, schema: HouseholdsTable) -> tuple[str, str]:
    """Return the names of the columns of the place."""
    if schema.x is not None and schema.y is not None:
        return schema.x, schema.y
    found = [pair for pair in (("lon", "lat"), ("x", "y")) if set(pair) <= set(table.columns)]
    if len(found) != 1:
        has = "both" if found else "neither"
        msg = (
            f"{schema.path}: it has {has} of lon, lat and x, y. {describe_columns(table)} "
            'Name the columns of the coordinates in a spec (.toml), below [households]: x = "COLUMN", y = "COLUMN"'
        )
        raise InputError(msg, code="coordinates-unclear")
    return found[0]


def select_readings(
    engine: Engine, table: ibis.Table, schema: ReadingsTable, window: Window, of: ibis.Table | None = None
) -> ibis.Table:
    """Return household, second and (unrounded) Wh of every row; what is unreadable is null, or an empty household.

    `time_text` and `energy_text` are what was written there, to show the operator; null where it is not text.
    of: a table of households, if only their rows are wanted.
    """
    names = {"household": schema.household, "timestamp": schema.timestamp, "energy": schema.energy}
    require_columns(table, schema.path, names)
    if of is not None:
        theirs = read_identifier(engine, table[schema.household], schema.path) == of.household
        table = table.semi_join(of, theirs).view()  # ibis cannot join on what a join computed
    return table.select(
        household=read_identifier(engine, table[schema.household], schema.path),
        # An interval's end belongs to the step that it closes.
        second=read_seconds(engine, table[schema.timestamp], schema.path, window, schema.timezone)
        - int(schema.timestamps == "end"),
        wh=read_number(engine, table[schema.energy], schema.path) * _wh_per_unit(schema),
        time_text=read_text(table[schema.timestamp]),
        energy_text=read_text(table[schema.energy]),
    )


def find_faults(rows: ibis.Table, window: Window, *, with_numbers: bool) -> tuple[ir.BooleanColumn, ...]:
    """Return the faults of rows, in the order of READING_FAULTS; HOUSEHOLD_FAULTS only if joined `with_numbers`."""
    within = (rows.second >= 0) & (rows.second < step_seconds(window) * window.steps)
    nameless = rows.household.isnull() | (rows.household == "")
    faults = (nameless, rows.second.isnull(), ~within, rows.wh.isnull(), rows.wh < 0)
    return (*faults, rows.household_right.isnull(), rows.number.isnull()) if with_numbers else faults


def find_first_fault(faults: tuple[ir.BooleanColumn, ...]) -> ir.IntegerColumn:
    """Return which fault is the first that applies; null if none does."""
    import ibis

    return ibis.cases(*((fault, index) for index, fault in enumerate(faults))).cast("int64")


def classify_readings(rows: ibis.Table, numbers: ibis.Table, window: Window) -> ibis.Table:
    """Return number, step, second of the step and whole Wh of every reading, and if it is `over` what may count.

    One with a fault has the number FAULTY, and for its step which of READING_FAULTS it is.
    """
    import ibis

    of = rows.left_join(numbers, "household")
    # Where one of these is null, the row has a fault. Few have: only of those is it asked which.
    good = (of.second >= 0) & (of.second < step_seconds(window) * window.steps) & (of.wh >= 0) & of.number.notnull()
    of = of.mutate(good=ibis.coalesce(good, False))
    fault = find_first_fault(find_faults(of, window, with_numbers=True))
    of = of.select(
        number=of.good.ifelse(of.number, FAULTY),
        since=of.good.ifelse(of.second, fault * step_seconds(window)),
        # The caps come before the cast: no finite number fails. Halves round up: engines differ on their own rule.
        wh=of.good.ifelse((ibis.greatest(ibis.least(of.wh, float(LARGEST_READING)), 0.0) + 0.5).floor(), 0),
        over=of.wh > LARGEST_READING,
        household="household",
    )
    step = (of.since // step_seconds(window)).cast("int64")
    return of.select("number", "wh", "over", "household", step=step, second=of.since - step * step_seconds(window))


def step_seconds(window: Window) -> int:
    """Return the seconds of a step."""
    return int(window.step.total_seconds())


def _wh_per_unit(schema: ReadingsTable) -> float:
    if schema.unit != "kW":
        return 1000.0 if schema.unit == "kWh" else 1.0
    if schema.interval is None:
        msg = 'readings in kW: state the meter\'s interval (e.g. interval = "30min"), so that power becomes energy'
        raise UsageError(msg, code="interval-missing")
    return 1000.0 * schema.interval / 3600.0
