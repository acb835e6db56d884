"""Large Parquet files, read in slices of households: what is summed of a slice fits into the processors' caches.

A slice has the households from one id up to another. Ids are compared as they are stored, and `columns.identifier`
gives different ids different names: wherever the cuts are, every row is in one slice, and every household in one.
Where a file's rows are in the order of households, its statistics let the engine pass over those of other slices.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

SLICE_ROWS = 2 * 2**20
"""Rows of a slice for each thread: few enough for its cache, and enough to be worth a question of their own."""

READ_TWICE = 2
"""So often at most, on average, are rows looked at: where they are in another order, each slice would look at all."""


def slices_of(files: list[str], column: str, kind: type[str | int], rows: int) -> list[str | None]:
    """Return conditions for slices of about so many `rows`, or [None] if the files had better be read as a whole.

    kind: what ids are to the engine, text or whole numbers.
    """
    groups = _groups(files, column, kind)
    starts = [first for first, _, _ in groups[:1]]
    size = 0
    for first, _, count in groups:
        if size >= rows and first > starts[-1]:
            starts.append(first)
            size = 0
        size += count
    cuts = starts[1:]
    looked = sum((1 + bisect_right(cuts, last) - bisect_right(cuts, first)) * count for first, last, count in groups)
    if not cuts or looked > READ_TWICE * sum(count for _, _, count in groups):
        return [None]
    name, values = f'"{column.replace(chr(34), chr(34) * 2)}"', [_literal(cut) for cut in cuts]
    middle = [f"{name} >= {start} AND {name} < {end}" for start, end in pairwise(values)]
    return [f"{name} < {values[0]} OR {name} IS NULL", *middle, f"{name} >= {values[-1]}"]


def _groups(files: list[str], column: str, kind: type[str | int]) -> list[tuple[Any, Any, int]]:
    """Return the first and the last id of every group of rows, and how many rows it has, in the order of first ids.

    None at all if a group does not tell, or if an id cannot be written in a query.
    """
    groups = []
    for file in files:
        footer = pq.read_metadata(file)
        places = [index for index in range(footer.num_columns) if footer.schema.column(index).path == column]
        for index in range(footer.num_row_groups):
            group = footer.row_group(index)
            try:
                told = [group.column(place).statistics for place in places]
                ends = [(one.min, one.max) for one in told if one is not None and one.has_min_max]
            except (UnicodeDecodeError, pa.ArrowException):
                return []
            if len(ends) != 1 or any(not isinstance(end, kind) or not str(end).isprintable() for end in ends[0]):
                return []
            groups.append((*ends[0], group.num_rows))
    return sorted(groups)


def _literal(value: str | int) -> str:
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"
