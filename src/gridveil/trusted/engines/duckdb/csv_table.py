"""CSV files as a table of text. Nothing is guessed from the data: not types, quoting, delimiter or where lines end.

The engine's own reader is not used. Even with its guessing turned off, a stray carriage return or an over-long line
changes how it reads the lines beside it.
"""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

from gridveil.model.errors import InputError, UsageError
from gridveil.trusted.engines.duckdb.lines import LineStream, first_line

if TYPE_CHECKING:
    from ibis.backends.duckdb import Backend

DELIMITERS = (",", ";", "|", "\t")
FEWEST, MOST = 2, 1000
"""Columns that a file may have: each takes the engine some milliseconds to plan for."""


def columns_of(files: list[str], delimiter: str) -> list[str]:
    """Return the names of the columns, which all files must share."""
    if delimiter not in DELIMITERS:
        msg = f"delimiter {delimiter!r}: give one of {', '.join(map(repr, DELIMITERS))}"
        raise UsageError(msg, code="delimiter-unknown")
    columns = _header(files[0], delimiter)
    for file in files[1:]:
        if _header(file, delimiter) != columns:
            msg = f"{file}: its first line differs from that of {files[0]}; give all files the same columns"
            raise InputError(msg, code="csv-headers-differ")
    return columns


def bind_csv(con: Backend, name: str, files: list[str], columns: list[str], delimiter: str) -> None:
    """Name the fields of every line that is not blank; all are null where a line is unreadable."""
    con.con.register(f"{name}_lines", LineStream(tuple(files)))
    con.raw_sql(f"CREATE OR REPLACE VIEW {name} AS {_fields(f'{name}_lines', columns, delimiter)}").fetchall()


def _header(path: str, delimiter: str) -> list[str]:
    line = first_line(path)
    try:
        names = [name.strip() for name in next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))]
    except (csv.Error, StopIteration):
        names = []
    named_once = all(names) and len({name.lower() for name in names}) == len(names)
    if not FEWEST <= len(names) <= MOST or not named_once:
        msg = (
            f"{path}: the first line must name the columns (2 to {MOST:,}), each once, with {delimiter!r} between them "
            f"(if it is another character, state delimiter in the spec); it names {len(names):,}"
        )
        raise InputError(msg, code="csv-header")
    return names


def _fields(lines: str, columns: list[str], delimiter: str) -> str:
    """Return the query that splits lines.

    A field between quotation marks may hold the delimiter, and doubled quotation marks; a mark without its partner on
    the same line is a plain character. Spaces around a field are taken off.
    """
    escaped = re.escape(delimiter)
    quoted = rf'(\s*"(?:[^"]|"")*"\s*|[^{escaped}]*){escaped}'
    trimmed = ", ".join(f"trim(fields[{i + 1}]) AS field_{i}" for i in range(len(columns)))
    named = ", ".join(
        f"""CASE WHEN field_{i} LIKE '"%"' THEN replace(field_{i}[2:-2], '""', '"') ELSE field_{i} END """
        f"""AS "{column.replace('"', '""')}" """
        for i, column in enumerate(columns)
    )
    return f"""
        SELECT {named} FROM (SELECT {trimmed} FROM (
            SELECT CASE WHEN len(found) = {len(columns)} THEN found END AS fields FROM (
                SELECT CASE WHEN contains(line, '"') THEN regexp_extract_all(line || '{delimiter}', '{quoted}', 1)
                            ELSE string_split(line, '{delimiter}') END AS found
                FROM {lines} WHERE line IS NULL OR line <> ''
            )
        ))
    """  # noqa: S608  # names are quoted, delimiters are known
