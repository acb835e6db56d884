"""Tables as Spark finds them: files that are not what they should be, types of Parquet, tables of the catalogue."""

from __future__ import annotations

import sys
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.codes import has_code
from tests.trusted.conftest import WINDOW
from tests.trusted.engines import spark

from gridveil.model.errors import GridveilError, InputError, MissingExtraError, UsageError
from gridveil.trusted.engines.base.engine import EngineSettings, fetch_rows
from gridveil.trusted.engines.base.schema import ReadingsTable
from gridveil.trusted.engines.spark import session as spark_session
from gridveil.trusted.source.rules import select_readings

SECRET = "secret-household"  # noqa: S105  # a name that must not be seen
WHEN = [datetime(2013, 2, 4, hour, tzinfo=UTC) for hour in (0, 1)]
GOOD: dict[str, Any] = {"household": [SECRET, "b"], "timestamp": WHEN, "kwh": [1.0, 2.0]}


def opened(table: ReadingsTable) -> Any:
    """What the rules make of a table; no row is read yet."""
    engine = spark.engine()
    opened = engine.open("readings", table)
    return select_readings(engine, opened.table, table, WINDOW)


def rows(table: ReadingsTable) -> list[tuple[Any, ...]]:
    engine = spark.engine()
    found = fetch_rows(engine, opened(table).select("household", "second", "wh").order_by("second", "household"))
    return [tuple(row.values()) for row in found]


def test_engine_spark_names_of_folders_are_not_columns(tmp_path: Path) -> None:
    for folder in ("household=c", "kwh=7", "odd [1]{2}%20*?"):
        (tmp_path / folder).mkdir()
        pq.write_table(pa.table(GOOD), tmp_path / folder / "r [1].parquet")
    assert (
        rows(ReadingsTable(str(tmp_path / "*" / "*.parquet"))) == [(SECRET, 0, 1000.0)] * 3 + [("b", 3600, 2000.0)] * 3
    )


def test_engine_spark_files_of_other_types_are_refused(tmp_path: Path) -> None:
    table = pa.table(GOOD)
    pq.write_table(table, tmp_path / "part-1.parquet")
    for second in (table.drop_columns("kwh"), table.set_column(2, "kwh", pa.array(["1", "x"]))):
        pq.write_table(second, tmp_path / "part-2.parquet")
        with pytest.raises(InputError, check=has_code("column-types-differ", "part-2.parquet", "kwh")):
            opened(ReadingsTable(str(tmp_path / "part-*.parquet")))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nothing.parquet", ("file-missing",)),
        ("nothing-*.parquet", ("file-missing",)),
        ("folder.parquet", ("path-is-folder",)),
        ("table.csv", ("spark-table-kind", "duckdb")),
        ("damaged.parquet", ("table-unreadable", "java.lang.RuntimeException; Spark's own words may hold rows")),
    ],
)
def test_engine_spark_files_that_cannot_be_read(tmp_path: Path, name: str, told: tuple[str, ...]) -> None:
    (tmp_path / "folder.parquet").mkdir()
    (tmp_path / "table.csv").write_text(f"household,timestamp,kwh\n{SECRET},2013-02-04,1\n")
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(InputError, check=has_code(*told, name)) as error:
        opened(ReadingsTable(str(tmp_path / name)))
    assert "\n" not in str(error.value)


def test_engine_spark_damaged_pages_are_told_without_rows(tmp_path: Path) -> None:
    pq.write_table(pa.table(GOOD), tmp_path / "r.parquet", compression="none", use_dictionary=False)
    data = bytearray((tmp_path / "r.parquet").read_bytes())
    start = data.index(SECRET.encode())
    data[start - 4 : start] = b"\xff\xff\xff\x7f"  # how long the text is
    (tmp_path / "r.parquet").write_bytes(bytes(data))
    with pytest.raises(InputError, check=has_code("table-unreadable", "r.parquet")) as error:
        rows(ReadingsTable(str(tmp_path / "r.parquet")))
    assert SECRET not in f"{error.value!r} {error.value.__cause__} {error.value.__context__}"


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("kwh", [True, False]),
        ("kwh", [{"a": 1}] * 2),
        ("kwh", [[1.0]] * 2),
        ("kwh", WHEN),
        ("kwh", pa.nulls(2)),
        ("kwh", pa.array([1, 2], pa.float16())),
        ("household", [1.0, 2.0]),
        ("household", [b"a", b"b"]),
        ("timestamp", [1, 2]),
        ("timestamp", pa.array([1, 2], pa.time64("us"))),
    ],
)
def test_engine_spark_a_column_of_the_wrong_type_is_named(tmp_path: Path, column: str, values: Any) -> None:
    pq.write_table(pa.table({**GOOD, column: values}), tmp_path / "readings.parquet")
    with pytest.raises(InputError, check=has_code("column-type", f"readings.parquet: column {column}")):
        opened(ReadingsTable(str(tmp_path / "readings.parquet")))


def test_engine_spark_types_of_parquet(tmp_path: Path) -> None:
    ids = [uuid.UUID(int=index) for index in (1, 2**127)]
    moments = pa.array([int(when.timestamp()) * 10**9 + 999_999_999 for when in WHEN], pa.timestamp("ns"))
    columns = {
        "household": pa.array([id_.bytes for id_ in ids], pa.uuid()),
        "number": pa.array([7, -(2**63)], pa.int64()),
        "natural": pa.array([7, 2**64 - 1], pa.uint64()),
        "small": pa.array([7, 255], pa.uint8()),
        "timestamp": moments,
        "kwh": pa.array([1, 2], pa.decimal128(38, 3)),
        "other": pa.array([[1], [2]]),
    }
    path = tmp_path / "readings.parquet"
    pq.write_table(pa.table(columns), path, use_deprecated_int96_timestamps=True)
    wanted = {
        "household": [str(id_) for id_ in ids],
        "number": ["7", "-9223372036854775808"],
        "small": ["7", "255"],
    }
    for name, households in wanted.items():
        expected = [(households[0], 0, 1000.0), (households[1], 3600, 2000.0)]
        assert rows(ReadingsTable(str(path), household=name)) == expected
    energies = [row[2] for row in rows(ReadingsTable(str(path), energy="natural", unit="Wh"))]
    assert energies == [7.0, float(2**64)]


def test_engine_spark_tables_of_the_catalogue_and_collations(capfd: pytest.CaptureFixture[str]) -> None:
    """Under UTF8_LCASE Spark joins and groups `a` with `A`: one household in two cells, or two dropped as one."""
    from pyspark.sql import SparkSession

    engine = spark.engine()
    theirs = SparkSession.builder.getOrCreate()
    theirs.sql("""
        SELECT household COLLATE UTF8_LCASE AS household, kwh, day, CAST(day AS TIMESTAMP_NTZ) AS clock,
               timestamp(day) AS moment
        FROM VALUES ('a', 1.0BD, DATE'2013-02-04'), ('A', 2.0BD, DATE'2013-02-05') AS t(household, kwh, day)
    """).createOrReplaceGlobalTempView("readings")
    for column, first in (("day", 0), ("clock", 0), ("moment", -(5 * 3600 + 45 * 60))):  # their clock is Kathmandu's
        table = ReadingsTable("global_temp.readings", table="global_temp.readings", timestamp=column)
        assert rows(table) == [("a", first, 1000.0), ("A", first + 86400, 2000.0)]
    table = ReadingsTable("global_temp.readings", table="global_temp.readings", timestamp="day")
    grouped = opened(table)
    assert len(fetch_rows(engine, grouped.group_by("household").agg(rows=grouped.count()))) == 2
    capfd.readouterr()
    nothing = ReadingsTable("metering.nothing", table="metering.nothing")
    with pytest.raises(InputError, check=has_code("table-unreadable", "metering.nothing", "TABLE_OR_VIEW_NOT_FOUND")):
        opened(nothing)
    assert capfd.readouterr().err == ""  # pyspark would write the error's words there


def test_engine_spark_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "pyspark.sql", None)
        with pytest.raises(MissingExtraError, check=has_code("extra-missing", "gridveil[spark]")):
            spark_session.make_session(EngineSettings("spark"))
    for name in ("JAVA_HOME", "PATH"):
        with monkeypatch.context() as patch:
            patch.delenv("JAVA_HOME", raising=False)
            patch.setenv(name, "/nonexistent")
            with pytest.raises(UsageError, check=has_code("java-missing", "openjdk-17-jre-headless")):
                spark_session._require_java()
    with pytest.raises(GridveilError, check=has_code("spark-connect")):
        spark_session._start(EngineSettings("spark", master="sc://cluster"))


@pytest.mark.parametrize("master", ["lokal[2]", "local[2", "spark:host:7077", "yarn-client", "k8s://"])
def test_engine_spark_a_master_that_it_does_not_know_is_told_before_java_starts(master: str) -> None:
    with pytest.raises(UsageError, check=has_code("spark-master-unknown")):
        spark_session._start(EngineSettings("spark", master=master))


@pytest.mark.parametrize(
    "master", ["local", "local[*]", "local[2,3]", "spark://a:7077,b:7077", "yarn", "k8s://https://h"]
)
def test_engine_spark_masters_that_it_knows(master: str) -> None:
    assert spark_session.KNOWN_MASTERS.fullmatch(master)


def test_engine_spark_another_master_is_not_unheard() -> None:
    spark.settings()
    with pytest.raises(UsageError, check=has_code("spark-master-other", "local[2]")):
        spark_session.make_session(EngineSettings("spark", master="local[1]"))


def test_engine_spark_keeps_what_it_spills_from_other_users(tmp_path: Path) -> None:
    ours = spark_session._make_settings(EngineSettings("spark", memory=2 * 10**9, scratch=tmp_path))
    folder = Path(ours["spark.local.dir"])
    assert folder.parent == tmp_path
    assert folder.stat().st_mode & 0o077 == 0
    assert ours["spark.driver.memory"] == "1907m"
