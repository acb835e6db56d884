"""PostgreSQL, where the readings are: tables, views, partitions, or TimescaleDB's hypertables, which are tables."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar

from gridveil.model.errors import InputError
from gridveil.model.files import Address
from gridveil.trusted.engines.base.engine import EngineSettings, OpenedTable, WarehouseEngine, declare_function
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable
from gridveil.trusted.engines.postgres.session import PostgresSession, RefusedError
from gridveil.trusted.engines.postgres.sql import make_view

if TYPE_CHECKING:
    import ibis
    import ibis.expr.datatypes as dt
    import ibis.expr.types as ir
    import pyarrow as pa

    from gridveil.model.window import Window

READS_TEXT = 160_000
"""Version of the server from which on it can tell whether text is a number or a moment."""

BATCH = 100_000
"""Rows of an answer that are held at once."""

DAY = 86_400
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LAST_DAY = 106_751_991
"""Since 1970: later ones are no timestamps on other engines, and so not here."""
DAYS_BEFORE_2000 = 730_485
"""From the first day of the year 0, which PostgreSQL does not read, to that of 2000; the two years are alike."""


class PostgresEngine(WarehouseEngine):
    """One session with the server: see `PostgresSession` for what is never written.

    The role needs SELECT on the two tables (or on the columns that are named), and TEMPORARY on the database.
    """

    takes: ClassVar[tuple[str, ...]] = ("database", "memory")
    needs: ClassVar[dict[str, str]] = {"database": "postgresql://..."}
    reads_files: ClassVar[bool] = False

    def __init__(self, settings: EngineSettings) -> None:
        self._session = PostgresSession(Address.of(settings.database or "", "the engine postgres"), settings.memory)
        self.close = weakref.finalize(self, self._session.connection.close)
        from gridveil.trusted.engines.postgres.sql import Writer

        self._writer = Writer()
        self._numbers = itertools.count()

    def open(self, role: str, at: ReadingsTable | HouseholdsTable, window: Window | None = None) -> OpenedTable:
        """Return the table that `at` names, as one would name it to psql."""
        name = f"{role}_{next(self._numbers)}"
        make, columns = make_view(self._session, name, at, window)
        self._session.run(make)
        return OpenedTable(self._writer.table_of_session(name, columns))

    def keep(self, name: str, table: ibis.Table, key: str | None = None) -> ibis.Table:
        """Compute a table once, into a temporary table; nothing outlasts the session."""
        from psycopg import sql

        del key
        name, columns = f"{name}_{next(self._numbers)}", dict(table.schema().items())
        place = sql.Identifier("pg_temp", name)
        make = sql.SQL(", ").join(
            sql.Identifier(column) + sql.SQL(_column_type(kind)) for column, kind in columns.items()
        )
        self._session.run(sql.SQL("CREATE TEMPORARY TABLE {} ({})").format(place, make))
        with self._session.reading():
            into = f"INSERT INTO {place.as_string()} {self._writer.compile_query(table)}"
            self._session.run(into.encode())
        self._session.run(sql.SQL("ANALYZE {}").format(place))
        return self._writer.table_of_session(name, columns)

    def check_unchanged(self) -> None:
        """Do nothing: all is read as of one moment."""

    def fetch_batches(self, table: ibis.Table) -> Iterator[pa.RecordBatch]:
        """Compute an answer, and give it out in pieces."""
        import pyarrow as pa

        schema = table.schema().to_pyarrow()
        for rows in self._session.rows(self._writer.compile_query(table).encode(), BATCH):
            columns = zip(*rows, strict=True)
            yield pa.record_batch(
                [pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)], schema=schema
            )

    @contextmanager
    def translate_errors(self, path: str) -> Iterator[None]:
        """Turn what the server refuses into our words."""
        try:
            yield
        except RefusedError as error:
            msg = f"{path}: cannot be read ({error})"
            raise InputError(msg, code="table-unreadable") from None

    def parse_double(self, text: ir.StringColumn) -> ir.FloatingColumn:
        """Return doubles from text. What is too small is zero, as on other engines; PostgreSQL would refuse it."""
        import ibis

        valid = self._valid()
        nothing = text.re_search("^ *[+-]?0*[.]|[eE]-")  # beyond numeric, too, where it is the digits that tell
        small = valid(text, "numeric").ifelse(text, None).cast("decimal").abs() < 1
        return ibis.cases(
            (valid(text, "double precision"), text.cast("float64")),
            (ibis.coalesce(small, nothing), ibis.literal(0.0)),
        )

    def parse_timestamp(self, text: ir.StringColumn, *, zoned: bool) -> ir.TimestampColumn:
        """Return moments from text, by its clock and then its offset; PostgreSQL would round up a long fraction.

        It would also read the 60th second, refuse the year 0, and refuse offsets of 16 hours and more.
        """
        import ibis

        part = declare_function("substring", "string", "string", returns="string")
        replaced = declare_function("regexp_replace", "string", "string", "string", returns="string")
        epoch = declare_function("date_part", "string", "timestamp", returns="float64")
        shown = part(text, "[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9:]{5,8})?")
        clock = replaced(shown, "^0000", "2000")
        beyond = shown.re_search(":60$") | (shown.re_search("[T ]24:") & text.re_search("[.][0-9]{0,5}[1-9]"))
        exists = self._valid()(clock, "timestamp") & ~beyond
        seconds = epoch("epoch", exists.ifelse(clock, None).cast("timestamp"))
        seconds -= shown.re_search("^0000").ifelse(float(DAYS_BEFORE_2000 * DAY), 0.0)
        if zoned:
            offset = part(text, ":[0-9.]+([+-][0-9:]+)")
            hours, minutes = part(offset, "^.([0-9]{2})").cast("int32"), part(offset, "([0-9]{2})$").cast("int32")
            minutes = offset.re_search("^.[0-9]{2}$").ifelse(0, minutes)
            ahead = (hours * 3600 + minutes * 60) * offset.re_search("^-").ifelse(-1, 1)
            seconds -= ibis.coalesce(ahead, 0).cast("float64")
        return declare_function("to_timestamp", "float64", returns="timestamp('UTC')")(seconds)

    def to_seconds(self, moment: ir.TimestampColumn | ir.DateColumn, origin: datetime) -> ir.IntegerColumn:
        """Return whole seconds since `origin`: days are counted as whole numbers, as many are no timestamps."""
        import ibis

        start, kind = int((origin - EPOCH).total_seconds()), str(moment.type().copy(nullable=True))
        ends = [ibis.literal(end).cast(kind) for end in ("infinity", "-infinity")]
        finite = moment.nullif(ends[0]).nullif(ends[1])  # which reads it once
        if moment.type().is_date():
            days = declare_function("date_mi", "date", "date", returns="int32")(finite, ibis.date("1970-01-01"))
            return (days <= LAST_DAY).ifelse(days, None).cast("int64") * DAY - start
        whole = declare_function("date_trunc", "string", kind, returns=kind)("second", finite)
        return declare_function("date_part", "string", kind, returns="float64")("epoch", whole).cast("int64") - start

    def count_bits(self, bits: ir.IntegerColumn) -> ir.IntegerColumn:
        """Return how many bits are set."""
        counted = declare_function("bit_count", "binary", returns="int64")
        return counted(declare_function("int8send", "int64", returns="binary")(bits))

    def _valid(self) -> ibis.Value:
        """Return the function that tells whether text is of a type."""
        if self._session.version < READS_TEXT:
            msg = (
                "a column of numbers or moments is text, which servers before PostgreSQL 16 cannot be asked to read "
                "without failing on a row: name a view that has it as double precision or timestamp"
            )
            raise RefusedError(msg)
        return declare_function("pg_input_is_valid", "string", "string", returns="boolean")


def _column_type(kind: dt.DataType) -> str:
    """Return the type of a column that is kept."""
    if kind.is_string():
        return ' text COLLATE "C"'
    return " int8" if kind.is_integer() else " bool" if kind.is_boolean() else " float8"
