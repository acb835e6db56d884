"""The schema of the two input tables, as the publisher states it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from gridveil.model.errors import InputError

if TYPE_CHECKING:
    import ibis

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, ConfigDict, Field

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
