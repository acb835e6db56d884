"""The interface of an engine, engines by name with their settings, and the base of engines on a server or cluster."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields
from datetime import datetime
from inspect import Parameter, Signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from gridveil.model.errors import UsageError
from gridveil.model.registry import Registry
from gridveil.model.running import DEFAULT_LIMITS, Limits
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable

if TYPE_CHECKING:
    import ibis
    import ibis.expr.types as ir
    import pyarrow as pa

    from gridveil.model.window import Window


# The interface of an engine: open tables, keep results, and read values alike on every engine.

COUNTS_SUFFIX = "-counts"
"""The end of the key of what is counted in a result that is kept."""


@dataclass(frozen=True)
class OpenedTable:
    """The publisher's table, and its parts, each of which can be read by itself: some files, a slice, or the whole.

    It is one table whatever is shown of it (`Engine.select_parts`), so that a query is written once for all parts.
    keys: what each part was made of, so that a result computed from it can be used again after an interruption;
        without one it is computed anew. They hold names and sizes of private files: for the operator's machine only.
    groups: of each part, the number of its files. Parts of the same are slices, and have no household in common.
    rows: how many there are in all, if there are slices: as many must come out of them.
    """

    table: ibis.Table
    keys: tuple[str | None, ...] = (None,)
    groups: tuple[int, ...] = (0,)
    rows: int | None = None


class Engine(Protocol):
    """An engine that ibis writes queries for. Its methods look at no row, but for `keep` and `fetch_batches`.

    Required of an implementation, because the source's promise rests on it: whatever a row holds, no method but
    `translate_errors` makes success or failure of a query depend on it, and a value is read the same on every engine,
    or is null. Equal integers must come out of all engines, whatever the order and partitioning of rows.

    takes: fields of `EngineSettings` that it uses; the others are refused.
    needs: those of them that it cannot do without, each with an example.
    reads_files: whether it reads files of this machine.
    has_catalogue: whether it knows tables by their names alone, or files by addresses that this machine cannot open.
    """

    takes: ClassVar[tuple[str, ...]]
    needs: ClassVar[dict[str, str]]
    reads_files: ClassVar[bool]
    has_catalogue: ClassVar[bool]

    def __init__(self, settings: EngineSettings) -> None:
        """Connect. Only here and later is the engine's own library imported."""

    def open(self, role: str, at: ReadingsTable | HouseholdsTable, window: Window | None = None) -> OpenedTable:
        """Return the publisher's table, all of it; `role` is what the engine calls it. Faults of a whole table raise.

        window: the steps that will be read, for engines that can leave out files or partitions without any of them.
        """

    def select_parts(self, role: str, parts: list[int]) -> None:
        """Let a table that was opened have the rows of these parts, for what is computed from now on.

        Of one part, no others. Of several, it may have all rows of a file that one of them is a slice of.
        """

    def keep(self, name: str, table: ibis.Table, key: str | None = None) -> ibis.Table:
        """Compute a table once, and return it for later questions.

        key: `RUN-PART`. What is kept with it may outlast this process, and is not computed again by the same run. What
            is derived from that has the key with COUNTS_SUFFIX at its end, and is gone when it is itself computed anew:
            bounds rest on both being of one make (see `parts.merge_parts`).
        """

    def has(self, key: str) -> bool:
        """Whether what is to be kept with that key is there already, from a run that was interrupted."""

    def union(self, name: str, tables: list[ibis.Table]) -> ibis.Table:
        """Return the rows of tables that were kept, as one."""

    def fetch_batches(self, table: ibis.Table) -> Iterator[pa.RecordBatch]:
        """Compute an answer, and give it out in pieces.

        Only sums and counts are ever asked for; and, where results outlast the process, the households' numbers, for
        their digest.
        """

    def translate_errors(self, path: str) -> AbstractContextManager[None]:
        """Turn what the engine says of unreadable tables into ours, without words that may quote a row."""

    def check_unchanged(self) -> None:
        """Refuse a table that changed since it was opened, where the engine can tell. No row is read after this."""

    def close(self) -> None:
        """Take away what was kept without a key, and let go of the engine."""

    def forget(self) -> None:
        """Take away what was kept with a key: it is not needed any more."""

    def to_double(self, column: ir.NumericColumn) -> ir.FloatingColumn:
        """Return numbers as doubles; what does not fit is null or infinite."""

    def parse_double(self, text: ir.StringColumn) -> ir.FloatingColumn:
        """Return doubles from text of the form `rules.NUMBER` (or null); what does not fit is null or infinite."""

    def parse_timestamp(self, text: ir.StringColumn, *, zoned: bool) -> ir.TimestampColumn:
        """Return moments from text of the form `rules.TIMESTAMP` (or null): UTC if it is `zoned`, else by its clock.

        Days and hours that do not exist are null. Text that has an offset is never asked for without `zoned`, nor the
        other way round, except where the answer is not used.
        """

    def to_seconds(self, moment: ir.TimestampColumn | ir.DateColumn, origin: datetime) -> ir.IntegerColumn:
        """Return whole seconds since `origin` (UTC), rounded down; a moment with a zone is converted to UTC first.

        What is not a moment ("infinity") is null.
        """

    def count_bits(self, bits: ir.IntegerColumn) -> ir.IntegerColumn:
        """Return how many bits of an int64 are set."""

    def to_plain_text(self, text: ir.StringColumn) -> ir.StringColumn:
        """Return text that is compared byte by byte, whatever collation its column has."""


def fetch_rows(engine: Engine, table: ibis.Table) -> list[dict[str, Any]]:
    """Compute a few sums or counts."""
    return [row for batch in engine.fetch_batches(table) for row in batch.to_pylist()]


# Engines by name, and their settings. Third parties add engines through the entry-point group `gridveil.engines`.

DEFAULT_ENGINE = "duckdb"

ENGINES = Registry[type[Engine]](
    "engine",
    "gridveil.engines",
    {
        DEFAULT_ENGINE: "gridveil.trusted.engines.duckdb.engine:DuckDBEngine",
        "spark": "gridveil.trusted.engines.spark.engine:SparkEngine",
        "postgres": "gridveil.trusted.engines.postgres.engine:PostgresEngine",
    },
)
"""Whoever installs an engine trusts it like the rest of this folder: it reads the true data."""


def connect(settings: EngineSettings) -> Engine:
    """Return a fresh engine; only its own library is imported."""
    return ENGINES.load(settings.name)(settings)


UNITS = {"M": 10**6, "G": 10**9, "MB": 10**6, "GB": 10**9, "MiB": 2**20, "GiB": 2**30}
MIN_MEMORY = 256 * 10**6


def parse_size(text: object) -> object:
    """Return bytes from `4GB`, `4G` or `512MB`.

    >>> parse_size("4GB"), parse_size("512M")
    (4000000000, 512000000)
    """
    if not isinstance(text, str):
        return text
    match = re.fullmatch(r"(\d+(?:[.]\d+)?)\s*([MG](?:i?B)?)", text.strip())
    if not match:
        msg = f"{text!r} is not a size of memory; write 4GB or 512MB"
        raise ValueError(msg)
    return int(float(match[1]) * UNITS[match[2]])


def check_memory(memory: int | None) -> int | None:
    """Refuse bytes that an engine cannot work in."""
    if memory is not None and memory < MIN_MEMORY:
        msg = f"give at least {MIN_MEMORY // UNITS['MB']}MB"
        raise ValueError(msg)
    return memory


@dataclass(frozen=True)
class EngineSettings:
    """What `engine`, `master`, `database`, `memory` and `scratch` of a spec say.

    master: of Spark, e.g. `local[2]` or `spark://host:7077`; without, what Spark is set up with.
    database: the address of a database, e.g. `postgresql://...`; it may hold a password.
    memory: the most bytes that the engine may use in this process.
    scratch: a private folder for what does not fit into memory, and for going on after an interruption.
    limits: how much is read at a time; no setting of a spec.
    """

    name: str = DEFAULT_ENGINE
    master: str | None = None
    database: str | None = field(default=None, repr=False)
    memory: int | None = None
    scratch: Path | None = None
    limits: Limits = DEFAULT_LIMITS

    def __post_init__(self) -> None:
        """Reject settings of another engine, which would have no effect, and an engine without those that it needs."""
        engine = ENGINES.load(self.name)
        for name in (one.name for one in fields(self) if one.name not in {"name", "limits"}):
            given = getattr(self, name) is not None
            if given and name not in engine.takes:
                others = " or ".join(other for other in ENGINES.names() if name in ENGINES.load(other).takes)
                msg = f"{name}: engine {self.name} takes none; leave it out, or give --engine {others}"
                raise UsageError(msg, code="engine-setting")
            if not given and name in engine.needs:
                msg = f"engine {self.name} needs a {name}: give --{name} {engine.needs[name]}"
                raise UsageError(msg, code="engine-needs-setting")


# The common base of engines that compute on a server or cluster.


class WarehouseEngine:
    """The parts of an `Engine` that are the same wherever a table is one part and nothing outlasts the session."""

    has_catalogue: ClassVar[bool] = True

    def select_parts(self, role: str, parts: list[int]) -> None:
        """Do nothing: there is one part."""

    def has(self, key: str) -> bool:
        """Nothing outlasts the session."""
        del key
        return False

    def forget(self) -> None:
        """Take away nothing: nothing outlasts the session."""

    def union(self, name: str, tables: list[ibis.Table]) -> ibis.Table:
        """Return the rows of tables that were kept, as one."""
        import ibis

        del name
        return ibis.union(*tables)

    def to_double(self, column: ir.NumericColumn) -> ir.FloatingColumn:
        """Return numbers as doubles. All must fit: `open` makes doubles or nulls of those that might not."""
        return column.cast("float64")

    def to_plain_text(self, text: ir.StringColumn) -> ir.StringColumn:
        """Return text as it is: `open` and `keep` leave no collation but one that compares byte by byte."""
        return text


def declare_function(name: str, *kinds: str, returns: str) -> Any:  # noqa: ANN401  # ibis has no types
    """Return a function of the engine's own as ibis calls it."""
    import ibis

    def named() -> None: ...

    names = [Parameter(f"argument{index}", Parameter.POSITIONAL_ONLY) for index, _ in enumerate(kinds)]
    named.__signature__ = Signature(names)  # type: ignore[attr-defined]  # what ibis looks at
    return ibis.udf.scalar.builtin(named, name=name, signature=(kinds, returns))
