"""What Spark keeps is of one reading of the tables, whatever happens to workers and files afterwards."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.codes import has_code
from tests.trusted.engines import spark

from gridveil.geography.grid import Grid
from gridveil.model.errors import InputError
from gridveil.model.running import Progress, silent
from gridveil.model.window import Window
from gridveil.trusted.budget import Bound
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable
from gridveil.trusted.source.ingest import RESOLVE_STAGE, IngestedSource, ingest

START = datetime(2013, 2, 4, tzinfo=UTC)
WINDOW = Window(START, timedelta(hours=1), 8)
GRID = Grid(0, 0, 2, 2, 2, 2)
BOUND = Bound(step=50_000, window=40_000)
SECRET = "secret-household"  # noqa: S105  # a name that must not be seen


def write_readings(folder: Path, kwh: float) -> None:
    """One household, with the same in every step, and one reading that was sent twice."""
    hours = [0, *range(WINDOW.steps)]
    when = [START + timedelta(hours=hour) for hour in hours]
    table = pa.table({"household": [SECRET] * len(hours), "timestamp": when, "kwh": [kwh] * len(hours)})
    pq.write_table(table, folder / "readings.parquet")


def write_households(folder: Path, x: float) -> None:
    pq.write_table(pa.table({"household": [SECRET], "x": [x], "y": [0.5]}), folder / "households.parquet")


def reader(folder: Path) -> Callable[..., IngestedSource]:
    """Write a household of 40 kWh, and return how to ingest it."""
    write_readings(folder, 5)
    write_households(folder, 0.5)

    def run(progress: Progress = silent, table: str | None = None) -> IngestedSource:
        readings = ReadingsTable(table or str(folder / "readings.parquet"), table=table)
        households = HouseholdsTable(str(folder / "households.parquet"))
        return ingest(readings, households, GRID, WINDOW, spark.settings(), progress)[0]

    return run


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., IngestedSource]:
    return reader(tmp_path)


def kept() -> set[int]:
    """The numbers of what Spark keeps now."""
    return set(context().getPersistentRDDs())


def lose(numbers: set[int]) -> None:
    """Lose what workers have kept."""
    for number in numbers:
        context().sc().unpersistRDD(number, True)  # noqa: FBT003  # Java's


def context() -> Any:
    return spark.engine()._session.sparkContext._jsc


def test_engine_spark_a_lost_worker_and_a_rewritten_table_are_refused(
    tmp_path: Path, read: Callable[..., IngestedSource]
) -> None:
    """Read again, ten times the contributions would be bounded by the total from before."""
    spark.settings()
    before = kept()
    source = read()
    contributions = kept() - before
    assert source.bounded_cube(WINDOW, BOUND).sum() == BOUND.window
    write_readings(tmp_path, 50)
    lose(contributions)
    with pytest.raises(InputError, check=has_code("spark-lost-worker", "readings.parquet")) as error:
        source.bounded_cube(WINDOW, BOUND)
    source.close()
    assert SECRET not in f"{error.value!r} {error.value.__cause__} {error.value.__context__}"


def test_engine_spark_what_is_kept_outlasts_a_cleared_cache_and_a_rewritten_table(
    tmp_path: Path, read: Callable[..., IngestedSource]
) -> None:
    """Every question is about the same household: who else uses this Spark may clear what it caches."""
    source = read()
    first = source.bounded_cube(WINDOW, BOUND).tolist()
    write_readings(tmp_path, 50)
    write_households(tmp_path, 1.5)
    spark.engine()._session.catalog.clearCache()
    assert source.bounded_cube(WINDOW, BOUND).tolist() == first
    assert source.bounded_cube(WINDOW, Bound(step=50_000, window=10**6)).tolist() == first
    source.close()


@pytest.mark.parametrize("changed", ["readings", "households", "catalogue"])
def test_engine_spark_a_table_that_changes_while_it_is_read_is_refused(
    tmp_path: Path, read: Callable[..., IngestedSource], changed: str
) -> None:
    def progress(stage: str, done: float) -> None:
        if (stage, done) == (RESOLVE_STAGE, 0.0):
            write_households(tmp_path, 1.5) if changed == "households" else write_readings(tmp_path, 50)

    table, file = ("metered", "readings") if changed == "catalogue" else (None, changed)
    spark.settings()
    sql = spark.engine()._session.sql
    sql(f"CREATE TABLE metered USING parquet LOCATION '{tmp_path}/readings.parquet'")
    try:
        with pytest.raises(InputError, check=has_code("table-changed", f"/{file}.parquet")):
            read(progress, table)
    finally:
        sql("DROP TABLE metered")
