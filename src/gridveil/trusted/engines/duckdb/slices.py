"""Large Parquet files, read in slices of households: what is summed of a slice fits into the processors' caches.

A slice has the households from one id up to another. Ids are compared as they are stored, and `columns.identifier`
gives different ids different names: wherever the cuts are, every household is in one slice, with all of its rows.
Where a file's rows are in the order of households, its statistics let the engine pass over those of other slices.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate, pairwise
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

SLICE_ROWS = 2 * 2**20
"""Rows of a slice for each thread: few enough for its cache, and enough to be worth a question of their own."""


def slices_of(files: list[str], column: str, kind: type[str | int], rows: int) -> list[str | None]:
    """Return conditions for slices of about so many `rows`, or [None] if the files had better be read as a whole.

    kind: what ids are to the engine, text or whole numbers.
    """
    cuts = _cuts(_groups(files, column, kind), rows)
    if not cuts:
        return [None]
    name, values = f'"{column.replace(chr(34), chr(34) * 2)}"', [_literal(cut) for cut in cuts]
    middle = [f"{name} >= {start} AND {name} < {end}" for start, end in pairwise(values)]
    return [f"{name} < {values[0]}", *middle, f"{name} >= {values[-1]}"]


def _cuts(groups: list[tuple[Any, Any, int]], rows: int) -> list[Any]:
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


def _groups(files: list[str], column: str, kind: type[str | int]) -> list[tuple[Any, Any, int]]:
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


def _literal(value: str | int) -> str:
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"
