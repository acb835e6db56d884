"""The key of a run: results of parts that outlast a process are used again only by a run that would compute the same.

What is kept of a part are sums by the numbers of households. They rest on the part's rows, on how rows are read, and on
which household has which number. Were the numbers others, one household's readings would count as several households',
each of them bounded by itself: so it is the numbers themselves that a key depends on, not the files that they are from.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from dataclasses import asdict
from importlib import metadata
from typing import TYPE_CHECKING

from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable
from gridveil.trusted.source.clock import Clock

if TYPE_CHECKING:
    import ibis

    from gridveil.trusted.engines.base.engine import Engine

FORMAT = 6
"""Of what is kept. Raise it with every change to the code of ingest that gives a part other sums, or another meaning:
a version of gridveil may stay the same while its code changes."""

BATCH = 2**20
"""Rows that are held as text at once."""


def run_key(
    engine: Engine, numbers: ibis.Table, tables: tuple[ReadingsTable, HouseholdsTable], grid: Grid, window: Window
) -> str:
    """Return what all parts of a run share. Cost: the households' ids are sorted and go through this process once."""
    settings = [asdict(table) for table in tables]
    versions = [metadata.version(name) for name in ("gridveil", "duckdb", "ibis-framework")]
    clock = Clock.of(tables[0].timezone, window)  # its offsets: the system's table of a zone's clock may be updated
    return digest(FORMAT, versions, settings, clock, grid, window, _digest_of_numbers(engine, numbers))


def digest(*facts: object) -> str:
    """Return a digest of what can be written as JSON or text."""
    return hashlib.sha256(json.dumps(facts, default=str).encode()).hexdigest()


def _digest_of_numbers(engine: Engine, numbers: ibis.Table) -> list[str]:
    """Return digests that two tables of households and numbers share only if they have the same rows.

    They are sorted here: an engine that may give out rows in any order, which is faster, keeps not even a stated one.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = pa.schema([("household", pa.large_string()), ("number", pa.int64())])  # text of over 2 GB, too
    filled = numbers.select("household", number=numbers.number.fill_null(-1))  # by the engine: Arrow would load pandas
    given = [batch.select(columns.names).cast(columns) for batch in engine.batches(filled)]
    ids, lengths, values = (hashlib.sha256() for _ in range(3))  # each of a whole column: batches may be cut anywhere
    for batch in pa.Table.from_batches(given, columns).sort_by("household").to_batches(max_chunksize=BATCH):
        ids.update("".join(batch["household"].to_pylist()).encode())
        lengths.update(array("q", pc.binary_length(batch["household"]).to_pylist()))
        values.update(array("q", batch["number"].to_pylist()))
    return [column.hexdigest() for column in (ids, lengths, values)]
