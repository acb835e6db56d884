"""The interface of an engine: open tables, keep results, and read values alike on every engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable

if TYPE_CHECKING:
    import ibis
    import ibis.expr.types as ir
    import pyarrow as pa

    from gridveil.model.window import Window
    from gridveil.trusted.engines.base.settings import EngineSettings


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
