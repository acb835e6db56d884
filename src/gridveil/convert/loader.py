"""The interface of a loader: it recognises a layout, and turns lines and local days into readings through DuckDB."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, ClassVar
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

if TYPE_CHECKING:
    import duckdb


# The days of a local clock: which UTC instants its slots are.

SECOND = 10**6
UTC_TIME = pa.timestamp("us", "UTC")


def instants(zone: ZoneInfo, day: date, step: timedelta) -> NDArray[np.int64]:
    """Return the starts of all intervals of a local day in order, microseconds of UTC: 46, 48 or 50 half-hours.

    >>> len(instants(ZoneInfo("Europe/Dublin"), date(2009, 10, 25), timedelta(minutes=30)))
    50
    """
    first, after = (
        int(datetime(at.year, at.month, at.day, tzinfo=zone).timestamp()) for at in (day, day + timedelta(days=1))
    )
    return np.arange(first, after, int(step.total_seconds()), dtype=np.int64) * SECOND


def days(first: date, last: date) -> Iterator[date]:
    """Return the days from first to last."""
    for number in range((last - first).days + 1):
        yield first + timedelta(days=number)


def slots(zone: ZoneInfo, first: date, last: date, step: timedelta) -> pa.Table:
    """Return `day`, `slot` (from 1, by what the clock shows), `start` (UTC) and `times` (how often that slot occurs).

    A slot that the clock skips has no row, one that it shows twice has two.
    """
    parts = []
    for day in days(first, last):
        starts = instants(zone, day, step)
        shown = np.arange(len(starts))
        if len(starts) != timedelta(days=1) // step:  # the clock changes
            clock = [datetime.fromtimestamp(start // SECOND, UTC).astimezone(zone) for start in starts.tolist()]
            shown = np.array([timedelta(hours=time.hour, minutes=time.minute) // step for time in clock])
        times = np.bincount(shown)[shown]
        parts.append((np.full(len(starts), day, dtype="datetime64[D]"), shown + 1, starts, times))
    day_of, slot, start, times = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    return pa.table({"day": day_of, "slot": slot, "start": pa.array(start).cast(UTC_TIME), "times": times})


# The interface: a loader recognises a layout by the top of a file, and turns lines into readings.

SCHEMA = pa.schema([("household", pa.string()), ("timestamp", UTC_TIME), ("kwh", pa.float64())])
"""`timestamp` is the start of the meter interval."""
SLICES = 4
"""A block of lines is handed to the engine in so many parts, so that several cores can work on it."""
MACROS = r"""
    CREATE MACRO finite(value) AS CASE WHEN isfinite(value) THEN value END;
    CREATE MACRO number(field) AS finite(CASE WHEN regexp_full_match(field, '[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?')
                                              THEN TRY_CAST(field AS DOUBLE) END);
    CREATE MACRO identifier(field) AS CASE WHEN regexp_full_match(field, '[A-Za-z0-9_-]{1,64}') THEN field END
"""  # noqa: E501  # a pattern in one piece
UNREADABLE = "line too long, not UTF-8, or with another number of fields"


class WrongLayoutError(Exception):
    """The top of a file is not of the format; `line` is the number of the first line that shows it, from 1."""

    def __init__(self, line: int) -> None:
        self.line = line
        super().__init__(f"line {line}")


class Loader:
    """One format. A subclass states `expected` and `faults` and writes `layout` and `query`; a wide format, more.

    expected: what a file must look like, for the message about one that does not.
    faults: what can be wrong with a line, in the order of the query's `fault`.
    """

    expected: ClassVar[str]
    faults: ClassVar[tuple[str, ...]] = ()
    attributes: ClassVar[tuple[str, ...]] = ()

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.con = con
        self.lines = 0
        self.written = 0
        self.left_out: Counter[tuple[str, str]] = Counter()
        self.kept: Counter[tuple[str, str]] = Counter()
        self.seen = pa.table({name: pa.array([], pa.string()) for name in ("household", *self.attributes)})
        con.execute(MACROS)

    def layout(self, top: list[str]) -> int:
        """Return how many lines come before the data; raise `WrongLayoutError` if the file is of another format.

        Called for every file before any is read, and again just before that file is read.
        """
        raise NotImplementedError

    def query(self) -> str:
        """Return SQL over `lines(line, number)` that gives household, timestamp, kwh and fault (null: none)."""
        raise NotImplementedError

    def read(self, lines: pa.RecordBatch) -> Iterator[pa.Table]:
        """Return the readings of some lines, as tables of SCHEMA."""
        found = self.ask(lines)
        self.remember(found)
        yield self.without_faults(found).select(SCHEMA.names).cast(SCHEMA)

    def end_of_file(self) -> Iterator[pa.Table]:
        """Return readings that could not be told before the file's last line."""
        yield from ()

    def ask(self, lines: pa.RecordBatch) -> pa.Table:
        """Count the lines, and return what the query makes of them."""
        self.lines += lines.num_rows
        rows = max(1, -(-lines.num_rows // SLICES))
        numbered = pa.table({"line": lines["line"], "number": np.arange(lines.num_rows)})
        self.con.register("lines", pa.Table.from_batches(numbered.to_batches(max_chunksize=rows), numbered.schema))
        return self.con.sql(self.query()).to_arrow_table()

    def without_faults(self, found: pa.Table, unit: str = "lines", faults: tuple[str, ...] = ()) -> pa.Table:
        """Count what has a fault, and return the rest."""
        fault = found["fault"]
        if fault.null_count == len(found):
            return found
        texts = faults or self.faults
        counts = np.bincount(pc.drop_null(fault).to_numpy(), minlength=len(texts))
        self.leave_out(unit, dict(zip(texts, counts.tolist(), strict=True)))
        return found.filter(pc.is_null(fault))

    def leave_out(self, unit: str, counts: dict[str, int]) -> None:
        """Count what was left out."""
        self.left_out.update({(unit, what): count for what, count in counts.items() if count})

    def remember(self, found: pa.Table) -> None:
        """Keep what lines say about their household."""
        names = ["household", *self.attributes]
        if self.attributes and set(names) <= set(found.column_names):
            news = found.select(names).group_by(names).aggregate([]).select(names).cast(self.seen.schema)
            says = pc.is_valid(pc.coalesce(*(news[name] for name in self.attributes)))
            news = news.filter(pc.and_(says, pc.is_valid(news["household"])))
            self.seen = pa.concat_tables([self.seen, news]).group_by(names).aggregate([]).select(names)

    def known_attributes(self) -> pa.Table | None:
        """Return one row per household, with null where its lines disagree; None if nothing is known."""
        if not self.seen.num_rows:
            return None
        self.con.register("seen", self.seen)
        single = ", ".join(f"CASE WHEN count(DISTINCT {a}) = 1 THEN min({a}) END AS {a}" for a in self.attributes)
        several = " OR ".join(f"count(DISTINCT {a}) > 1" for a in self.attributes)
        table = self.con.sql(
            f"SELECT household, {single}, {several} AS several FROM seen "  # noqa: S608  # our names
            "GROUP BY household ORDER BY household"
        ).to_arrow_table()
        disagree = pc.sum(table["several"]).as_py()
        self.leave_out("attributes", {"lines of a household disagree: left empty": disagree or 0})
        return table.drop_columns("several")
