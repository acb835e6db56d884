"""CSV files as a table of text, line by line. Nothing is guessed from the data."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gridveil.model.errors import InputError, UsageError

if TYPE_CHECKING:
    from ibis.backends.duckdb import Backend


# A stream of lines. Each line is read by itself: nothing in one line changes how another is read.

BLOCK = 8 * 2**20
MAX_LINE_BYTES = 2**20
"""Bytes, newline included. So much of a longer line is held in memory, and no more."""

REPLACEMENT = "\ufffd"
SCHEMA = pa.schema([("line", pa.string())])


@dataclass(frozen=True)
class LineStream:
    """The lines of files after their headers, one row each; null where a line is too long or not UTF-8.

    The engine asks for a new stream with every query, so that files are never held in memory. Lines end with a line
    feed, or a carriage return and a line feed.
    """

    files: tuple[str, ...]

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return a stream over all lines, by Arrow's protocol."""
        batches = (to_batch(block) for file in self.files for block in _read_after_header(file))
        return pa.RecordBatchReader.from_batches(SCHEMA, batches).__arrow_c_stream__(requested_schema)


def read_first_line(path: str) -> str:
    """Return the first line, without byte-order mark and newline; empty if there is none."""
    block = next(_read_blocks(path), b"")
    return block.partition(b"\n")[0].decode("utf-8-sig", errors="replace").rstrip("\r")


def to_batch(block: bytes) -> pa.RecordBatch:
    """Return the lines of a block that ends with a newline, without spaces or line ends around them."""
    try:
        block.decode()
    except UnicodeDecodeError:
        block = block.decode(errors="replace").encode()  # never reaches across a newline
    ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == ord("\n")) + 1
    offsets = np.concatenate([[0], ends]).astype(np.int32)
    lines = pa.StringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(block))
    # The replacement character counts as unreadable even where the file has it: the rule must not look at neighbours.
    unreadable = pc.or_(pa.array(np.diff(offsets) > MAX_LINE_BYTES), pc.match_substring(lines, REPLACEMENT))
    if pc.any(unreadable).as_py():
        lines = pc.if_else(unreadable, pa.scalar(None, pa.string()), lines)
    return pa.record_batch([pc.ascii_trim(lines, " \r\n")], schema=SCHEMA)


def _read_after_header(path: str) -> Iterator[bytes]:
    blocks = _read_blocks(path)
    yield next(blocks, b"").partition(b"\n")[2]
    yield from blocks


def _read_blocks(path: str) -> Iterator[bytes]:
    """Return the file, decompressed as its name says, in blocks of whole lines."""
    with pa.input_stream(path, compression="detect") as file:
        yield from read_whole_lines(file)


def read_whole_lines(file: IO[bytes]) -> Iterator[bytes]:
    """Return a file in blocks of whole lines, each ending with a newline; a line too long comes cut short."""
    rest = b""
    while block := file.read(BLOCK):
        lines, newline, start = block.rpartition(b"\n")
        if newline:
            yield rest + lines + newline
            rest = start
        else:
            rest = (rest + start)[: MAX_LINE_BYTES + 1]
    if rest:
        yield rest + b"\n"


# CSV files as a table of text. Nothing is guessed from the data: not types, quoting, delimiter or where lines end.
#
# The engine's own reader is not used. Even with its guessing turned off, a stray carriage return or an over-long line
# changes how it reads the lines beside it.

DELIMITERS = (",", ";", "|", "\t")
MIN_COLUMNS, MAX_COLUMNS = 2, 1000
"""Columns that a file may have: each takes the engine some milliseconds to plan for."""


def read_columns(files: list[str], delimiter: str) -> list[str]:
    """Return the names of the columns, which all files must share."""
    if delimiter not in DELIMITERS:
        msg = f"delimiter {delimiter!r}: give one of {', '.join(map(repr, DELIMITERS))}"
        raise UsageError(msg, code="delimiter-unknown")
    columns = _read_header(files[0], delimiter)
    for file in files[1:]:
        if _read_header(file, delimiter) != columns:
            msg = f"{file}: its first line differs from that of {files[0]}; give all files the same columns"
            raise InputError(msg, code="csv-headers-differ")
    return columns


def bind_csv(con: Backend, name: str, files: list[str], columns: list[str], delimiter: str) -> None:
    """Name the fields of every line that is not blank; all are null where a line is unreadable."""
    con.con.register(f"{name}_lines", LineStream(tuple(files)))
    con.raw_sql(f"CREATE OR REPLACE VIEW {name} AS {_split_query(f'{name}_lines', columns, delimiter)}").fetchall()


def _read_header(path: str, delimiter: str) -> list[str]:
    line = read_first_line(path)
    try:
        names = [name.strip() for name in next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))]
    except (csv.Error, StopIteration):
        names = []
    named_once = all(names) and len({name.lower() for name in names}) == len(names)
    if not MIN_COLUMNS <= len(names) <= MAX_COLUMNS or not named_once:
        msg = (
            f"{path}: the first line must name the columns (2 to {MAX_COLUMNS:,}), each once, with {delimiter!r} "
            f"between them (if it is another character, state delimiter in the spec); it names {len(names):,}"
        )
        raise InputError(msg, code="csv-header")
    return names


def _split_query(lines: str, columns: list[str], delimiter: str) -> str:
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
