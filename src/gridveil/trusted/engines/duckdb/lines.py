"""Text files as a stream of lines, each judged by itself: nothing in one line changes how another is understood."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

BLOCK = 8 * 2**20
LONGEST_LINE = 2**20
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
        batches = (as_batch(block) for file in self.files for block in _after_header(file))
        return pa.RecordBatchReader.from_batches(SCHEMA, batches).__arrow_c_stream__(requested_schema)


def first_line(path: str) -> str:
    """Return the first line, without byte-order mark and newline; empty if there is none."""
    block = next(_blocks(path), b"")
    return block.partition(b"\n")[0].decode("utf-8-sig", errors="replace").rstrip("\r")


def as_batch(block: bytes) -> pa.RecordBatch:
    """Return the lines of a block that ends with a newline, without spaces or line ends around them."""
    try:
        block.decode()
    except UnicodeDecodeError:
        block = block.decode(errors="replace").encode()  # never reaches across a newline
    ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == ord("\n")) + 1
    offsets = np.concatenate([[0], ends]).astype(np.int32)
    lines = pa.StringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(block))
    # The replacement character counts as unreadable even where the file has it: the rule must not look at neighbours.
    unreadable = pc.or_(pa.array(np.diff(offsets) > LONGEST_LINE), pc.match_substring(lines, REPLACEMENT))
    if pc.any(unreadable).as_py():
        lines = pc.if_else(unreadable, pa.scalar(None, pa.string()), lines)
    return pa.record_batch([pc.ascii_trim(lines, " \r\n")], schema=SCHEMA)


def _after_header(path: str) -> Iterator[bytes]:
    blocks = _blocks(path)
    yield next(blocks, b"").partition(b"\n")[2]
    yield from blocks


def _blocks(path: str) -> Iterator[bytes]:
    """Return the file, decompressed as its name says, in blocks of whole lines."""
    with pa.input_stream(path, compression="detect") as file:
        yield from whole_lines(file)


def whole_lines(file: IO[bytes]) -> Iterator[bytes]:
    """Return a file in blocks of whole lines, each ending with a newline; a line too long comes cut short."""
    rest = b""
    while block := file.read(BLOCK):
        lines, newline, start = block.rpartition(b"\n")
        if newline:
            yield rest + lines + newline
            rest = start
        else:
            rest = (rest + start)[: LONGEST_LINE + 1]
    if rest:
        yield rest + b"\n"
