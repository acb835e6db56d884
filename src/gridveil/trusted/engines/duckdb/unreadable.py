"""What is said of a table that could not be read: which file it was, in words that quote no row."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from gridveil.model.errors import GridveilError, InputError
from gridveil.trusted.engines.base.partitions import SCRATCH
from gridveil.trusted.engines.base.schema import kind_of
from gridveil.trusted.engines.duckdb.lines import LineStream, first_line

TELL_NO_ROWS = (duckdb.IOException, duckdb.CatalogException, duckdb.BinderException, duckdb.PermissionException)
"""Complaints about files and names. Others may quote a row, and an error is seen by more than the operator."""

FULL = ("No space left on device", "Disk quota exceeded", "failed to offload data block")
"""How the system and the engine say that a disk is full."""


@contextmanager
def reading(path: str, files: Callable[[], list[str]] = list, scratch: Path | None = None) -> Iterator[None]:
    """Turn complaints of the engine or the system about an unreadable file into ours.

    files: those that `path` stands for; they are looked at, after a failure, for the one to name.
    scratch: where the engine puts what does not fit into memory, if not into the system's temporary folder.
    """
    try:
        yield
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        if any(words in str(error) for words in FULL):
            folder = scratch or tempfile.gettempdir()
            msg = f"{folder}: no space left for what does not fit into memory; give another --scratch"
            raise GridveilError(msg, code="scratch-full") from error
        if isinstance(error, duckdb.OutOfMemoryException):
            msg = f"{path}: the engine needs more memory for it; give a larger --memory, or, without one, a --scratch"
            raise GridveilError(msg, code="memory-too-small") from error
        tells_rows = isinstance(error, duckdb.Error) and not isinstance(error, TELL_NO_ROWS)
        reason = f"{type(error).__name__}; its words may hold rows" if tells_rows else str(error).partition("\n")[0]
        name = first_damaged(files()) or path
        msg = f"{name}: cannot be read ({reason}). Check that it is complete, of its type, and that you may read it."
        if scratch:
            msg += f" If it is, what was kept in {scratch} may be damaged: take {SCRATCH} away from there."
        # A traceback would show all words: rows, or a query, in which are ids that slices of a file begin with.
        raise InputError(msg, code="table-unreadable") from None if isinstance(error, duckdb.Error) else error
    except RuntimeError as error:
        if "interrupted" in str(error).lower():  # what the engine makes of Ctrl-C
            raise KeyboardInterrupt from error
        raise


def first_damaged(files: list[str]) -> str | None:
    """Return the first file that cannot be read: by its beginning or end if that tells, else by all of it."""
    if len(files) == 1:
        return files[0]
    for look in (_open, _read):
        for file in files:
            try:
                look(file)
            except (OSError, pa.ArrowException):
                return file
    return None


def _open(file: str) -> None:
    kind = kind_of(file)
    if kind == "parquet":
        pq.read_metadata(file)
    elif kind == "csv":
        first_line(file)


def _read(file: str) -> None:
    kind = kind_of(file)
    if kind == "parquet":
        with pq.ParquetFile(file) as opened:
            for _ in opened.iter_batches():
                pass
    elif kind == "csv":
        for _ in pa.RecordBatchReader.from_stream(LineStream((file,))):
            pass
