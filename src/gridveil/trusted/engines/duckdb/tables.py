"""Open a table of the publisher's: Parquet, CSV or DuckDB. An unreadable table is an error that quotes no row."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from gridveil.model.errors import GridveilError, InputError
from gridveil.model.running import DEFAULT_LIMITS, Limits
from gridveil.model.window import Window
from gridveil.trusted.engines.base.engine import OpenedTable
from gridveil.trusted.engines.base.schema import SCRATCH, HouseholdsTable, ReadingsTable, kind_of, list_files
from gridveil.trusted.engines.duckdb.csv_table import LineStream, bind_csv, read_columns, read_first_line
from gridveil.trusted.engines.duckdb.parquet_table import (
    bind_parquet,
    count_rows,
    has_milliseconds,
    make_table,
    plan_slices,
    read_types,
)

if TYPE_CHECKING:
    import ibis
    from ibis.backends.duckdb import Backend


# Errors of an unreadable table: they name the file and quote no row.

ERRORS_WITHOUT_ROWS = (duckdb.IOException, duckdb.CatalogException, duckdb.BinderException, duckdb.PermissionException)
"""Complaints about files and names. Others may quote a row, and an error is seen by more than the operator."""

DISK_FULL = ("No space left on device", "Disk quota exceeded", "failed to offload data block")
"""How the system and the engine say that a disk is full."""


@contextmanager
def translate_errors(path: str, files: Callable[[], list[str]] = list, scratch: Path | None = None) -> Iterator[None]:
    """Turn errors of the engine or the system about an unreadable file into ours.

    files: those that `path` stands for; they are looked at, after a failure, for the one to name.
    scratch: where the engine puts what does not fit into memory, if not into the system's temporary folder.
    """
    try:
        yield
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        if any(words in str(error) for words in DISK_FULL):
            folder = scratch or tempfile.gettempdir()
            msg = f"{folder}: no space left for what does not fit into memory; give another --scratch"
            raise GridveilError(msg, code="scratch-full") from error
        if isinstance(error, duckdb.OutOfMemoryException):
            msg = f"{path}: the engine needs more memory for it; give a larger --memory, or, without one, a --scratch"
            raise GridveilError(msg, code="memory-too-small") from error
        tells_rows = isinstance(error, duckdb.Error) and not isinstance(error, ERRORS_WITHOUT_ROWS)
        reason = f"{type(error).__name__}; its words may hold rows" if tells_rows else str(error).partition("\n")[0]
        name = find_damaged(files()) or path
        msg = f"{name}: cannot be read ({reason}). Check that it is complete, of its type, and that you may read it."
        if scratch:
            msg += f" If it is, what was kept in {scratch} may be damaged: take {SCRATCH} away from there."
        # A traceback would show all words: rows, or a query, in which are ids that slices of a file begin with.
        raise InputError(msg, code="table-unreadable") from None if isinstance(error, duckdb.Error) else error
    except RuntimeError as error:
        if "interrupted" in str(error).lower():  # what the engine makes of Ctrl-C
            raise KeyboardInterrupt from error
        raise


def find_damaged(files: list[str]) -> str | None:
    """Return the first file that cannot be read: by its beginning or end if that tells, else by all of it."""
    if len(files) == 1:
        return files[0]
    for look in (_check_ends, _check_contents):
        for file in files:
            try:
                look(file)
            except (OSError, pa.ArrowException):
                return file
    return None


def _check_ends(file: str) -> None:
    kind = kind_of(file)
    if kind == "parquet":
        pq.read_metadata(file)
    elif kind == "csv":
        read_first_line(file)


def _check_contents(file: str) -> None:
    kind = kind_of(file)
    if kind == "parquet":
        with pq.ParquetFile(file) as opened:
            for _ in opened.iter_batches():
                pass
    elif kind == "csv":
        for _ in pa.RecordBatchReader.from_stream(LineStream((file,))):
            pass


@dataclass(frozen=True)
class FilePart:
    """Some files, or a slice of their households: `where` is the condition of its rows."""

    files: list[str]
    where: str | None = None


@dataclass(frozen=True)
class Files:
    """The parts of a table; `bind` gives files, or a slice of them, the name that queries have for the table."""

    parts: list[FilePart]
    bind: Callable[[list[str], str | None], None]

    def show(self, parts: list[int]) -> None:
        """Let the table have the rows of these parts: of several, those of whole files."""
        some = [self.parts[part] for part in parts]
        where = some[0].where if len(some) == 1 else None
        self.bind(list(dict.fromkeys(file for part in some for file in part.files)), where)


def open_table(
    con: Backend,
    role: str,
    at: ReadingsTable | HouseholdsTable,
    window: Window | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> tuple[OpenedTable, Files]:
    """Return the publisher's table, without reading its rows. `role` is what the engine calls it."""
    with translate_errors(at.path):
        files = list_files(at, window)
    with translate_errors(at.path, lambda: files):
        kinds = {kind_of(file) for file in files}
        if kinds == {"duckdb"}:
            return OpenedTable(_open_database(con, role, files, at.table)), Files([FilePart(files)], lambda *_: None)
        if kinds == {"parquet"}:
            types = read_types(files)
            bind_parquet(con, role, files, types)
            table = _convert_types(make_table(con, role, types))
            parts = [
                [FilePart(group)] if has_milliseconds(types) else _slice_files(con, group, at, table, limits)
                for group in _group_files(files, limits)
            ]
            return _open_files(table, parts, lambda some, where: bind_parquet(con, role, some, types, where))
        if kinds == {"csv"}:
            columns = read_columns(files, at.delimiter)
            bind_csv(con, role, files, columns, at.delimiter)
            parts = [[FilePart(group)] for group in _group_files(files, limits)]
            return _open_files(con.table(role), parts, lambda some, _: bind_csv(con, role, some, columns, at.delimiter))
    msg = f"{at.path}: not of a kind that gridveil reads; give .parquet, .csv, .csv.gz or .duckdb, all of one kind"
    raise InputError(msg, code="table-kind")


def _open_files(
    table: ibis.Table, parts: list[list[FilePart]], bind: Callable[[list[str], str | None], None]
) -> tuple[OpenedTable, Files]:
    """Return a table of files that are read group by group, each as a whole or in slices."""
    flat = [(group, part) for group, slices in enumerate(parts) for part in slices]
    keys = tuple(json.dumps([_identify_files(part.files), part.where]) for _, part in flat)
    rows = count_rows(sorted({file for _, part in flat for file in part.files})) if len(flat) > len(parts) else None
    return OpenedTable(table, keys, tuple(group for group, _ in flat), rows), Files([part for _, part in flat], bind)


def _slice_files(
    con: Backend, files: list[str], at: ReadingsTable | HouseholdsTable, table: ibis.Table, limits: Limits
) -> list[FilePart]:
    """Return files in slices, if they are large enough."""
    kind = table.schema().get(at.household)
    if isinstance(at, HouseholdsTable) or kind is None or not (kind.is_string() or kind.is_signed_integer()):
        return [FilePart(files)]
    [[threads]] = con.raw_sql("SELECT current_setting('threads')").fetchall()
    slices = plan_slices(files, at.household, str if kind.is_string() else int, limits.slice_rows * threads)
    return [FilePart(files, where) for where in slices]


def _group_files(files: list[str], limits: Limits) -> list[list[str]]:
    """Return files one after the other in groups, each of `part_bytes` or a little more, or all that is left."""
    groups: list[list[str]] = [[]]
    size = 0
    for file in files:
        if size >= limits.part_bytes:
            groups.append([])
            size = 0
        groups[-1].append(file)
        size += Path(file).stat().st_size
    return groups


def _identify_files(files: list[str]) -> str:
    """Return what tells whether files are still the same: a change gives another size or another time.

    The second time is the system's own, of the last change of any kind: it shows what was given its old time back.
    """
    facts = [(str(Path(file).absolute()), Path(file).stat()) for file in files]
    return json.dumps([(file, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino) for file, stat in facts])


def _open_database(con: Backend, name: str, files: list[str], table: str | None) -> ibis.Table:
    path, *more = files
    if more:
        msg = f"{path}, {more[0]}: several databases; give one"
        raise InputError(msg, code="several-databases")
    con.raw_sql("SET disabled_optimizers = 'statistics_propagation'")  # a view may read Parquet: see `bind_parquet`
    database = f"{name}_database"
    con.attach(path, name=database, read_only=True)
    listed = con.con.execute(
        "SELECT table_name FROM information_schema.tables WHERE table_catalog = ? AND table_schema = 'main'", [database]
    ).fetchall()
    tables = sorted(name for (name,) in listed)
    if table not in tables:
        msg = f"{path}: which table? It has {', '.join(tables) or 'none'}; name one in the spec or as {path}::TABLE"
        raise InputError(msg, code="table-not-named")
    return _remove_collations(_convert_types(con.table(table, database=(database, "main"))))


def _convert_types(table: ibis.Table) -> ibis.Table:
    """Make microseconds of nanoseconds with a zone, a type that ibis does not know."""
    unknown = [column for column, kind in table.schema().items() if kind.is_unknown()]
    moments = [column for column in unknown if str(table[column].type().raw_type) == "TIMESTAMPTZ_NS"]
    return table.mutate(**{column: table[column].try_cast("timestamp('UTC')") for column in moments})


def _remove_collations(table: ibis.Table) -> ibis.Table:
    """Take collations off text: under NOCASE, `h1` and `H1` would be joined, and one household sit in two cells."""
    import ibis

    @ibis.udf.scalar.builtin(signature=(("string",), "binary"))  # type: ignore[untyped-decorator]  # ibis has no types
    def encode(text: object) -> object: ...  # the engine's own function

    @ibis.udf.scalar.builtin(signature=(("binary",), "string"))  # type: ignore[untyped-decorator]  # ibis has no types
    def decode(data: object) -> object: ...  # the engine's own function

    texts = [column for column, kind in table.schema().items() if kind.is_string()]
    return table.mutate(**{column: decode(encode(table[column])) for column in texts})
