"""Spark, on this machine or a cluster: Parquet files wherever Spark finds them, or tables of its catalogue."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar

from gridveil.model.errors import InputError
from gridveil.trusted.engines.base.engine import EngineSettings, OpenedTable, WarehouseEngine, declare_function
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable
from gridveil.trusted.engines.spark.session import apply_settings, make_session, silence_pandas_warning
from gridveil.trusted.engines.spark.tables import open_table, read_states

if TYPE_CHECKING:
    import ibis
    import ibis.expr.types as ir
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from gridveil.model.window import Window

BATCH = 2**20
"""Rows of an answer that are given out at once."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
HOURS, SIXTY = 24, 60
OTHER_THAN_ASCII = "[^ -~]"
RESULT_LOST = "CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND"
"""What Spark calls a kept result that is gone."""


@contextmanager
def _silence_logging() -> Iterator[None]:
    """Silence pyspark, which writes the words of errors to stderr before anybody can catch them."""
    loggers = [logging.getLogger(f"{kind}QueryContextLogger") for kind in ("SQL", "DataFrame")]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled


class SparkEngine(WarehouseEngine):
    """A session of Spark's. What is done to rows is done by Spark's own functions, in Java: no row visits Python."""

    takes: ClassVar[tuple[str, ...]] = ("master", "memory", "scratch")
    needs: ClassVar[dict[str, str]] = {}
    reads_files: ClassVar[bool] = True

    def __init__(self, settings: EngineSettings) -> None:
        self._session = make_session(settings)
        self._numbers = itertools.count()
        self._kept: list[Any] = []
        self._views: list[str] = []
        self._states: dict[str, list[tuple[str, int, int]]] = {}
        self._reading = "Spark"

    def open(self, role: str, at: ReadingsTable | HouseholdsTable, window: Window | None = None) -> OpenedTable:
        """Return the publisher's table, in one part: Spark divides it by itself."""
        import ibis.expr.datatypes as dt

        self._reading = at.table or at.path
        with self.translate_errors(self._reading):
            table, kinds = open_table(self._session, at, window)
            self._states[self._reading] = read_states(self._session, table.inputFiles())
        columns = {name: dt.Unknown() if kind is None else dt.dtype(kind) for name, kind in kinds.items()}
        return OpenedTable(self._register(role, table, columns))

    def keep(self, name: str, table: ibis.Table, key: str | None = None) -> ibis.Table:
        """Compute a table once, now. It stays with the workers, in memory or on their disks; what is lost is an error.

        Bounds rest on this: a household's total and its contributions must be of one reading of the table, and all
        measurements must see the same contributions, because the kernel adds up their losses for one household. Spark's
        `persist` keeps a plan: what a lost worker had, or what another session of this Spark clears, is read again from
        files that may have changed. `localCheckpoint` cuts the lineage, so that there is nothing to read again.

        Inside the one computation, Spark may still repeat a task, and read a changed file. Every table that is kept is
        grouped by its key (household, or number and time), or made of kept tables only. One task puts out all there is
        of a key, whatever was read: a household has one number, one cell, and one contribution in each step.

        `DataFrame.localCheckpoint` would not do: rows take four times the room, and the planner is not told their size.
        """
        from pyspark import StorageLevel
        from pyspark.sql import DataFrame

        del key
        java: Any = self._session._jvm  # noqa: SLF001  # no public way
        relations = getattr(getattr(java.org.apache.spark.sql.execution.columnar, "InMemoryRelation$"), "MODULE$")
        level = self._session.sparkContext._getJavaStorageLevel(StorageLevel.MEMORY_AND_DISK)  # noqa: SLF001
        plan = self._query(table)._jdf.queryExecution()  # noqa: SLF001
        # One of our own, that Spark's list of cached plans does not know: nobody else clears it or computes it anew.
        with apply_settings(self._session):
            relation = relations.apply(level, plan, java.scala.Option.empty())
            rows = relation.cacheBuilder().cachedColumnBuffers()
            rows.localCheckpoint()
            self._kept.append(rows)
            rows.count()
        kept = java.org.apache.spark.sql.classic.Dataset.ofRows(self._session._jsparkSession, relation)  # noqa: SLF001
        return self._register(name, DataFrame(kept, self._session), dict(table.schema().items()))

    def fetch_batches(self, table: ibis.Table) -> Iterator[pa.RecordBatch]:
        """Compute an answer, and give it out in pieces."""
        with self.translate_errors(self._reading), silence_pandas_warning():
            answer = self._query(table).toArrow()
        yield from answer.cast(table.schema().to_pyarrow()).to_batches(BATCH)

    @contextmanager
    def translate_errors(self, path: str) -> Iterator[None]:
        """Turn what Spark says of unreadable tables into ours: the name of the fault, as its words may quote rows."""
        from py4j.protocol import Py4JError, Py4JJavaError
        from pyspark.errors import PySparkException

        try:
            with _silence_logging():
                yield
        except Py4JJavaError as error:
            reason = RESULT_LOST if RESULT_LOST in str(error) else str(error.java_exception.getClass().getName())
        except PySparkException as error:
            reason = RESULT_LOST if RESULT_LOST in str(error) else error.getCondition() or type(error).__name__
        except (Py4JError, OSError) as error:
            reason = type(error).__name__
        else:
            return
        if reason == RESULT_LOST:
            msg = (
                f"{path}: Spark lost a worker, and with it a part of what was kept of this table, which is not read "
                "again because it may have changed. Run again, with workers that stay to the end: no spot or "
                "preemptible machines, and spark.dynamicAllocation.cachedExecutorIdleTimeout left at infinity"
            )
            raise InputError(msg, code="spark-lost-worker")
        msg = (
            f"{path}: cannot be read ({reason}; Spark's own words may hold rows). "
            "Check that it is there, complete, of its type, and that you may read it."
        )
        raise InputError(msg, code="table-unreadable")

    def check_unchanged(self) -> None:
        """Refuse files whose length or time of change is not what it was when they were opened."""
        for path, before in self._states.items():
            with self.translate_errors(path):
                changed = set(read_states(self._session, [file for file, *_ in before])) - set(before)
            if changed:
                msg = f"{min(changed)[0]}: it was changed while it was read. Run again when nobody writes to it"
                raise InputError(msg, code="table-changed")

    def close(self) -> None:
        """Let go of what was kept. Spark itself goes on, for who else uses it, and ends with the process."""
        while self._views:  # a view holds the plan of what was kept, with all that it has broadcast
            self._session.catalog.dropTempView(self._views.pop())
        while self._kept:
            self._kept.pop().unpersist(False)  # noqa: FBT003  # Java's: do not wait

    def parse_double(self, text: ir.StringColumn) -> ir.FloatingColumn:
        """Return doubles from text."""
        return self._drop_line_ends(text).try_cast("float64")

    def parse_timestamp(self, text: ir.StringColumn, *, zoned: bool) -> ir.TimestampColumn:
        """Return moments from text, by its clock and then its offset, in whole seconds.

        Spark would refuse 24:00 and offsets of more than 18 hours.
        """
        import ibis

        part = declare_function("substring", "string", "int32", "int32", returns="string")
        found = declare_function("regexp_extract", "string", "string", "int32", returns="string")

        def whole(text: ir.StringColumn) -> ir.IntegerColumn:
            return ibis.coalesce(text.try_cast("int64"), 0)

        shown = declare_function("trim", "string", returns="string")(self._drop_line_ends(text))
        day = declare_function("unix_date", "date", returns="int32")(part(shown, 1, 10).try_cast("date")).cast("int64")
        hour, minute = whole(part(shown, 12, 2)), whole(part(shown, 15, 2))
        second = whole(found(shown, ":[0-9]{2}:([0-9]{2})", 1))
        midnight = (hour == HOURS) & (minute == 0) & (second == 0) & ~shown.re_search("[.][0-9]{0,5}[1-9]")
        exists = ((hour < HOURS) | midnight) & (minute < SIXTY) & (second < SIXTY)
        since = day * 86_400 + hour * 3600 + minute * 60 + second
        if zoned:
            offset = found(shown, ":[0-9.]+([+-][0-9:]+)$", 1)
            minutes = whole(part(offset, 2, 2)) * 60 + whole(found(offset, "^.[0-9]{2}:?([0-9]{2})$", 1))
            since -= minutes * 60 * offset.startswith("-").ifelse(-1, 1)
        micros = exists.ifelse(since, None) * 1_000_000
        return declare_function("timestamp_micros", "int64", returns="timestamp('UTC')" if zoned else "timestamp")(
            micros
        )

    def to_seconds(self, moment: ir.TimestampColumn | ir.DateColumn, origin: datetime) -> ir.IntegerColumn:
        """Return whole seconds since `origin`; the session's zone is UTC."""
        kind = str(moment.type().copy(nullable=True))
        return declare_function("unix_seconds", kind, returns="int64")(moment) - int((origin - EPOCH).total_seconds())

    def count_bits(self, bits: ir.IntegerColumn) -> ir.IntegerColumn:
        """Return how many bits are set."""
        return declare_function("bit_count", "int64", returns="int32")(bits).cast("int64")

    def _drop_line_ends(self, text: ir.StringColumn) -> ir.StringColumn:
        """Take out text that ends with a newline: patterns of Java's do not see it, and a cast takes it off."""
        return text.re_search(OTHER_THAN_ASCII).ifelse(None, text)

    def _query(self, table: ibis.Table) -> DataFrame:
        from gridveil.trusted.engines.spark.session import compile_query

        return self._session.sql(compile_query(table))

    def _register(self, name: str, table: DataFrame, columns: dict[str, object]) -> ibis.Table:
        """Name a table in the session, so that queries can be written about it."""
        import ibis

        view = f"{name}_{next(self._numbers)}"
        table.createTempView(view)
        self._views.append(view)
        return ibis.table(columns, name=view)
