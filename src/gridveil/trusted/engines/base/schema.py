"""The schema of the two input tables, as the publisher states it, and paths with fields for the day."""

from __future__ import annotations

import glob
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypeVar

from pydantic import BeforeValidator, ConfigDict, Field

from gridveil.model.errors import InputError, UsageError
from gridveil.model.window import Window, timezone

if TYPE_CHECKING:
    import ibis


# The schema of the two input tables, as the publisher states it.

ENDINGS = {"parquet": (".parquet", ".pq"), "csv": (".csv", ".csv.gz", ".csv.zst"), "duckdb": (".duckdb", ".db")}
"""Of the files that are read, by kind."""

UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86400}


def parse_duration(text: object) -> object:
    """Return seconds from `15min`, `1h`, `1d` or `900s`.

    >>> parse_duration("30min")
    1800
    """
    if not isinstance(text, str):
        return text
    match = re.fullmatch(r"(\d+)\s*(s|min|h|d)", text.strip())
    if not match:
        msg = f"{text!r} is not a duration; write 15min, 1h or 1d"
        raise ValueError(msg)
    return int(match[1]) * UNITS[match[2]]


def kind_of(file: str) -> str | None:
    """Return the kind of a file, by its name.

    >>> kind_of("2013/readings.CSV.gz"), kind_of("metering.readings")
    ('csv', None)
    """
    return next((kind for kind, endings in ENDINGS.items() if file.lower().endswith(endings)), None)


Seconds = Annotated[int, BeforeValidator(parse_duration), Field(ge=1)]


@dataclass(frozen=True)
class ReadingsTable:
    """Where the readings are and how to read them.

    path: a Parquet or CSV file (a pattern such as `2013-*.parquet` is fine), or a DuckDB database with `table`.
    household, timestamp, energy: the names of the columns.
    unit: of the energy column. `kW` is the mean power over a meter interval and needs `interval`.
    timezone: of timestamps that carry no offset of their own.
    timestamps: whether they mark the start or the end of the meter interval.
    interval: length of a meter interval, seconds (or text such as 30min in a spec); only needed for `kW`.
    delimiter: between the fields of a CSV line.
    """

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    path: str
    table: str | None = None
    household: str = "household"
    timestamp: str = "timestamp"
    energy: str = "kwh"
    unit: Literal["kWh", "Wh", "kW"] = "kWh"
    timezone: str = "UTC"
    timestamps: Literal["start", "end"] = "start"
    interval: Seconds | None = None
    delimiter: str = ","


@dataclass(frozen=True)
class HouseholdsTable:
    """Where the households' places are. Without column names, `lon, lat` or `x, y` are looked for."""

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    path: str
    table: str | None = None
    household: str = "household"
    x: str | None = None
    y: str | None = None
    delimiter: str = ","


COLUMN_NAME = re.compile(r"(?!.*[0-9]{4})[^\W\d].{0,63}")
"""A name begins with a letter, and has no number of four digits or more in it."""


def describe_columns(table: ibis.Table) -> str:
    """Say which columns a table has, if all are named like columns.

    Else the line with their names may be missing, and the first row stand in its place: it is nobody's business. A row
    has a number in it, a time or a place.
    """
    if all(COLUMN_NAME.fullmatch(column) for column in table.columns):
        return f"It has: {', '.join(table.columns)}."
    return f"Its {len(table.columns)} columns are named like values: is the line with their names missing?"


def require_columns(table: ibis.Table, path: str, names: dict[str, str]) -> None:
    """Refuse a table that lacks a column, saying which it has."""
    missing = {role: name for role, name in names.items() if name not in table.columns}
    if missing:
        wanted = ", ".join(f"{name} (the {role})" for role, name in missing.items())
        settings = ", ".join(f'{role} = "COLUMN"' for role in missing)
        msg = (
            f"{path}: no column {wanted}. {describe_columns(table)} "
            f"Say in a spec (.toml) which column is which, below [readings] or [households]: {settings}."
        )
        raise InputError(msg, code="column-missing")


Kind = TypeVar("Kind")


def require_same_types(files: list[str], types_of_each: list[dict[str, Kind]]) -> dict[str, Kind]:
    """Return the types that all files have. Casting one file's to another's could fail for single rows."""
    first, *others = types_of_each
    for file, types in zip(files[1:], others, strict=True):
        for column in {**first, **types}:
            here, there = types.get(column, "missing"), first.get(column, "missing")
            if here != there:
                msg = f"{file}: column {column} is {here}, but {there} in {files[0]}; give all files the same types"
                raise InputError(msg, code="column-types-differ")
    return first


# Paths with fields for the day, such as `lake/%Y/%m/%d/*.parquet`: which of their files a window needs.

FIELDS: dict[str, Callable[[date], str]] = {
    "%": lambda _: "%",
    "Y": lambda day: f"{day.year:04}",
    "m": lambda day: f"{day.month:02}",
    "d": lambda day: f"{day.day:02}",
    "j": lambda day: f"{day.timetuple().tm_yday:03}",
    "G": lambda day: f"{day.isocalendar().year:04}",
    "V": lambda day: f"{day.isocalendar().week:02}",
}
"""As `strftime` has them, but none that depends on a language or the hour."""

VALID_FIELDS = ({"Y"}, {"Y", "m"}, {"Y", "m", "d"}, {"Y", "j"}, {"G", "V"})
"""What a path may name: a year, a month, a day, or a week; never one that comes again every year or month."""

SCRATCH = "gridveil-scratch"
"""The folder in the operator's `scratch`: nothing beside it is touched."""

FIELD = re.compile("%(.?)")
FIELDS_HELP = (
    "fields for the day are %Y %m %d (year, month, day), %Y %m, %Y, %Y %j (day of the year) or %G %V (ISO year and "
    "week); write %% for a plain %"
)


@dataclass(frozen=True)
class Partitions:
    """Paths or patterns of a window: `needed` for its own days, `beside` for the day before and the day after.

    Readings whose timestamps mark the end of an interval, or that were filed by another clock, may lie `beside`.
    """

    needed: tuple[str, ...]
    beside: tuple[str, ...] = ()


def has_fields(path: str) -> bool:
    """Whether a path has fields for the day. A file with just that name is what was meant, whatever it looks like."""
    return "%" in path and not Path(path).exists()


def find_partitions(path: str, window: Window, zone: str) -> Partitions:
    """Return the paths of a window's days, by the clock of `zone`.

    >>> from datetime import UTC, datetime
    >>> week = Window(datetime(2013, 2, 27, tzinfo=UTC), timedelta(days=1), 2)
    >>> find_partitions("lake/%Y-%m-%d.parquet", week, "UTC").needed
    ('lake/2013-02-27.parquet', 'lake/2013-02-28.parquet')
    >>> find_partitions("lake/month=%Y-%m/*.parquet", week, "UTC")
    Partitions(needed=('lake/month=2013-02/*.parquet',), beside=('lake/month=2013-03/*.parquet',))
    """
    _check_fields(path)
    clock, day = timezone(zone), timedelta(days=1)
    first = window.start.astimezone(clock).date()
    last = (window.end - timedelta(seconds=1)).astimezone(clock).date()
    days = [first + i * day for i in range((last - first).days + 1)]
    needed = dict.fromkeys(_format_path(path, day) for day in days)
    beside = dict.fromkeys(_format_path(path, day) for day in (first - day, last + day))
    return Partitions(tuple(needed), tuple(pattern for pattern in beside if pattern not in needed))


def find_files(pattern: str) -> list[str]:
    """Return the files of a path or pattern on this machine, without what gridveil keeps in a scratch folder."""
    if Path(pattern).exists():
        return [pattern]
    found = glob.glob(pattern, recursive=True)  # noqa: PTH207  # absolute ones
    return [file for file in found if SCRATCH not in Path(file).parts]


def list_window_files(path: str, window: Window, zone: str, find: Callable[[str], list[str]] = find_files) -> list[str]:
    """Return the files of a window's days, and of the days beside it as far as there are any. None is opened.

    find: lists the files of a pattern, where they are on another file system than this machine's.
    Every day of the window must have one: half a week is not a week. Which files there are is a fact of the whole
    table, so that a missing one may stop a publication.
    """
    wanted = find_partitions(path, window, zone)
    found = {pattern: find(pattern) for pattern in (*wanted.needed, *wanted.beside)}
    missing = [pattern for pattern in wanted.needed if not found[pattern]]
    if missing and len(missing) == len(wanted.needed) > 1:
        msg = (
            f"{path}: there is no file of any day of the window (the first would be {missing[0]}). Is the path right? "
            "If it is, wait until they are there"
        )
        raise InputError(msg, code="no-file-of-window")
    if missing:
        more = f" (nor {len(missing) - 1} more of this window)" if len(missing) > 1 else ""
        msg = (
            f"{missing[0]}: there is no such file{more}. Every day of a window needs one, so that no part of it is "
            "published as if nobody had used anything; wait until it is there"
        )
        raise InputError(msg, code="day-file-missing")
    return sorted({file for files in found.values() for file in files})


def _check_fields(path: str) -> None:
    """Refuse fields that name no day, or several."""
    named = FIELD.findall(path)
    unknown = [name for name in named if name not in FIELDS]
    if unknown:
        msg = f"{path}: %{unknown[0]} is no field for a day; {FIELDS_HELP}"
        raise UsageError(msg, code="path-field-unknown")
    if set(named) - {"%"} not in VALID_FIELDS:
        msg = f"{path}: its fields do not name one year, month, week or day; {FIELDS_HELP}"
        raise UsageError(msg, code="path-fields")


def _format_path(path: str, day: date) -> str:
    return FIELD.sub(lambda field: FIELDS[field[1]](day), path)


def list_files(at: ReadingsTable | HouseholdsTable, window: Window | None = None) -> list[str]:
    """Return the files of a path or pattern; where a path of readings has fields for the day, those of the window."""
    path = at.path
    if "://" in path:
        msg = f"{path}: DuckDB reads files of this machine; for those of a cluster give --engine spark"
        raise InputError(msg, code="path-not-local")
    if window is not None and isinstance(at, ReadingsTable) and has_fields(path):
        files = list_window_files(path, window, at.timezone)
    else:
        files = sorted(find_files(path))
    if not files:
        msg = f"{path}: there is no such file"
        raise InputError(msg, code="file-missing")
    folders = [file for file in files if Path(file).is_dir()]
    if folders:
        msg = f"{folders[0]}: it is a folder; give a file, or a pattern such as {folders[0].rstrip('/')}/**/*.parquet"
        raise InputError(msg, code="path-is-folder")
    special = [file for file in files if not Path(file).is_file()]
    if special:
        msg = f"{special[0]}: it is a pipe or a device; give a file, which is read more than once"
        raise InputError(msg, code="path-is-special")
    return files
