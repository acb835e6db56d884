"""Ausgrid solar homes 2010-2013: a row per customer, category and day with 48 half-hours, Sydney's clock."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from gridveil.convert.loader import SCHEMA, UNREADABLE, Loader, WrongLayoutError, slots

if TYPE_CHECKING:
    import duckdb

FIRST, HALVES = 6, 48
"""The place of the first half-hour, counted from 1, and how many there are."""
KEYS = ("customer", "generator capacity", "postcode", "consumption category", "date")
ENDS = tuple(f"{half // 2 % 24}:{half % 2 * 30:02}" for half in range(1, HALVES + 1))
QUALITY = "row quality"

DAYS = """
    WITH once AS (SELECT household, day, category, min(kwh) AS kwh FROM days GROUP BY ALL),
    loads AS (
        SELECT household, day, min(kwh) FILTER (category = 'GC') AS gc, min(kwh) FILTER (category = 'CL') AS cl,
               bool_or(cl IS NOT NULL) OVER (PARTITION BY household) AS controlled
        FROM once GROUP BY household, day
    )
"""
TALLY = f"""{DAYS}
    SELECT (SELECT count(*) FROM days) - (SELECT count(*) FROM once), count(*) FILTER (gc IS NULL),
           count(*) FILTER (gc IS NOT NULL AND cl IS NULL AND controlled) FROM loads
"""  # noqa: S608  # our own text
LOADS = f"""{DAYS},
    halves AS (
        SELECT household, day, unnest(range(1, 49))::INTEGER AS slot,
               unnest(gc) + CASE WHEN cl IS NULL THEN 0 ELSE unnest(cl) END AS kwh
        FROM loads WHERE gc IS NOT NULL AND (cl IS NOT NULL OR NOT controlled)
    )
    SELECT household, start AS timestamp, kwh, CASE WHEN kwh IS NULL THEN 0 WHEN start IS NULL THEN 1 END AS fault
    FROM halves LEFT JOIN (FROM slots WHERE times = 1) AS once
                ON halves.day = once.day AND halves.slot = once.slot
    ORDER BY household, timestamp
"""  # noqa: S608  # our own text


class Ausgrid(Loader):
    """The three yearly CSV files, or their zips. What a home uses is GC + CL; GG is what its roof makes."""

    expected = (
        "a note in line 1, and in line 2 `Customer,Generator Capacity,Postcode,Consumption Category,date,0:30,1:00,...,"
        "23:30,0:00,Row Quality`"
    )
    faults = (
        UNREADABLE,
        "customer is not a whole number",
        "date unreadable or outside 2010 to 2013",
        "category is none of GC, CL and GG",
        "solar generation (GG), which is no consumption",
    )
    attributes = ("postcode", "generator_capacity_kw")

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        super().__init__(con)
        zone = ZoneInfo("Australia/Sydney")
        con.register("slots", slots(zone, date(2010, 1, 1), date(2013, 12, 31), timedelta(minutes=30)))
        con.execute("CREATE TABLE days (household VARCHAR, day DATE, category VARCHAR, kwh DOUBLE[])")

    def layout(self, top: list[str]) -> int:
        """Compare the second line."""
        names = tuple(name.strip().lower() for name in top[1].split(",")) if len(top) > 1 else ()
        if names not in ((*KEYS, *ENDS), (*KEYS, *ENDS, QUALITY)):
            raise WrongLayoutError(2)
        return 2

    def read(self, lines: pa.RecordBatch) -> Iterator[pa.Table]:
        """Keep the rows until the file ends: both categories of a day are needed."""
        found = self.ask(lines)
        self.remember(found)
        rows = self.without_faults(found)
        estimated = pc.sum(rows["estimated"]).as_py() or 0
        if estimated:
            self.kept["lines", "Row Quality NA: at least one half-hour was estimated by Ausgrid"] += estimated
        self.con.register("rows", rows)
        self.con.execute("INSERT INTO days SELECT household, day, category, kwh FROM rows")
        yield from ()

    def end_of_file(self) -> Iterator[pa.Table]:
        """Add up the categories."""
        duplicates, alone, without = self.con.execute(TALLY).fetchall()[0]
        self.leave_out(
            "lines",
            {
                "same customer, day and category again": duplicates,
                "controlled load of a day without general consumption": alone,
                "general consumption of a day without the controlled load that the customer has": without,
            },
        )
        texts = ("energy missing, unreadable or not finite", "half-hour that Sydney's clock skips or shows twice")
        for batch in self.con.sql(LOADS).to_arrow_reader(2**18):
            yield self.without_faults(pa.table(batch), "readings", texts).select(SCHEMA.names).cast(SCHEMA)
        self.con.execute("TRUNCATE days")

    def query(self) -> str:
        """Read rows; the last field may be missing where it is blank, as spreadsheets write it."""
        last = FIRST + HALVES - 1
        return rf"""
            WITH fields AS (
                SELECT CASE WHEN len(found) BETWEEN {last} AND {last + 1} THEN found END AS f
                FROM (SELECT string_split(line, ',') AS found FROM lines)
            ),
            typed AS (
                SELECT f IS NOT NULL AS whole,
                       CASE WHEN regexp_full_match(f[1], '[0-9]{{1,9}}') THEN f[1] END AS household,
                       nullif(trim(f[2]), '') AS generator_capacity_kw, nullif(trim(f[3]), '') AS postcode,
                       trim(f[4]) AS category, trim(f[5]) AS date, coalesce(trim(f[{last + 1}]) <> '', FALSE) AS estimated,
                       list_transform(f[{FIRST}:{last}], lambda v: number(trim(v))) AS kwh,
                       CASE WHEN regexp_full_match(date, '\d{{1,2}}-[A-Za-z]{{3}}-\d\d')
                            THEN try_strptime(date, '%d-%b-%y')::DATE
                            WHEN regexp_full_match(date, '\d{{1,2}}/\d{{1,2}}/\d{{4}}')
                            THEN try_strptime(date, '%d/%m/%Y')::DATE END AS day
                FROM fields
            )
            SELECT household, postcode, generator_capacity_kw, category, day, kwh, estimated,
                   CASE WHEN NOT whole THEN 0
                        WHEN household IS NULL THEN 1
                        WHEN (year(day) BETWEEN 2010 AND 2013) IS NOT TRUE THEN 2
                        WHEN category NOT IN ('GC', 'CL', 'GG') THEN 3
                        WHEN category = 'GG' THEN 4 END AS fault
            FROM typed
        """  # noqa: E501, S608  # numbers
