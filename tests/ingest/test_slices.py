"""Large files in slices of households: any cuts give the same cube, and where they do not help there are none."""

import re
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.ingest.parted import GRID, ROWS, WINDOW, kept, told, write

from gridveil.ingest import slices, tables
from gridveil.ingest.engines.duckdb_engine import DuckDBEngine
from gridveil.ingest.engines.settings import EngineSettings
from gridveil.ingest.ingest import ingest
from gridveil.ingest.parquet_table import bind_parquet, types_of
from gridveil.ingest.schema import HouseholdsTable, ReadingsTable
from gridveil.ingest.slices import slices_of

IDS = [f"h{number:03}" for number in range(60)]
BY_HOUSEHOLD = [name for name in IDS for _ in range(4)]
STRANGE: list[Any] = [
    "",
    "'; DROP TABLE readings; --",
    '"',
    "ä",
    "Ä",
    "h 1",
    "h1",
    "H1",
    "\U0001f3e0",
    "é",
    "e\u0301",
] * 2
UNTOLD: list[Any] = ["\0", "\U0010ffff", "zz" * 3000]
NUMBERS = [-(2**63), -1, 0, 2**63 - 1]


def file_of(folder: Path, ids: list[Any], rows: int = 24, column: str = "household", **options: Any) -> str:
    """Write a file of ids, so many rows in a group; each row has its place as well."""
    table = pa.table({"place": range(len(ids)), column: ids})
    pq.write_table(table, folder / "ids.parquet", row_group_size=rows, **options)
    return str(folder / "ids.parquet")


def cut_everywhere(patched: pytest.MonkeyPatch) -> None:
    """Let every group of rows begin a slice, though most are read many times."""
    patched.setattr(tables, "SLICE_ROWS", 0)
    patched.setattr(tables, "PART_BYTES", 1)
    patched.setattr(slices, "READ_TWICE", 10**6)


@pytest.fixture
def sliced(monkeypatch: pytest.MonkeyPatch) -> None:
    cut_everywhere(monkeypatch)


def test_slices_of_a_file_in_the_order_of_households(tmp_path: Path) -> None:
    found = slices_of([file_of(tmp_path, BY_HOUSEHOLD)], "household", str, 90)
    assert found == [
        '"household" < \'h024\' OR "household" IS NULL',
        "\"household\" >= 'h024' AND \"household\" < 'h048'",
        "\"household\" >= 'h048'",
    ]
    assert slices_of([file_of(tmp_path, [7] * 30 + [9] * 30, 30, 'a "b"')], 'a "b"', int, 30) == [
        '"a ""b""" < 9 OR "a ""b""" IS NULL',
        '"a ""b""" >= 9',
    ]


@pytest.mark.parametrize(
    ("ids", "options"),
    [
        (BY_HOUSEHOLD[:60], {}),  # a small file
        (IDS * 4, {"rows": 60}),  # in the order of time
        ([name for first in IDS[:10] for name in (first, IDS[-1]) * 12], {}),  # each slice would look at nearly all
        (BY_HOUSEHOLD, {"rows": 1000}),  # one group
        (BY_HOUSEHOLD, {"write_statistics": False}),
        (BY_HOUSEHOLD, {"column": "meter"}),
        ([int(name[1:]) for name in BY_HOUSEHOLD], {}),  # not what the engine says
        ([None] * 24 + BY_HOUSEHOLD, {}),  # a group without an id
        (["h\0"] * 24 + BY_HOUSEHOLD, {}),  # one that cannot be written in a query
        (["h1"] * 240, {}),
    ],
)
def test_files_that_are_read_as_a_whole(ids: list[Any], options: dict[str, Any], tmp_path: Path) -> None:
    assert slices_of([file_of(tmp_path, ids, **options)], "household", str, 60) == [None]


def test_a_part_of_several_files_is_cut_by_all_of_them(tmp_path: Path) -> None:
    files = []
    for name, ids in (("first", BY_HOUSEHOLD[120:]), ("second", BY_HOUSEHOLD[:120])):
        (tmp_path / name).mkdir()
        files.append(file_of(tmp_path / name, ids))
    assert slices_of(files, "household", str, 120)[0] == '"household" < \'h030\' OR "household" IS NULL'


written = st.text(st.characters(categories=["L", "N", "P", "S"]), max_size=3)
ids_of = st.one_of(
    st.lists(st.one_of(st.none(), st.sampled_from(STRANGE), written), min_size=1, max_size=30),
    st.lists(st.one_of(st.none(), st.sampled_from(NUMBERS), st.integers(-3, 3)), min_size=1, max_size=30),
    st.lists(st.one_of(st.sampled_from([None, *UNTOLD, *STRANGE]), st.text()), min_size=1, max_size=30),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ids=ids_of, rows=st.integers(1, 5))
@example(ids=STRANGE, rows=1)
@example(ids=sorted(STRANGE), rows=3)
@example(ids=sorted(NUMBERS * 2), rows=2)
@example(ids=["a", *UNTOLD, "b"], rows=1)
@pytest.mark.usefixtures("sliced")
def test_every_row_and_every_household_is_in_one_slice(
    tmp_path_factory: pytest.TempPathFactory, ids: list[Any], rows: int
) -> None:
    file = file_of(tmp_path_factory.mktemp("ids"), ids, rows)
    kind = str if any(isinstance(name, str) for name in ids) else int
    con = ibis.duckdb.connect()
    found: list[list[tuple[int, Any]]] = []
    conditions = slices_of([file], "household", kind, 0)
    if ids is STRANGE:
        assert len(conditions) == len(set(STRANGE))
    for where in conditions:
        bind_parquet(con, "readings", [file], types_of([file]), where)
        found.append(con.raw_sql("SELECT place, household FROM readings").fetchall())
    con.disconnect()
    assert sorted(place for part in found for place, _ in part) == list(range(len(ids)))
    parts_of = Counter(name for part in found for name in {name for _, name in part})
    assert set(parts_of.values()) == {1}


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    places=st.lists(st.integers(0, 2), min_size=len(ROWS), max_size=len(ROWS)),
    order=st.one_of(st.permutations(ROWS), st.just(sorted(ROWS, key=str))),
    rows=st.integers(1, 6),
)
@pytest.mark.usefixtures("sliced")
def test_any_files_in_any_slices_are_the_same(
    places: list[int],
    order: list[tuple[str, int, float]],
    rows: int,
    expected: tuple[Any, ...],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    groups = [[row for row, place in zip(order, places, strict=True) if place == part] for part in range(3)]
    at = write(tmp_path_factory.mktemp("slices"), groups, row_group_size=rows)
    assert told(*ingest(*at, GRID, WINDOW)) == expected


@pytest.mark.usefixtures("sliced")
def test_a_household_in_slices_of_two_files_is_one(expected: tuple[Any, ...], tmp_path: Path) -> None:
    """Slices of one file have no household in common, those of two may have all."""
    at = write(tmp_path, [sorted(ROWS[::2], key=str), sorted(ROWS[1::2], key=str)], row_group_size=2)
    opened = DuckDBEngine(EngineSettings()).open("readings", at[0])
    assert set(opened.groups) == {0, 1}
    assert len(opened.groups) > 4
    assert told(*ingest(*at, GRID, WINDOW)) == expected


@pytest.mark.usefixtures("sliced")
def test_a_run_goes_on_within_a_file_unless_it_is_cut_otherwise(
    expected: tuple[Any, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at, scratch = write(tmp_path / "tables", [sorted(ROWS, key=str)], row_group_size=3), tmp_path / "scratch"

    def interrupt(stage: str, _: float) -> None:
        if "(3 of " in stage:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest(*at, GRID, WINDOW, EngineSettings(scratch=scratch), interrupt)
    stages: list[str] = []
    again = ingest(*at, GRID, WINDOW, EngineSettings(scratch=scratch), lambda stage, _: stages.append(stage))
    assert told(*again) == expected
    [before] = [stage for stage in stages if "read before" in stage]
    assert before.startswith("3 of ")
    whole = len(kept(scratch))
    monkeypatch.setattr(tables, "SLICE_ROWS", 5)  # as on a machine with more cores
    stages.clear()
    again = ingest(*at, GRID, WINDOW, EngineSettings(scratch=scratch), lambda stage, _: stages.append(stage))
    assert told(*again) == expected
    assert len(kept(scratch)) > whole
    assert not [stage for stage in stages if re.match(r"(\d+) of \1 parts were read before", stage)]


@pytest.mark.parametrize("order", ["household", "timestamp"])
def test_as_large_as_it_takes(order: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups of rows as DuckDB writes them; in the order of households a slice passes over those of others."""
    con = duckdb.connect()
    at, homes = tmp_path / "readings.parquet", tmp_path / "homes.parquet"
    con.execute(
        f"""COPY (SELECT 'h' || lpad(h::VARCHAR, 5, '0') AS household,
                         TIMESTAMP '2013-02-04' + to_minutes(30 * s) AS timestamp, (h % 7) / 10 AS kwh
                  FROM range(40_000) r(h), range(12) q(s) ORDER BY {order}, 1, 2)
            TO '{at}' (FORMAT parquet, ROW_GROUP_SIZE 20_480)"""  # noqa: S608  # ours
    )
    con.execute(
        f"COPY (SELECT DISTINCT household, 0.5 AS x, 0.5 AS y FROM '{at}') TO '{homes}' (FORMAT parquet)"  # noqa: S608
    )
    monkeypatch.setattr(tables, "SLICE_ROWS", 60_000)
    from_slices, reports = [], []
    for _ in range(2):
        readings = ReadingsTable(str(at))
        source, report = ingest(readings, HouseholdsTable(str(homes)), GRID, WINDOW)
        from_slices.append(len(DuckDBEngine(EngineSettings()).open("readings", readings).groups))
        reports.append((told(source, report), report.readings))
        monkeypatch.setattr(tables, "SLICE_ROWS", 10**9)
    assert reports[0] == reports[1]
    assert reports[0][1] == 480_000
    assert from_slices[1] == 1
    assert (from_slices[0] > 1) == (order == "household")
