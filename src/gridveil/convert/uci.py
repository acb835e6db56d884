"""UCI ElectricityLoadDiagrams20112014: a column per client, mean kW of a quarter-hour, Portugal's clock."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from gridveil.convert.loader import SCHEMA, UNREADABLE, Loader, WrongLayoutError, slots

if TYPE_CHECKING:
    import duckdb

PER_HOUR = 4


class Uci(Loader):
    """`LD2011_2014.txt`, or its zip."""

    expected = "a first line that reads `;MT_001;MT_002;...`, its first field empty, in quotation marks or not"
    faults = (
        UNREADABLE,
        "timestamp unreadable",
        "timestamp not on the quarter-hour, or outside 2011 to 2014",
        "the hour that the clock skips in March (zero for all)",
    )

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        super().__init__(con)
        zone = ZoneInfo("Europe/Lisbon")
        con.register("slots", slots(zone, date(2011, 1, 1), date(2014, 12, 31), timedelta(hours=1) / PER_HOUR))

    def layout(self, top: list[str]) -> int:
        """Read the clients' names."""
        first, *names = [name.strip(' "') for name in top[0].split(";")]
        if first or not names or not all(re.fullmatch(r"MT_[0-9]+", name) for name in names):
            raise WrongLayoutError(1)
        if len(set(names)) < len(names):
            raise WrongLayoutError(1)
        self.clients = pa.array(names)
        self.started = np.zeros(len(names), dtype=bool)
        return 1

    def read(self, lines: pa.RecordBatch) -> Iterator[pa.Table]:
        """Unpivot, and leave out a client's zeros before its first use: it was no client yet."""
        found = self.without_faults(self.ask(lines))
        flat = found["kw"].combine_chunks().flatten().to_numpy(zero_copy_only=False)  # unreadable: NaN
        kw = flat.reshape(len(found), len(self.clients))
        readable = np.isfinite(kw)
        started = np.logical_or.accumulate(np.vstack([self.started, readable & (kw != 0)]), axis=0)
        self.started, started = started[-1], started[1:]
        self.leave_out(
            "readings",
            {
                "power missing, unreadable or not finite": int(np.sum(~readable)),
                "zero before the client's first use": int(np.sum(readable & ~started)),
            },
        )
        row, client = np.nonzero(readable & started)
        kwh = kw[row, client] / PER_HOUR / found["times"].to_numpy()[row]
        households = pa.DictionaryArray.from_arrays(client.astype(np.int32), self.clients)
        columns = [households.cast(pa.string()), found["start"].combine_chunks().take(row), kwh]
        yield pa.table(columns, names=SCHEMA.names).cast(SCHEMA)

    def query(self) -> str:
        """Split, and find each line's start; the hour that occurs twice in October gives two rows of half the power.

        The file's order is kept: first use is found by it.
        """
        return rf"""
            WITH fields AS (
                SELECT number, CASE WHEN len(found) = {len(self.clients) + 1} THEN found END AS f
                FROM (SELECT number, string_split(line, ';') AS found FROM lines)
            ),
            labels AS (
                SELECT number, f, trim(f[1], ' "') AS label, CASE
                    WHEN regexp_full_match(label, '\d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d')
                    THEN TRY_CAST(label AS TIMESTAMP) - INTERVAL 15 MINUTE END AS local
                FROM fields
            ),
            times AS (SELECT *, epoch_us(local) % 86400000000 // 900000000 + 1 AS slot FROM labels)
            SELECT start, times, list_transform(f[2:], lambda v: CASE
                       WHEN regexp_full_match(v, ' *"?[+-]?[0-9]+(,[0-9]+)?([eE][+-]?[0-9]+)?"? *')
                       THEN TRY_CAST(replace(trim(v, ' "'), ',', '.') AS DOUBLE) END) AS kw,
                   CASE WHEN f IS NULL THEN 0
                        WHEN local IS NULL THEN 1
                        WHEN epoch_us(local) % 900000000 <> 0 OR year(local) NOT BETWEEN 2011 AND 2014 THEN 2
                        WHEN start IS NULL THEN 3 END AS fault
            FROM times LEFT JOIN slots ON slots.day = local::DATE AND slots.slot = times.slot
            ORDER BY number, start
        """  # noqa: S608  # a number
