"""DuckDB in this process, the default: files of Parquet or CSV, or a DuckDB database."""

from __future__ import annotations

import shutil
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from gridveil.model.files import sync
from gridveil.trusted.engines.base.engine import EngineSettings, OpenedTable
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable, list_files
from gridveil.trusted.engines.base.scratch import Scratch, Temporary
from gridveil.trusted.engines.duckdb.parquet_table import is_complete, sql_list
from gridveil.trusted.engines.duckdb.tables import Files, open_table, translate_errors

if TYPE_CHECKING:
    import ibis
    import ibis.expr.operations as ops
    import ibis.expr.types as ir
    import pyarrow as pa

    from gridveil.model.window import Window

BATCH = 2**20
"""Rows of an answer that are held at once."""


class DuckDBEngine:
    """A fresh in-memory engine; what does not fit into memory goes to a private folder that is removed after."""

    takes: ClassVar[tuple[str, ...]] = ("memory", "scratch")
    needs: ClassVar[dict[str, str]] = {}
    reads_files: ClassVar[bool] = True
    has_catalogue: ClassVar[bool] = False

    def __init__(self, settings: EngineSettings) -> None:
        import ibis

        self._scratch = Scratch(settings.scratch) if settings.scratch else None
        self._folder, end = self._make_private_folder()
        self._at, self._limits = settings.scratch, settings.limits
        self._files: dict[str, Path] = {}
        self._opened: dict[str, tuple[ReadingsTable | HouseholdsTable, Window | None]] = {}
        self._parts: dict[str, Files] = {}
        self._queries: dict[ops.Node, str] = {}
        self.con = ibis.duckdb.connect()
        self._end = weakref.finalize(self.con, end)
        self.con.con.execute("SET temp_directory = ?", [str(self._folder / "spill")]).fetchall()
        self.con.raw_sql("SET TimeZone = 'UTC'")
        self.con.raw_sql("SET enable_progress_bar = false")
        self.con.raw_sql("SET preserve_insertion_order = false")
        if settings.memory is not None:
            self.con.raw_sql(f"SET memory_limit = '{settings.memory}B'")

    def open(self, role: str, at: ReadingsTable | HouseholdsTable, window: Window | None = None) -> OpenedTable:
        """Return the publisher's table: a few small files are one part, a large one is one or several by itself."""
        self._opened[at.path] = at, window
        opened, self._parts[role] = open_table(self.con, role, at, window, self._limits)
        return opened

    def select_parts(self, role: str, parts: list[int]) -> None:
        """Let the table that queries name have the rows of these parts."""
        self._parts[role].show(parts)

    def keep(self, name: str, table: ibis.Table, key: str | None = None) -> ibis.Table:
        """Compute a table once: in memory, or, with a `key`, in a file, of the scratch folder if there is one."""
        import ibis

        if key is None:
            self.con.raw_sql(f"CREATE TABLE {name} AS {self._compile_once(table)}").fetchall()
            return ibis.table(table.schema(), name)
        file = self._scratch.file(key) if self._scratch else self._folder / f"{key}.parquet"
        if not is_complete(file):
            if self._scratch:
                self._scratch.forget_counts(key)
            aside = self._folder / file.name
            self.con.raw_sql(f"COPY ({self._compile_once(table)}) TO '{_quote(aside)}' (FORMAT parquet)").fetchall()
            if self._scratch:
                aside.chmod(0o600)
                sync(aside)
                aside.rename(file)
                sync(file.parent)
        self._files[name] = file
        self._name_files([file], name)
        return ibis.table(table.schema(), name)

    def has(self, key: str) -> bool:
        """Whether the scratch folder has the result of an interrupted run."""
        return self._scratch is not None and is_complete(self._scratch.file(key))

    def union(self, name: str, tables: list[ibis.Table]) -> ibis.Table:
        """Return the rows of tables that were kept, as one."""
        import ibis

        names = [table.get_name() for table in tables]
        if all(name in self._files for name in names):
            self._name_files([self._files[name] for name in names], name)
        else:
            rows = " UNION ALL ".join(f"SELECT * FROM {name}" for name in names)  # noqa: S608  # names of ours
            self.con.raw_sql(f"CREATE VIEW {name} AS {rows}").fetchall()
        return ibis.table(tables[0].schema(), name)

    def fetch_batches(self, table: ibis.Table) -> Iterator[pa.RecordBatch]:
        """Compute an answer, and give it out in pieces."""
        # Computed before it is given out: errors that come through Arrow look like those of the system.
        computed = self.con.con.sql(self._compile(table)).materialize()
        yield from computed.to_arrow_reader(BATCH)

    def translate_errors(self, path: str) -> AbstractContextManager[None]:
        """Turn what the engine says of unreadable tables into ours."""
        return translate_errors(path, lambda: self._list_opened_files(path), self._at)

    def close(self) -> None:
        """Let go of the engine, and of what did not fit into memory."""
        if self._end.alive:
            self.con.disconnect()
            self._end()

    def check_unchanged(self) -> None:
        """Do nothing: what is kept is a table or a file, and is never computed again."""

    def forget(self) -> None:
        """Take away what was kept in the scratch folder."""
        if self._scratch:
            self._scratch.clear()

    def to_double(self, column: ir.NumericColumn) -> ir.FloatingColumn:
        """Return numbers as doubles: all that DuckDB has fit."""
        return column.cast("float64")

    def parse_double(self, text: ir.StringColumn) -> ir.FloatingColumn:
        """Return doubles from text."""
        return text.try_cast("float64")

    def parse_timestamp(self, text: ir.StringColumn, *, zoned: bool) -> ir.TimestampColumn:
        """Return moments from text."""
        return text.try_cast("timestamp('UTC')" if zoned else "timestamp")

    def to_seconds(self, moment: ir.TimestampColumn | ir.DateColumn, origin: datetime) -> ir.IntegerColumn:
        """Return whole seconds since `origin`; the engine's own zone is UTC."""
        import ibis

        since = ibis.timestamp(origin.replace(tzinfo=None).isoformat(sep=" "))
        return moment.try_cast("timestamp").delta(since, unit="second")

    def count_bits(self, bits: ir.IntegerColumn) -> ir.IntegerColumn:
        """Return how many bits are set."""
        import ibis

        @ibis.udf.scalar.builtin(signature=(("int64",), "int64"))  # type: ignore[untyped-decorator]  # ibis has no types
        def bit_count(bits: object) -> object: ...  # the engine's own function

        return bit_count(bits)

    def to_plain_text(self, text: ir.StringColumn) -> ir.StringColumn:
        """Return text as it is: `open` has taken collations off, which only databases have."""
        return text

    def _make_private_folder(self) -> tuple[Path, Callable[[], None]]:
        """Return a folder for what does not outlast the engine, and how it is taken away."""
        if self._scratch is None:
            temporary = Temporary()
            return temporary.folder, temporary.close
        folder = self._scratch.make_folder()
        return folder, partial(_remove_folder, folder, self._scratch)

    def _list_opened_files(self, path: str) -> list[str]:
        """Return the files of a table that was opened."""
        return list_files(*self._opened[path]) if path in self._opened else []

    def _name_files(self, files: list[Path], name: str) -> None:
        """Name what was kept in files. A folder named step=1 must not replace what they say."""
        rows = f"SELECT * FROM read_parquet({sql_list(files)}, hive_partitioning = false)"  # noqa: S608  # quoted
        self.con.raw_sql(f"CREATE TEMPORARY VIEW {name} AS {rows}").fetchall()

    def _compile_once(self, table: ibis.Table) -> str:
        """Return the query of what is kept, written once for all parts: that takes as long as reading a small one."""
        if table.op() not in self._queries:
            self._queries[table.op()] = self._compile(table)
        return self._queries[table.op()]

    def _compile(self, table: ibis.Table) -> str:
        """Write a query, with the types that ibis says: sums come out wider, and a file has those as doubles."""
        whole = [name for name, kind in table.schema().items() if kind.is_int64()]
        typed = ", ".join(f'CAST("{name}" AS BIGINT) AS "{name}"' for name in whole)
        replaced = f"REPLACE ({typed})" if whole else ""
        return f"SELECT * {replaced} FROM ({self.con.compile(table)})"  # noqa: S608  # names of ours


def _remove_folder(folder: Path, scratch: Scratch) -> None:
    """Take away what does not outlast the engine."""
    shutil.rmtree(folder, ignore_errors=True)
    scratch.close()


def _quote(path: Path) -> str:
    return str(path).replace("'", "''")
