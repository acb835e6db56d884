"""Only what is near the window is read, by partitions or indexes, and no row is lost by it."""

# ruff: noqa: S608  # statements of tests, with nothing of anyone's in them

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import psycopg
import pytest

from gridveil.model.window import Window
from gridveil.trusted.engines.base.engine import EngineSettings
from gridveil.trusted.engines.base.schema import ReadingsTable
from gridveil.trusted.engines.postgres.engine import PostgresEngine

FEBRUARY = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 24 * 7)
START = Window(datetime(2013, 2, 1, tzinfo=UTC), timedelta(hours=1), 24)
MONTHS = [f"2013-{month:02}-01" for month in range(1, 7)]


def by_month(kind: str) -> str:
    parts = "".join(
        f"CREATE TABLE r{first[5:7]} PARTITION OF readings FOR VALUES FROM ('{first}') TO ('{last}');"
        for first, last in pairwise(MONTHS)
    )
    moment = f"('2013-01-15 00:00+00'::timestamptz AT TIME ZONE 'UTC' + i * interval '31 min')::{kind}"
    rows = f"SELECT chr(97 + i % 2), {moment}, 0.001 * (1 + i % 7) FROM generate_series(0, 5000) i"
    return (
        f"CREATE TABLE readings (household text, timestamp {kind}, kwh float8) PARTITION BY RANGE (timestamp);{parts}"
        f"CREATE TABLE others PARTITION OF readings DEFAULT; INSERT INTO readings {rows};"
        "INSERT INTO readings VALUES ('a', NULL, 1), ('a', '1999-01-01', 1);"
    )


def plan(url: str, window: Window, name: str = "readings") -> str:
    """Return how PostgreSQL reads what the engine opens."""
    engine = PostgresEngine(EngineSettings("postgres", database=url))
    opened = engine.open("readings", ReadingsTable(name), window)
    found = engine._session.run(f"EXPLAIN {engine._writer.compile_query(opened.table)}".encode()).fetchall()
    engine.close()
    return "\n".join(line for (line,) in found)


@pytest.mark.parametrize("kind", ["timestamp", "timestamptz", "date"])
@pytest.mark.parametrize(("window", "months"), [(FEBRUARY, {"r02"}), (START, {"r01", "r02"})])
def test_engine_postgres_scans_only_partitions_of_the_window(
    ask_postgres: Any, empty: str, kind: str, window: Window, months: set[str]
) -> None:
    options = {"timezone": "Pacific/Kiritimati", "timestamps": "end", "window": window}  # 14 hours ahead
    cube, report = ask_postgres(by_month(kind), **options)
    scanned = set(re.findall(r"Scan on (\w+)", plan(empty, window)))
    assert scanned == {*months, "others"}  # others may hold rows without a time
    whole = "ALTER TABLE readings RENAME TO parts; CREATE TABLE readings AS TABLE parts;"
    cube_of_all, report_of_all = ask_postgres(whole, homes="", **options)
    assert cube == cube_of_all != {}
    assert report.counted == report_of_all.counted
    far = "reading-outside-steps"
    near = [fault for fault in report.faults if fault.code != far]
    assert near == [fault for fault in report_of_all.faults if fault.code != far]
    assert report.readings < report_of_all.readings == 5003  # a table without index or parts is read whole


def test_engine_postgres_uses_an_index_on_the_time(ask_postgres: Any, empty: str) -> None:
    plain = by_month("timestamptz").replace("PARTITION BY RANGE (timestamp);", ";")
    plain = re.sub(r"CREATE TABLE \w+ PARTITION OF[^;]*;", "", plain)
    cube, _ = ask_postgres(plain, window=FEBRUARY)
    assert "Seq Scan on readings" in plan(empty, FEBRUARY)
    indexed = "CREATE INDEX of_time ON readings (timestamp); ANALYZE readings;"
    cube_by_index, _ = ask_postgres(indexed, homes="", window=FEBRUARY)
    assert "on of_time" in plan(empty, FEBRUARY)
    assert cube_by_index == cube != {}


def test_engine_postgres_opens_no_partition_that_nobody_may_read(empty: str) -> None:
    """A month that is broken (its file is not there) does not matter to another: it is not opened."""
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute(by_month("timestamp").encode())
        connection.execute("SET client_min_messages = warning")
        connection.execute("CREATE VIEW v AS SELECT * FROM readings")
    assert set(re.findall(r"Scan on (\w+)", plan(empty, FEBRUARY, "v"))) == {"r02", "others"}
