"""Parquet files as a table."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from gridveil.model.errors import InputError
from gridveil.trusted.engines.base.schema import agreed

if TYPE_CHECKING:
    import ibis
    from ibis.backends.duckdb import Backend

Types = dict[str, pa.DataType]


def types_of(files: list[str]) -> Types:
    """Return the types of columns. To the engine, `kwh` and `KWH` are one name: it would take either for the other."""
    types = agreed(files, [{field.name: field.type for field in pq.read_schema(file)} for file in files])
    if len({column.lower() for column in types}) < len(types):
        msg = f"{files[0]}: columns whose names differ in upper and lower case only; give each another name"
        raise InputError(msg, code="columns-differ-in-case")
    return types


def bind_parquet(con: Backend, name: str, files: list[str], types: Types, where: str | None = None) -> None:
    """Name the rows of files, which are read by the names of columns: all, or those of a slice.

    The engine reasons from a file's statistics, and those leave NaN out: unless told, it takes a NaN for finite where
    there are numbers beside it, and one household's rows decide how another's are read.
    """
    if has_milliseconds(types):
        if where is not None:
            msg = "slices of what is read through Arrow"  # each would have all rows, and be bounded by itself
            raise NotImplementedError(msg)
        _bind_milliseconds(con, name, files, types)
        return
    # A folder named household=7 must not replace what the file says: every row would become that household's.
    how = f"union_by_name = {len(files) > 1}, can_have_nan = true, hive_partitioning = false"
    some = f" WHERE {where}" if where else ""
    rows = f"SELECT * FROM read_parquet({sql_list(files)}, {how}){some}"  # noqa: S608  # quoted
    con.raw_sql(f"CREATE OR REPLACE TEMPORARY VIEW {name} AS {rows}").fetchall()


def has_milliseconds(types: Types) -> bool:
    """Whether files are read through Arrow, all of their rows."""
    return any(_in_milliseconds(kind) for kind in types.values())


def table_of(con: Backend, name: str, types: Types) -> ibis.Table:
    """Return what `bind_parquet` has named as a table: milliseconds become microseconds, where they fit."""
    table = con.table(name)
    for column, kind in types.items():
        if _in_milliseconds(kind):
            moment = table[column].try_cast("timestamp")
            table = table.mutate(**{column: moment if kind.tz is None else moment.try_cast("timestamp('UTC')")})
    return table


def count_rows(files: list[str]) -> int:
    """Return how many rows files have, by their own word."""
    return sum(pq.read_metadata(file).num_rows for file in files)


def sql_list(files: Sequence[str | Path]) -> str:
    """Return names of files as the engine takes them for just those names.

    >>> sql_list(["r[1].parquet", "it's.parquet"])
    "['r[[]1].parquet', 'it''s.parquet']"
    """
    quoted = (plain(str(file)).replace("'", "''") for file in files)
    return "[" + ", ".join(f"'{file}'" for file in quoted) + "]"


def plain(file: str) -> str:
    """Return the name of a file as the engine takes it for that name, and not for a pattern of names.

    >>> plain("r[1].parquet")
    'r[[]1].parquet'
    """
    return re.sub(r"[*?[]", r"[\g<0>]", file)


def is_whole(file: Path) -> bool:
    """Whether there is a Parquet file that was written to its end."""
    try:
        pq.read_metadata(file)
    except (OSError, pa.ArrowException):
        return False
    return True


def _in_milliseconds(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind)) and kind.unit == "ms"


def _bind_milliseconds(con: Backend, name: str, files: list[str], types: Types) -> None:
    """Read through Arrow, without zones.

    The engine's own reader stops at the first time that is too large for microseconds, for instance the largest number
    there is, which stands for "no time" in some systems: a single row would stop a publication.
    """
    from pyarrow import dataset

    plain = pa.schema(
        [(column, pa.timestamp("ms") if _in_milliseconds(kind) else kind) for column, kind in types.items()]
    )
    con.con.register(name, dataset.dataset(files, schema=plain, format="parquet"))
