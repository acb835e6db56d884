"""Faults of a whole table: one clear error, whatever the rows are."""

import math
import os
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from tests.codes import has_code
from tests.trusted.conftest import HOMES
from tests.trusted.source.parted import APART_SETTINGS

from gridveil.model.errors import InputError
from gridveil.trusted.engines.base.engine import EngineSettings, fetch_rows
from gridveil.trusted.engines.base.schema import ReadingsTable
from gridveil.trusted.engines.duckdb.engine import DuckDBEngine

WHEN = [datetime(2013, 2, 4), datetime(2013, 2, 4, 1)]  # noqa: DTZ001  # timestamps without zone are the point
GOOD = {"household": ["a", "b"], "timestamp": WHEN, "kwh": [1.0, 2.0]}
BOTH = {(0, 0, 0): 1000, (1, 1, 1): 2000}


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("kwh", [True, False]),
        ("kwh", [{"a": 1}] * 2),
        ("kwh", WHEN),
        ("kwh", pa.nulls(2)),
        ("household", [1.0, 2.0]),
        ("household", [True, False]),
        ("household", [b"a", b"b"]),
        ("timestamp", [1, 2]),
        ("timestamp", [1.0, 2.0]),
        ("timestamp", pa.array([1, 2], pa.time64("us"))),
    ],
)
def test_a_column_of_the_wrong_type_is_named(ask: Any, column: str, values: Any) -> None:
    with pytest.raises(InputError, check=has_code("column-type", f"readings.parquet: column {column}")):
        ask({**GOOD, column: values})


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("household", pa.array(["a", "b"], pa.large_string())),
        ("household", pa.array(["a", "b"]).dictionary_encode()),
        ("kwh", pa.array([1, 2], pa.float32())),
        ("kwh", pa.array([1, 2], pa.decimal128(12, 3))),
        ("kwh", pa.array([1, 2], pa.uint8())),
        ("kwh", ["1", " 2.0e0 "]),
        *(("timestamp", pa.array(WHEN, pa.timestamp(unit))) for unit in ("s", "ms", "us", "ns")),
        *(("timestamp", pa.array(WHEN).cast(pa.timestamp(unit, "Asia/Tokyo"))) for unit in ("s", "ms", "us", "ns")),
        ("timestamp", ["2013-02-04", "2013-02-04T01:00:00.1234567+00:00"]),
    ],
)
def test_columns_as_publishers_have_them(ask: Any, column: str, values: Any) -> None:
    assert ask({**GOOD, column: values})[0] == BOTH


def test_ids_as_numbers_in_one_table_and_text_in_the_other(ask: Any) -> None:
    homes = {"household": [1, 2], "lon": [0.5, 1.5], "lat": [0.5, 1.5]}
    assert ask({**GOOD, "household": ["1", "2"]}, homes)[0] == BOTH


def test_missing_columns_are_named(ask: Any) -> None:
    told = has_code("column-missing", "power", "household, timestamp, kwh", 'energy = "COLUMN"')
    with pytest.raises(InputError, check=told):
        ask(GOOD, energy="power")
    for homes in ({"household": ["a"], "lon": [1.0]}, {"household": ["a"], "x": [1], "y": [1], "lon": [1], "lat": [1]}):
        with pytest.raises(InputError, check=has_code("coordinates-unclear", "households.parquet")):
            ask(GOOD, homes)
    assert ask(GOOD, {"household": ["a", "b"], "e": [0.5, 1.5], "n": [0.5, 1.5]}, at={"x": "e", "y": "n"})[0] == BOTH


@pytest.mark.parametrize(
    "row",
    [b"MAC000123,530123.5,181456.25", b"Miss Marple;x1,04/02/2013 00:30,-0.25", b'MAC12,+1,"0,5"', b"a,MAC000123,b"],
)
@pytest.mark.parametrize(("role", "code"), [("readings", "column-missing"), ("households", "coordinates-unclear")])
def test_a_row_that_stands_where_the_names_should_be_is_not_quoted(ask: Any, row: bytes, role: str, code: str) -> None:
    tables = (row + b"\n", HOMES) if role == "readings" else (GOOD, row + b"\n")
    with pytest.raises(InputError, check=has_code(code, "3 columns are named like values")) as error:
        ask(*tables)
    assert not any(field in str(error.value) for field in ("MAC", "Marple", "530123", "2013", "0,5"))


def test_files_that_cannot_be_read(ask: Any, tmp_path: Path) -> None:
    (tmp_path / "folder.parquet").mkdir()
    (tmp_path / "damaged.parquet").write_bytes(b"PAR1 and no more")
    (tmp_path / "other.duckdb").write_bytes(b"not a database" * 1000)
    (tmp_path / "table.xlsx").write_bytes(b"")
    for name, code in {
        "nothing.parquet": "file-missing",
        "nothing-*.csv": "file-missing",
        "folder.parquet": "path-is-folder",
        "damaged.parquet": "table-unreadable",
        "other.duckdb": "table-unreadable",
        "table.xlsx": "table-kind",
        "*": "path-is-folder",
    }.items():
        with pytest.raises(InputError, check=has_code(code, str(tmp_path))) as error:
            ask(tmp_path / name, table="t")
        assert "\n" not in str(error.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_files_without_permission(ask: Any, tmp_path: Path) -> None:
    path = tmp_path / "secret.csv"
    path.write_bytes(b"household,timestamp,kwh\n")
    path.chmod(0)
    with pytest.raises(InputError, check=has_code("table-unreadable", "secret.csv")):
        ask(path)


def test_patterns_take_columns_by_name_and_refuse_other_types(ask: Any, tmp_path: Path) -> None:
    table = pa.table(GOOD)
    pq.write_table(table.slice(0, 1), tmp_path / "part-1.parquet")
    pq.write_table(table.slice(1).select(["kwh", "household", "timestamp"]), tmp_path / "part-2.parquet")
    assert ask(tmp_path / "part-*.parquet")[0] == BOTH
    for third in (table.drop_columns("kwh"), table.set_column(2, "kwh", pa.array(["1", "x"]))):
        pq.write_table(third, tmp_path / "part-3.parquet")
        with pytest.raises(InputError, check=has_code("column-types-differ", "part-3.parquet", "kwh")):
            ask(tmp_path / "part-*.parquet")
    (tmp_path / "c1.csv").write_bytes(b"household,timestamp,kwh\na,2013-02-04,1")
    (tmp_path / "c2.csv").write_bytes(b"household,timestamp,kwh\nb,2013-02-04 01:00,2")
    assert ask(tmp_path / "c*.csv")[0] == BOTH
    (tmp_path / "c3.csv").write_bytes(b"household,kwh,timestamp\n")
    with pytest.raises(InputError, check=has_code("csv-headers-differ", "c3.csv")):
        ask(tmp_path / "c*.csv")


@pytest.mark.parametrize("path", ["s3://bucket/%Y/%m/%d/*.parquet", "hdfs://host/readings.parquet"])
def test_files_of_a_cluster_are_for_spark(path: str) -> None:
    with pytest.raises(InputError, check=has_code("path-not-local")):
        DuckDBEngine(EngineSettings()).open("readings", ReadingsTable(path))


def test_columns_that_differ_in_case_only_are_refused(ask: Any, tmp_path: Path) -> None:
    """The engine would take the one that comes first in a file."""
    for name, columns in (("c1", [*GOOD, "KWH"]), ("c2", ["KWH", *GOOD])):
        pq.write_table(pa.table({**GOOD, "KWH": [7.0, 7.0]}).select(columns), tmp_path / f"{name}.parquet")
    for path in ("c1.parquet", "c*.parquet"):
        with pytest.raises(InputError, check=has_code("columns-differ-in-case")):
            ask(tmp_path / path)


@pytest.mark.parametrize("kind", ["parquet", "milliseconds", "csv"])
def test_a_table_shows_the_parts_that_are_asked_for(kind: str, tmp_path: Path) -> None:
    """Queries that were written before have the rows of those parts, too."""
    for index, kwh in enumerate([[1.0], [2.0, 4.0], [8.0]]):
        times = pa.array([0] * len(kwh), pa.timestamp("ms" if kind == "milliseconds" else "us"))
        columns = {"household": ["a"] * len(kwh), "timestamp": times, "kwh": kwh}
        table = pa.table(dict(reversed(columns.items())) if index == 1 and kind != "csv" else columns)
        name = tmp_path / f"{index}.{'csv' if kind == 'csv' else 'parquet'}"
        (pc.write_csv if kind == "csv" else pq.write_table)(table, name)
    engine = DuckDBEngine(APART_SETTINGS)
    opened = engine.open("readings", ReadingsTable(f"{tmp_path}/*"))
    sums = opened.table.agg(kwh=opened.table.kwh.cast("float64").sum())
    found = [fetch_rows(engine, sums)]
    for parts in ([1], [0], [2, 0], [0, 1, 2]):
        engine.select_parts("readings", parts)
        found.append(fetch_rows(engine, sums))
    assert [row["kwh"] for [row] in found] == [15, 6, 1, 9, 15]
    assert len(opened.keys) == len(set(opened.keys)) == 3


def test_nan_is_seen_in_many_files_and_through_views(ask: Any, tmp_path: Path) -> None:
    table = pa.table(
        {"household": ["a"] * 3, "timestamp": [*WHEN, WHEN[1] + (WHEN[1] - WHEN[0])], "kwh": [1.0, math.nan, 2.0]}
    )
    pq.write_table(table, tmp_path / "part-1.parquet")
    expected = {(0, 0, 0): 1000, (0, 0, 2): 2000}
    with duckdb.connect(str(tmp_path / "views.duckdb")) as con:
        con.execute(f"CREATE VIEW r AS FROM '{tmp_path}/part-1.parquet'").fetchall()
    assert ask(tmp_path / "views.duckdb", table="r")[0] == expected
    pq.write_table(table.slice(0, 0), tmp_path / "part-2.parquet")
    assert ask(tmp_path / "part-*.parquet")[0] == expected


def test_duckdb_tables_and_views(ask: Any, tmp_path: Path) -> None:
    path = tmp_path / "town.duckdb"
    with duckdb.connect(str(path)) as con:
        con.execute("CREATE TYPE id AS ENUM ('a', 'b')").fetchall()
        con.execute("CREATE TABLE r (household id, timestamp TIMESTAMP_S, kwh DECIMAL(9, 3))").fetchall()
        con.execute("INSERT INTO r VALUES ('a', '2013-02-04', 1), ('b', '2013-02-04 01:00:00', 2)").fetchall()
        con.execute("CREATE VIEW h AS SELECT DISTINCT household, kwh - 0.5 AS x, kwh - 0.5 AS y FROM r").fetchall()
    assert ask(path, path, table="r", at={"table": "h"})[0] == BOTH
    for wrong in (None, "R2"):
        with pytest.raises(InputError, check=has_code("table-not-named", "town.duckdb", "h, r")):
            ask(path, table=wrong)


@pytest.mark.parametrize("collated", ["readings", "households"])
def test_collations_do_not_make_two_households_one(ask: Any, tmp_path: Path, collated: str) -> None:
    """Under NOCASE the engine joins and groups `a` with `A`: one household in two cells, or two dropped as one."""
    homes = {"household": ["a", "A"], "x": [0.5, 1.5], "y": [0.5, 1.5]}
    rows = {"household": ["a"], "timestamp": [datetime(2013, 2, 4)], "kwh": [1.0]}  # noqa: DTZ001  # naive on purpose
    path = tmp_path / "town.duckdb"
    with duckdb.connect(str(path)) as con:
        con.register("given", pa.table(rows if collated == "readings" else homes))
        con.execute("CREATE TABLE t AS SELECT household COLLATE NOCASE AS household, * EXCLUDE household FROM given")
    if collated == "readings":
        cube, _ = ask(path, homes, table="t")
    else:
        cube, _ = ask(rows, path, at={"table": "t"})
    assert cube == {(0, 0, 0): 1000}


@pytest.mark.parametrize("folder", ["household=b", "kwh=7", "timestamp=2013-02-04"])
def test_names_of_folders_are_not_columns(ask: Any, tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir()
    pq.write_table(pa.table(GOOD), tmp_path / folder / "r.parquet")
    assert ask(tmp_path / folder / "r.parquet")[0] == BOTH
    assert ask(tmp_path / "*" / "r.parquet")[0] == BOTH
