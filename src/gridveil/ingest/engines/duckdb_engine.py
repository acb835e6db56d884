"""DuckDB in this process, the default: files of Parquet or CSV, or a DuckDB database."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING

from gridveil.ingest.engines.engine import Part
from gridveil.ingest.engines.settings import EngineSettings
from gridveil.ingest.schema import HouseholdsTable, ReadingsTable
from gridveil.ingest.tables import open_table, reading

if TYPE_CHECKING:
    import ibis
    import ibis.expr.types as ir
    import pyarrow as pa

    from gridveil.cube import Window

BATCH = 2**20
"""Rows of an answer that are held at once."""


class DuckDBEngine:
    """A fresh in-memory engine; what does not fit into memory goes to a private folder that is removed after."""

    def __init__(self, settings: EngineSettings) -> None:
        import ibis

        self.con = ibis.duckdb.connect()
        spill = tempfile.mkdtemp(prefix="gridveil-", dir=settings.scratch)
        self._remove = weakref.finalize(self.con, shutil.rmtree, spill, ignore_errors=True)
        self.con.con.execute("SET temp_directory = ?", [spill]).fetchall()
        self.con.raw_sql("SET TimeZone = 'UTC'")
        self.con.raw_sql("SET enable_progress_bar = false")

    def open(self, role: str, at: ReadingsTable | HouseholdsTable, window: Window | None = None) -> list[Part]:
        """Return the publisher's table."""
        return [Part(open_table(self.con, role, at, window))]

    def keep(self, name: str, table: ibis.Table, key: str | None = None) -> ibis.Table:
        """Compute a table once."""
        del key
        return self.con.create_table(name, table)

    def batches(self, table: ibis.Table) -> Iterator[pa.RecordBatch]:
        """Compute an answer, and give it out in pieces."""
        schema = table.schema().to_pyarrow()
        # Computed before it is given out: complaints that come through Arrow look like those of the system.
        computed = self.con.con.sql(self.con.compile(table)).materialize()
        for batch in computed.to_arrow_reader(BATCH):
            yield batch.cast(schema)  # sums come out wider than ibis says

    def complaints(self, path: str) -> AbstractContextManager[None]:
        """Turn what the engine says of unreadable tables into ours."""
        return reading(path)

    def close(self) -> None:
        """Let go of the engine, and of what did not fit into memory."""
        self.con.disconnect()
        self._remove()

    def double(self, column: ir.NumericColumn) -> ir.FloatingColumn:
        """Return numbers as doubles: all that DuckDB has fit."""
        return column.cast("float64")

    def double_of_text(self, text: ir.StringColumn) -> ir.FloatingColumn:
        """Return doubles from text."""
        return text.try_cast("float64")

    def moment_of_text(self, text: ir.StringColumn, *, zoned: bool) -> ir.TimestampColumn:
        """Return moments from text."""
        return text.try_cast("timestamp('UTC')" if zoned else "timestamp")

    def seconds(self, moment: ir.TimestampColumn | ir.DateColumn, origin: datetime) -> ir.IntegerColumn:
        """Return whole seconds since `origin`; the engine's own zone is UTC."""
        import ibis

        since = ibis.timestamp(origin.replace(tzinfo=None).isoformat(sep=" "))
        return moment.try_cast("timestamp").delta(since, unit="second")

    def bit_count(self, bits: ir.IntegerColumn) -> ir.IntegerColumn:
        """Return how many bits are set."""
        import ibis

        @ibis.udf.scalar.builtin(signature=(("int64",), "int64"))  # type: ignore[untyped-decorator]  # ibis has no types
        def bit_count(bits: object) -> object: ...  # the engine's own function

        return bit_count(bits)

    def plain_text(self, text: ir.StringColumn) -> ir.StringColumn:
        """Return text as it is: `open` has taken collations off, which only databases have."""
        return text
