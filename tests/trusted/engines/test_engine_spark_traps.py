"""Traps of Spark's, each by name: what it would do by itself, and that it does not."""

import math
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from tests.trusted.engines import spark

from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.trusted.budget import Bound
from gridveil.trusted.engines.base.engine import fetch_rows as answers_of
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable
from gridveil.trusted.source.ingest import ingest
from gridveil.trusted.source.report import Report

START = datetime(2013, 2, 4, tzinfo=UTC)
WINDOW = Window(START, timedelta(hours=1), 4)
GWH = 10**6  # kWh
CAP = 3 * 10**7  # Wh

HOMES: dict[str, list[tuple[float, float | None]]] = {
    "null": [(0, None)],
    "nan": [(0, math.nan)],
    "infinite": [(0, math.inf), (1, -math.inf)],
    "too large for an int": [(0, 1e300), (1, 3e6)],
    "too small for an int": [(0, -1e300)],
    "a sum too large for an int32": [(60 * minute / 3600, GWH) for minute in range(8)],
    "halves": [(0, 0.0005), (1, 0.0015), (2, 0.0025), (3, 0.5)],
    "32 slots apart": [(0, 1.0), (32 * 75 / 3600, 2.0)],
    "duplicates": [(0, 3.0), (0, 1.0), (0, math.nan)],
}
"""Hours after the start, and kWh. Every household is alone in its cell."""

PLACES = {home: index for index, home in enumerate(HOMES)}


class Answers(NamedTuple):
    cube: NDArray[np.int64]
    largest: int
    with_readings: int
    report: Report

    def of(self, home: str) -> list[int]:
        return [int(wh) for wh in self.cube[PLACES[home], 0]]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """One question for all of them."""
    settings, folder = spark.settings(), tmp_path_factory.mktemp("traps")
    rows = [(home, START + timedelta(hours=hour), kwh) for home, all_of in HOMES.items() for hour, kwh in all_of]
    household, timestamp, kwh = (list(column) for column in zip(*rows, strict=True))
    pq.write_table(pa.table({"household": household, "timestamp": timestamp, "kwh": kwh}), folder / "r.parquet")
    homes = {"household": list(HOMES), "x": [index + 0.5 for index in range(len(HOMES))], "y": [0.5] * len(HOMES)}
    pq.write_table(pa.table(homes), folder / "h.parquet")
    tables = ReadingsTable(str(folder / "r.parquet")), HouseholdsTable(str(folder / "h.parquet"))
    source, report = ingest(*tables, Grid(0, 0, len(HOMES), 1, len(HOMES), 1), WINDOW, settings)
    cube = source.bounded_cube(WINDOW, Bound(step=CAP, window=10 * CAP))
    [largest] = answers_of(source.engine, source.table.agg(wh=source.table.wh.max()))
    with_readings = int(source.count_totals(WINDOW, 1, np.array([0])).sum())
    return Answers(cube, largest["wh"], with_readings, report)


def test_engine_spark_least_of_a_bound_and_null_is_not_the_bound(answers: Answers) -> None:
    assert answers.of("null") == [0, 0, 0, 0]


def test_engine_spark_nan_is_no_reading_of_zero(answers: Answers) -> None:
    assert answers.of("nan") == [0, 0, 0, 0]
    nothing_counts = {"null", "nan", "infinite", "too small for an int"}
    assert answers.with_readings == len(HOMES) - len(nothing_counts)


def test_engine_spark_infinity_is_not_capped(answers: Answers) -> None:
    assert answers.of("infinite") == [0, 0, 0, 0]


def test_engine_spark_casts_of_large_numbers_are_capped(answers: Answers) -> None:
    assert answers.of("too large for an int") == [CAP, CAP, 0, 0]
    assert answers.of("too small for an int") == [0, 0, 0, 0]


def test_engine_spark_sums_are_wider_than_readings(answers: Answers) -> None:
    assert answers.of("a sum too large for an int32") == [CAP, 0, 0, 0]
    assert answers.largest == 8 * 10**9


def test_engine_spark_halves_round_up(answers: Answers) -> None:
    assert answers.of("halves") == [1, 2, 3, 500]


def test_engine_spark_slots_are_told_apart_and_duplicates_found(answers: Answers) -> None:
    assert answers.of("32 slots apart") == [3000, 0, 0, 0]
    assert answers.of("duplicates") == [1000, 0, 0, 0]
    assert {fault.code: fault.count for fault in answers.report.faults} == {
        "energy-unreadable": 5,
        "energy-negative": 1,
        "energy-too-large": 2,
        "reading-duplicate": 1,
    }


def test_engine_spark_arithmetic_means_what_ibis_says() -> None:
    """What ibis 12 writes by itself: `isinf` is FALSE, `1 << 40` is 256, there is no bit_or, and 0.1 is a decimal."""
    engine = spark.engine()
    rows = engine._session.sql("SELECT * FROM VALUES (40L, double('inf'), 0.1D), (3L, 2D, -0.1D) AS v(n, x, y)")
    table = engine._register("arithmetic", rows, {"n": "int64", "x": "float64", "y": "float64"})
    bits = (ibis.literal(1, "int64") << table.n).bit_or()
    [answer] = [
        row
        for batch in engine.fetch_batches(
            table.agg(
                infinite=table.x.isinf().sum(),
                bits=bits,
                count=engine.count_bits(bits),
                tenth=(table.y == 0.1).sum(),
                floor=(table.y * 10 - 0.5).floor().cast("int64").min(),
                quotient=((table.n * 7 - 29) // 8).min(),
                least=ibis.least(table.n, 10).sum(),
            )
        )
        for row in batch.to_pylist()
    ]
    assert answer == {
        "infinite": 1,
        "bits": 2**40 + 2**3,
        "count": 2,
        "tenth": 1,
        "floor": -2,
        "quotient": -1,
        "least": 13,
    }


def test_engine_spark_leaves_other_sessions_as_they_are() -> None:
    from pyspark.sql import SparkSession

    engine, theirs = spark.engine(), SparkSession.builder.getOrCreate()
    engine.keep("kept", engine._register("one", engine._session.range(1), {"id": "int64"}))
    active = SparkSession.getActiveSession()
    assert active is not None
    assert active.conf.get("spark.sql.session.timeZone") == "Asia/Kathmandu"
    assert theirs.sparkContext.getLocalProperty("spark.sql.ansi.enabled") is None
    assert engine._session.conf.get("spark.sql.ansi.enabled") == "false"
    assert engine._session.conf.get("spark.sql.session.timeZone") == "UTC"
    assert theirs.conf.get("spark.sql.ansi.enabled") == "true"
    assert theirs.conf.get("spark.sql.session.timeZone") == "Asia/Kathmandu"
