"""Parquet files as a table. Large files are read in slices of households."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from gridveil.model.errors import InputError
from gridveil.trusted.engines.base.schema import require_same_types

if TYPE_CHECKING:
    import ibis
    from ibis.backends.duckdb import Backend


# Large Parquet files, read in slices of households: what is summed of a slice fits into the processors' caches.
#
# A slice has the households from one id up to another. Ids are compared as they are stored, and `rules.read_identifier`
# gives different ids different names: wherever the cuts are, every household is in one slice, with all of its rows.
# Where a file's rows are in the order of households, its statistics let the engine pass over those of other slices.


def plan_slices(files: list[str], column: str, kind: type[str | int], rows: int) -> list[str | None]:
    """Return conditions for slices of about so many `rows`, or [None] if the files had better be read as a whole.

    kind: what ids are to the engine, text or whole numbers.
    """
    cuts = _choose_cuts(_read_row_groups(files, column, kind), rows)
    if not cuts:
        return [None]
    name, values = f'"{column.replace(chr(34), chr(34) * 2)}"', [_to_literal(cut) for cut in cuts]
    middle = [f"{name} >= {start} AND {name} < {end}" for start, end in pairwise(values)]
    return [f"{name} < {values[0]}", *middle, f"{name} >= {values[-1]}"]


def _choose_cuts(groups: list[tuple[Any, Any, int]], rows: int) -> list[Any]:
    """Return first ids of groups to cut at, so that every slice but the last has at least half of `rows`.

    A cut goes through groups of no more than the other half, which are looked at for both slices. In a file in another
    order, a cut would go through most of them.
    """
    ends = sorted((last, count) for _, last, count in groups)
    ended = [0, *accumulate(count for _, count in ends)]
    cuts: list[Any] = []
    begun = size = 0
    before: Any = None
    for first, _, count in groups:
        across = begun - ended[bisect_left(ends, (first,))]
        if size >= rows and first > before and 2 * across <= rows:
            cuts.append(first)
            size = 0
        begun, size, before = begun + count, size + count, first
    return cuts


def _read_row_groups(files: list[str], column: str, kind: type[str | int]) -> list[tuple[Any, Any, int]]:
    """Return the first and the last id of every group of rows, and how many rows it has, in the order of first ids.

    None at all if a group does not tell, or if an id cannot be written in a query. And none if a row has no id: such
    rows would be no slice's, and DuckDB 2.0 finds too many by `IS NULL` where a group has the same id everywhere else.
    """
    groups = []
    for file in files:
        footer = pq.read_metadata(file)
        places = [index for index in range(footer.num_columns) if footer.schema.column(index).path == column]
        if len(places) != 1:  # beside a structure whose part has that name
            return []
        for index in range(footer.num_row_groups):
            group = footer.row_group(index)
            try:
                told = group.column(places[0]).statistics
                if told is None or not told.has_min_max or not told.has_null_count or told.null_count:
                    return []
                ends = told.min, told.max
            except (UnicodeDecodeError, pa.ArrowException):
                return []
            if any(not isinstance(end, kind) or not str(end).isprintable() for end in ends):
                return []
            groups.append((*ends, group.num_rows))
    return sorted(groups)


def _to_literal(value: str | int) -> str:
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"


Types = dict[str, pa.DataType]


def read_types(files: list[str]) -> Types:
    """Return the types of columns. To the engine, `kwh` and `KWH` are one name: it would take either for the other."""
    types = require_same_types(files, [{field.name: field.type for field in pq.read_schema(file)} for file in files])
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
    return any(_is_in_milliseconds(kind) for kind in types.values())


def make_table(con: Backend, name: str, types: Types) -> ibis.Table:
    """Return what `bind_parquet` has named as a table: milliseconds become microseconds, where they fit."""
    table = con.table(name)
    for column, kind in types.items():
        if _is_in_milliseconds(kind):
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
    quoted = (escape_pattern(str(file)).replace("'", "''") for file in files)
    return "[" + ", ".join(f"'{file}'" for file in quoted) + "]"


def escape_pattern(file: str) -> str:
    """Return the name of a file as the engine takes it for that name, and not for a pattern of names.

    >>> escape_pattern("r[1].parquet")
    'r[[]1].parquet'
    """
    return re.sub(r"[*?[]", r"[\g<0>]", file)


def is_complete(file: Path) -> bool:
    """Whether there is a Parquet file that was written to its end."""
    try:
        pq.read_metadata(file)
    except (OSError, pa.ArrowException):
        return False
    return True


def _is_in_milliseconds(kind: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(kind)) and kind.unit == "ms"


def _bind_milliseconds(con: Backend, name: str, files: list[str], types: Types) -> None:
    """Read through Arrow, without zones.

    The engine's own reader stops at the first time that is too large for microseconds, for instance the largest number
    there is, which stands for "no time" in some systems: a single row would stop a publication.
    """
    from pyarrow import dataset

    plain = pa.schema(
        [(column, pa.timestamp("ms") if _is_in_milliseconds(kind) else kind) for column, kind in types.items()]
    )
    con.con.register(name, dataset.dataset(files, schema=plain, format="parquet"))
