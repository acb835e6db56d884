"""The cases of all engines as tables of a PostgreSQL database."""

from __future__ import annotations

import dataclasses
from typing import Any

import psycopg
import pyarrow as pa
from psycopg import sql
from tests.trusted.engines.cases import Case

from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable

FIRST, LAST = -210_866_803_200 * 10**6, 9_224_318_016 * 10**9 - 1
"""Microseconds since 1970 that PostgreSQL's timestamps hold: 4713 BC to 294276 AD."""
FIRST_DAY, LAST_DAY = -2_440_588, 2_145_042_541
ENDLESS = 2**63 - 1
ENDLESS_DAY = 2**31 - 1
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}

MOMENT = (
    "CASE WHEN abs({0}) = 9223372036854775807 THEN CASE WHEN {0} > 0 THEN 'infinity' ELSE '-infinity' END::KIND "
    "ELSE '1970-01-01+00'::KIND + make_interval(secs => div({0}, 1000000)::float8) "
    "+ mod({0}, 1000000) * interval '1us' END"
)
DAY = (
    "CASE WHEN abs({0}) = 2147483647 THEN CASE WHEN {0} > 0 THEN 'infinity' ELSE '-infinity' END::date "
    "ELSE '1970-01-01'::date + ({0})::int4 END"
)


def fitting(case: Case) -> Case:
    """Return the case without rows whose time PostgreSQL has no way to hold."""
    kind = case.readings.schema.field("timestamp").type
    if pa.types.is_string(kind):
        return case
    numbers = [_number(value, kind) for value in case.readings["timestamp"].cast(kind)]
    first, last, endless = (FIRST_DAY, LAST_DAY, ENDLESS_DAY) if pa.types.is_date(kind) else (FIRST, LAST, ENDLESS)
    fits = [n is None or first <= n <= last or abs(n) == endless for n in numbers]
    return dataclasses.replace(case, readings=case.readings.filter(pa.array(fits)))


def load(url: str, schema: str, case: Case) -> tuple[ReadingsTable, HouseholdsTable]:
    """Make a schema with the two tables of a case."""
    with psycopg.connect(url) as connection:
        connection.execute("SET client_min_messages = warning")
        connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {0} CASCADE").format(sql.Identifier(schema)))
        connection.execute(sql.SQL("CREATE SCHEMA {0}").format(sql.Identifier(schema)))
        _copy(connection, sql.Identifier(schema, "readings"), case.readings)
        _copy(connection, sql.Identifier(schema, "households"), case.households)
    return ReadingsTable(f'"{schema}".readings', **case.options), HouseholdsTable(f'"{schema}".households')


def _copy(connection: psycopg.Connection[Any], name: sql.Identifier, table: pa.Table) -> None:
    columns = {field.name: _kind(field.type) for field in table.schema}
    raw = sql.SQL(", ").join(sql.SQL("{} " + kind).format(sql.Identifier(n)) for n, (kind, _) in columns.items())
    connection.execute(sql.SQL("CREATE TEMPORARY TABLE raw ({}) ON COMMIT DROP").format(raw))
    with connection.cursor().copy("COPY raw FROM STDIN") as copy:
        for row in zip(*(_values(table[column]) for column in columns), strict=True):
            copy.write_row(row)
    made = (sql.SQL(how + " AS {0}").format(sql.Identifier(n)) for n, (_, how) in columns.items())
    connection.execute(sql.SQL("CREATE TABLE {} AS SELECT {} FROM raw").format(name, sql.SQL(", ").join(made)))
    connection.execute("DROP TABLE raw")


def _kind(kind: pa.DataType) -> tuple[str, str]:
    """Return the type in which values are copied, and how the column is made of them."""
    if pa.types.is_timestamp(kind):
        name = "timestamptz" if kind.tz else "timestamp"
        return "numeric", MOMENT.replace("KIND", name)
    if pa.types.is_date(kind):
        return "int8", DAY
    names = {pa.string(): "text", pa.float64(): "float8", pa.float32(): "float4", pa.int64(): "int8"}
    return names.get(kind, "numeric"), "{0}"


def _values(column: pa.ChunkedArray) -> list[Any]:
    kind = column.type
    if pa.types.is_timestamp(kind) or pa.types.is_date(kind):
        return [_number(value, kind) for value in column]
    return list(column.to_pylist())


def _number(value: pa.Scalar, kind: pa.DataType) -> int | None:
    """Return days, or microseconds rounded down; DuckDB takes the largest number of any unit for "infinity"."""
    if not value.is_valid:
        return None
    number = int(value.value)
    if pa.types.is_date(kind) or abs(number) == ENDLESS:
        return number
    return number * 10**6 // PER_SECOND[kind.unit]
