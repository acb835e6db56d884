"""Open a table of the publisher's: Parquet, CSV or DuckDB. Faults of a whole table stop here, with a clear error."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from gridveil.errors import InputError

if TYPE_CHECKING:
    import ibis
    from ibis.backends.duckdb import Backend

LONGEST_LINE = 2_000_000


@contextmanager
def reading(path: str) -> Iterator[None]:
    """Turn the engine's complaints about an unreadable file into ours."""
    try:
        yield
    except duckdb.Error as error:
        msg = f"{path}: cannot be read ({str(error).splitlines()[0]}). Check that the file is complete and of its type."
        raise InputError(msg) from error


def open_table(con: Backend, path: str, table: str | None, delimiter: str) -> ibis.Table:
    """Return the table at `path`, without reading its rows."""
    files = sorted(glob.glob(path)) if not Path(path).exists() else [path]  # noqa: PTH207  # patterns with folders
    if not files:
        msg = f"{path}: there is no such file"
        raise InputError(msg)
    kind = "".join(Path(files[0]).suffixes[-2:]).lower()
    with reading(path):
        if kind.endswith((".parquet", ".pq")):
            return con.read_parquet(files)
        if kind.endswith((".csv", ".csv.gz", ".csv.zst")):
            return _open_csv(con, files, delimiter)
        if kind.endswith((".duckdb", ".db")):
            return _open_database(con, files[0], table)
    msg = f"{path}: not a kind of file that gridveil reads; give .parquet, .csv or .duckdb"
    raise InputError(msg)


def _open_csv(con: Backend, files: list[str], delimiter: str) -> ibis.Table:
    """Read every line by itself and every field as text: no line can change how another one is understood.

    Nothing is guessed from the data (types, quoting, delimiter). A line that is too long or not UTF-8 is left out, a
    short one is filled up with nulls; blanks and quotation marks around a field are taken off.
    """
    names = [name.strip().strip('"').strip() for name in _first_line(files[0]).split(delimiter)]
    if not all(names) or len(set(names)) < len(names):
        msg = f"{files[0]}: the first line must name the columns, each once; it reads {','.join(names)!r}"
        raise InputError(msg)
    relation = con.con.read_csv(
        files,
        columns=dict.fromkeys(names, "VARCHAR"),
        header=True,
        delimiter=delimiter,
        quotechar="",
        escapechar="",
        strict_mode=False,
        null_padding=True,
        ignore_errors=True,
    )
    name = f"csv_{len(con.list_tables())}"
    relation.create_view(name)
    table = con.table(name)
    return table.mutate({column: table[column].strip().re_replace('^"(.*)"$', r"\1") for column in names})


def _first_line(path: str) -> str:
    """Return the header of a CSV file, which may be compressed as its name says."""
    with pa.input_stream(path, compression="detect") as file:
        start: bytes = file.read(LONGEST_LINE)
    return start.decode("utf-8-sig", errors="replace").split("\n", 1)[0]


def _open_database(con: Backend, path: str, table: str | None) -> ibis.Table:
    alias = f"database_{len(con.list_catalogs())}"
    con.attach(path, name=alias, read_only=True)
    tables = con.list_tables(database=(alias, "main"))
    if table is None or table not in tables:
        msg = f"{path}: which table? It has {', '.join(tables) or 'none'}; name one in the spec or as {path}::TABLE"
        raise InputError(msg)
    return con.table(table, database=(alias, "main"))


def require_columns(table: ibis.Table, path: str, names: dict[str, str]) -> None:
    """Refuse a table that lacks a column, saying which it has."""
    missing = [f"{name} (the {role})" for role, name in names.items() if name not in table.columns]
    if missing:
        msg = (
            f"{path}: no column {', '.join(missing)}. It has: {', '.join(table.columns)}. "
            "Say in the spec which column is which."
        )
        raise InputError(msg)
