"""Large files in slices of households: any cuts give the same cube, and where they do not help there are none."""

import re
import traceback
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
from tests.codes import has_code
from tests.trusted.source.parted import APART, APART_SETTINGS, GRID, ROWS, WINDOW, kept, told, write

from gridveil.model.errors import InputError
from gridveil.model.running import Limits
from gridveil.trusted.engines.base.engine import EngineSettings
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable
from gridveil.trusted.engines.duckdb import parquet_table as slices
from gridveil.trusted.engines.duckdb.engine import DuckDBEngine
from gridveil.trusted.engines.duckdb.parquet_table import bind_parquet, plan_slices, read_types
from gridveil.trusted.source.ingest import ingest

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
    patched.setattr(slices, "_choose_cuts", lambda groups, _: sorted({first for first, _, _ in groups})[1:])


@pytest.fixture
def sliced(monkeypatch: pytest.MonkeyPatch) -> None:
    cut_everywhere(monkeypatch)


def test_slices_of_a_file_in_the_order_of_households(tmp_path: Path) -> None:
    found = plan_slices([file_of(tmp_path, BY_HOUSEHOLD)], "household", str, 90)
    assert found == [
        "\"household\" < 'h024'",
        "\"household\" >= 'h024' AND \"household\" < 'h048'",
        "\"household\" >= 'h048'",
    ]
    assert plan_slices([file_of(tmp_path, [7] * 30 + [9] * 30, 30, 'a "b"')], 'a "b"', int, 30) == [
        '"a ""b""" < 9',
        '"a ""b""" >= 9',
    ]


@pytest.mark.parametrize(
    ("ids", "options"),
    [
        (BY_HOUSEHOLD[:60], {}),  # a small file
        (IDS * 4, {"rows": 60}),  # in the order of time
        ([name for first in IDS[:10] for name in (first, IDS[-1]) * 12], {}),  # each slice would look at nearly all
        ((IDS + IDS[1:]) * 4, {"rows": 59}),  # by time, and some groups begin with the second id
        (BY_HOUSEHOLD, {"rows": 1000}),  # one group
        (BY_HOUSEHOLD, {"write_statistics": False}),
        (BY_HOUSEHOLD, {"column": "meter"}),
        ([int(name[1:]) for name in BY_HOUSEHOLD], {}),  # not what the engine says
        ([None] * 24 + BY_HOUSEHOLD, {}),  # a group without an id
        ([*BY_HOUSEHOLD[:-1], None], {}),
        (["h\0"] * 24 + BY_HOUSEHOLD, {}),  # one that cannot be written in a query
        (["h1"] * 240, {}),
    ],
)
def test_files_that_are_read_as_a_whole(ids: list[Any], options: dict[str, Any], tmp_path: Path) -> None:
    assert plan_slices([file_of(tmp_path, ids, **options)], "household", str, 60) == [None]


def test_a_part_of_several_files_is_cut_by_all_of_them(tmp_path: Path) -> None:
    files = []
    for name, ids in (("first", BY_HOUSEHOLD[120:]), ("second", BY_HOUSEHOLD[:120])):
        (tmp_path / name).mkdir()
        files.append(file_of(tmp_path / name, ids))
    assert plan_slices(files, "household", str, 120)[0] == "\"household\" < 'h030'"


written = st.text(st.characters(categories=["L", "N", "P", "S"]), max_size=3)
ids_of = st.one_of(
    st.lists(st.one_of(st.sampled_from(STRANGE), written), min_size=1, max_size=30),
    st.lists(st.one_of(st.sampled_from(NUMBERS), st.integers(-3, 3)), min_size=1, max_size=30),
    st.lists(st.one_of(st.sampled_from([None, *UNTOLD, *STRANGE]), st.text()), min_size=1, max_size=30),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ids=ids_of, rows=st.integers(1, 5), coded=st.booleans())
@example(ids=STRANGE, rows=1, coded=True)
@example(ids=sorted(STRANGE), rows=3, coded=False)
@example(ids=sorted(NUMBERS * 2), rows=2, coded=True)
@example(ids=["a", *UNTOLD, "b"], rows=1, coded=True)
@example(ids=["h1"] * 5 + ["h2", "h2", None, "h2", "h2"], rows=5, coded=False)  # see slices._groups
@pytest.mark.usefixtures("sliced")
def test_every_row_and_every_household_is_in_one_slice(
    tmp_path_factory: pytest.TempPathFactory, ids: list[Any], rows: int, *, coded: bool
) -> None:
    file = file_of(tmp_path_factory.mktemp("ids"), ids, rows, use_dictionary=coded)
    kind = str if any(isinstance(name, str) for name in ids) else int
    con = ibis.duckdb.connect()
    found: list[list[tuple[int, Any]]] = []
    conditions = plan_slices([file], "household", kind, 0)
    if ids is STRANGE:
        assert len(conditions) == len(set(STRANGE))
    for where in conditions:
        bind_parquet(con, "readings", [file], read_types([file]), where)
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
    assert told(*ingest(*at, GRID, WINDOW, APART_SETTINGS)) == expected


@pytest.mark.usefixtures("sliced")
def test_a_household_in_slices_of_two_files_is_one(expected: tuple[Any, ...], tmp_path: Path) -> None:
    """Slices of one file have no household in common, those of two may have all."""
    at = write(tmp_path, [sorted(ROWS[::2], key=str), sorted(ROWS[1::2], key=str)], row_group_size=2)
    opened = DuckDBEngine(APART_SETTINGS).open("readings", at[0])
    assert set(opened.groups) == {0, 1}
    assert len(opened.groups) > 4
    assert told(*ingest(*at, GRID, WINDOW, APART_SETTINGS)) == expected


@pytest.mark.usefixtures("sliced")
def test_a_run_goes_on_within_a_file_unless_it_is_cut_otherwise(
    expected: tuple[Any, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at, scratch = write(tmp_path / "tables", [sorted(ROWS, key=str)], row_group_size=3), tmp_path / "scratch"
    kept_at = EngineSettings(scratch=scratch, limits=APART)

    def interrupt(stage: str, _: float) -> None:
        if "(3 of " in stage:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ingest(*at, GRID, WINDOW, kept_at, interrupt)
    stages: list[str] = []
    again = ingest(*at, GRID, WINDOW, kept_at, lambda stage, _: stages.append(stage))
    assert told(*again) == expected
    [before] = [stage for stage in stages if "read before" in stage]
    assert before.startswith("3 of ")
    whole = len(kept(scratch))
    everywhere = slices._choose_cuts
    monkeypatch.setattr(slices, "_choose_cuts", lambda *at: everywhere(*at)[1::2])  # as on a machine with more cores
    stages.clear()
    again = ingest(*at, GRID, WINDOW, kept_at, lambda stage, _: stages.append(stage))
    assert told(*again) == expected
    assert len(kept(scratch)) > whole
    assert not [stage for stage in stages if re.match(r"(\d+) of \1 parts were read before", stage)]


@pytest.mark.usefixtures("sliced")
def test_times_in_milliseconds_are_read_as_a_whole(expected: tuple[Any, ...], tmp_path: Path) -> None:
    """They are read through Arrow, which knows no slices: each would have all rows, and be bounded by itself."""
    rows = sorted(ROWS, key=str)
    at = write(tmp_path, [rows[::2], rows[1::2]], row_group_size=2, coerce_timestamps="ms")
    assert str(pq.read_schema(tmp_path / "part-000.parquet").field("timestamp").type) == "timestamp[ms]"
    assert DuckDBEngine(APART_SETTINGS).open("readings", at[0]).groups == (0, 1)
    assert told(*ingest(*at, GRID, WINDOW, APART_SETTINGS)) == expected


def test_a_structure_whose_part_is_named_like_the_column(tmp_path: Path) -> None:
    """Its statistics may hold a date that Python has no number for."""
    far = pa.array([{"b": 2**31 - 1}] * 240, pa.struct([("b", pa.int32())])).cast(pa.struct([("b", pa.date32())]))
    pq.write_table(pa.table({"a.b": BY_HOUSEHOLD, "a": far}), tmp_path / "ids.parquet", row_group_size=24)
    assert plan_slices([str(tmp_path / "ids.parquet")], "a.b", str, 60) == [None]


@pytest.mark.usefixtures("sliced")
def test_statistics_that_are_not_those_of_the_rows_lose_none_silently(tmp_path: Path) -> None:
    rows = [(name, 600 * place, 0.5) for name in ("a111", "b222", "c333") for place in range(4)]
    at = write(tmp_path, [rows], row_group_size=2)
    assert told(*ingest(*at, GRID, WINDOW, APART_SETTINGS))[2] == 12
    file = tmp_path / "part-000.parquet"
    data, _, footer = file.read_bytes().rpartition(b"c333" + b"\x18")  # the end of its last group's statistics
    assert data
    file.write_bytes(data + b"a333" + b"\x18" + footer)
    with pytest.raises(InputError, check=has_code("statistics-wrong")):
        ingest(*at, GRID, WINDOW, APART_SETTINGS)


@pytest.mark.usefixtures("sliced")
def test_no_id_that_a_slice_begins_with_is_shown(tmp_path: Path) -> None:
    """As when a file is replaced while it is read."""
    at = write(tmp_path, [[("secret1", 0, 1.0), ("secret2", 0, 1.0), ("secret3", 0, 1.0)]], row_group_size=1)

    def replace_it(stage: str, _: float) -> None:
        if "1 of 3 parts" in stage:
            pq.write_table(pa.table({"other": [1, 2]}), tmp_path / "part-000.parquet")

    with pytest.raises(InputError, check=has_code("table-unreadable")) as found:
        ingest(*at, GRID, WINDOW, APART_SETTINGS, progress=replace_it)
    assert "secret" not in "".join(traceback.format_exception(found.value))


@pytest.mark.parametrize("order", ["household", "timestamp"])
def test_as_large_as_it_takes(order: str, tmp_path: Path) -> None:
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
    from_slices, reports = [], []
    for rows in (60_000, 10**9):
        settings = EngineSettings(limits=Limits(slice_rows=rows))
        readings = ReadingsTable(str(at))
        source, report = ingest(readings, HouseholdsTable(str(homes)), GRID, WINDOW, settings)
        from_slices.append(len(DuckDBEngine(settings).open("readings", readings).groups))
        reports.append((told(source, report), report.readings))
    assert reports[0] == reports[1]
    assert reports[0][1] == 480_000
    assert from_slices[1] == 1
    assert (from_slices[0] > 1) == (order == "household")
