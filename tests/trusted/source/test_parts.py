"""Readings in parts: any partition gives the same cube."""

import glob
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.codes import has_code
from tests.trusted.source.parted import APART, APART_SETTINGS, BOUND, GRID, ROWS, WINDOW, kept, told, write

from gridveil.cli.main import main
from gridveil.model.errors import GridveilError, InputError
from gridveil.model.running import Limits
from gridveil.trusted.engines.base.engine import EngineSettings, fetch_rows
from gridveil.trusted.engines.base.schema import ReadingsTable
from gridveil.trusted.engines.duckdb.engine import DuckDBEngine
from gridveil.trusted.source.ingest import ingest
from gridveil.trusted.source.parts import is_doubtful, sum_contributions
from gridveil.trusted.source.rules import FAULTY, LARGEST_READING, classify_readings


def test_what_one_file_gives(expected: tuple[Any, ...]) -> None:
    """By hand, so that the properties below compare with something that is right."""
    cube, counts, readings, counted, faults = expected
    assert cube[0][0] == [700, 2000, 0, 0, 0, 0]
    assert cube[1][1] == [0, 205, 684, 1369, 1369, 1369]  # 7300 Wh in all, scaled to 5000
    assert cube[1][0] == [0, 0, 2000, 0, 250, 0]
    assert (counts, readings, counted) == ([0, 2, 1], 18, 12)
    assert dict(faults) == {
        "reading-duplicate": 2,
        "energy-too-large": 2,
        "energy-unreadable": 1,
        "energy-negative": 1,
        "household-unknown": 1,
        "reading-outside-steps": 1,
    }


def test_steps_without_a_reading_are_told_to_the_operator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """As of a day whose file has another day's readings: all else about it looks well."""
    for steps, empty, words in (
        ([0, 1, 2, 3, 4, 5], 0, ""),
        ([0, 1, 2, 3, 5], 1, "that of 2013-02-04 04:00 UTC"),
        ([1, 4], 4, "from 2013-02-04 00:00 to 2013-02-04 05:00 UTC"),
    ):
        at = write(tmp_path / str(len(steps)), [[("a", 3600 * step, 0.5)] for step in steps])
        source, report = ingest(*at, GRID, WINDOW)
        source.close()
        assert words in str(report)
        assert [warning.code for warning in report.warnings] == ["steps-without-readings"] * bool(empty)
        assert [warning.figures["steps"] for warning in report.warnings] == [empty] * bool(empty)
        where = "--extent=0,0,2,2", "--grid=2x2", "--start=2013-02-04T00:00", "--steps=6"
        monkeypatch.setattr(sys, "argv", ["gridveil", "check", at[0].path, f"--households={at[1].path}", *where])
        with suppress(SystemExit):
            main()
        assert ("[steps-without-readings]" in capfd.readouterr().out) == bool(empty)


@pytest.mark.parametrize(
    ("unit", "kwh", "codes"),
    [
        ("kWh", 0.4, []),
        ("kWh", 400.0, [("readings-too-large", 23_000)]),
        ("Wh", 0.4, [("readings-too-small", 5)]),
        ("Wh", 400.0, []),
    ],
)
def test_a_wrong_unit_is_told_to_the_operator(
    unit: Any, kwh: float, codes: list[tuple[str, int]], tmp_path: Path
) -> None:
    """And one row that is out of its mind is none."""
    rows = [(name, 3600 * step, kwh) for name in "abc" for step in range(6)]
    at = write(tmp_path, [rows, [("a", 0, 1e300)]])
    source, report = ingest(replace(at[0], unit=unit), at[1], GRID, WINDOW)
    source.close()
    assert [(warning.code, warning.figures["watts"]) for warning in report.warnings] == codes


@pytest.mark.parametrize(
    ("halves", "timestamps", "shares"),
    [
        (range(12), "start", []),
        (range(12), "end", [{"last": 0.5}]),
        (range(1, 12), "start", [{"first": 0.5}]),
    ],
)
def test_ends_that_are_not_whole_are_told_to_the_operator(
    halves: range, timestamps: Any, shares: list[dict[str, float]], tmp_path: Path
) -> None:
    """As they are where times are taken for others."""
    at = write(tmp_path, [[(name, 1800 * half, 0.4) for name in "abc" for half in halves]])
    source, report = ingest(replace(at[0], timestamps=timestamps), at[1], GRID, WINDOW)
    source.close()
    assert [warning.to_record() for warning in report.warnings] == [
        {"code": "edge-steps-incomplete", **share} for share in shares
    ]


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(places=st.lists(st.integers(0, 3), min_size=len(ROWS), max_size=len(ROWS)), order=st.permutations(ROWS))
def test_any_partition_in_any_order_is_the_same(
    places: list[int],
    order: list[tuple[str, int, float]],
    expected: tuple[Any, ...],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    groups = [[row for row, place in zip(order, places, strict=True) if place == part] for part in range(4)]
    assert told(*ingest(*write(tmp_path_factory.mktemp("parts"), groups), GRID, WINDOW, APART_SETTINGS)) == expected


@pytest.mark.parametrize("by", [lambda row: row[0], lambda row: row[1] // 3600, lambda row: row[1] // 5400])
def test_files_by_household_by_step_and_across_steps(
    by: Callable[[Any], Any], expected: tuple[Any, ...], tmp_path: Path
) -> None:
    groups = [[row for row in ROWS if by(row) == key] for key in sorted({by(row) for row in ROWS})]
    assert told(*ingest(*write(tmp_path, groups), GRID, WINDOW, APART_SETTINGS)) == expected


def test_many_parts(expected: tuple[Any, ...], tmp_path: Path) -> None:
    """Small files are read together, and a hundred of them are no burden."""
    at = write(tmp_path, [[row] for row in ROWS] + [[]] * 100)
    found = [len(DuckDBEngine(EngineSettings()).open("readings", at[0]).keys)]
    grouped = EngineSettings(limits=Limits(part_bytes=30_000))
    found.append(len(DuckDBEngine(grouped).open("readings", at[0]).keys))
    assert found[0] == 1
    assert 1 < found[1] < 20
    assert told(*ingest(*at, GRID, WINDOW, grouped)) == expected


@pytest.mark.parametrize("name", ["step=1", "number=0", "wh=7", "s[1]*?"])
def test_the_name_of_a_scratch_folder_means_nothing(name: str, expected: tuple[Any, ...], tmp_path: Path) -> None:
    at = write(tmp_path / name / "tables", [ROWS[:9], ROWS[9:]])
    at = ReadingsTable(f"{glob.escape(str(tmp_path / name))}/tables/part-*.parquet"), at[1]
    for _ in ("first", "again"):
        found = told(*ingest(*at, GRID, WINDOW, EngineSettings(scratch=tmp_path / name / "scratch", limits=APART)))
        assert found == expected
    assert len(kept(tmp_path / name / "scratch")) == 2


def test_scratch_may_lie_in_the_lake(expected: tuple[Any, ...], tmp_path: Path) -> None:
    at = write(tmp_path / "2013" / "02", [ROWS[:9], ROWS[9:]])
    at = ReadingsTable(f"{tmp_path}/2013/**/[!h]*.parquet"), at[1]
    for _ in ("first", "again"):
        assert told(*ingest(*at, GRID, WINDOW, EngineSettings(scratch=tmp_path / "2013", limits=APART))) == expected
    assert kept(tmp_path / "2013")


def test_names_of_files_are_no_patterns(expected: tuple[Any, ...], tmp_path: Path) -> None:
    """To the engine, `r[1].parquet` would be `r1.parquet`."""
    at = write(tmp_path, [ROWS[:9], ROWS[9:]])
    for part, name in zip(sorted(tmp_path.glob("part-*")), ("r1.parquet", "r[1].parquet"), strict=True):
        part.rename(tmp_path / name)
    assert told(*ingest(replace(at[0], path=f"{tmp_path}/r*.parquet"), at[1], GRID, WINDOW)) == expected


def test_no_number_of_rows_makes_a_sum_fail() -> None:
    """A few rows stand for the billions that it takes; those that do not count are not even summed."""
    engine = DuckDBEngine(EngineSettings())
    engine.con.raw_sql(
        "CREATE TABLE many AS SELECT 0 AS number, 1 AS step, 2::BIGINT ** 62 AS wh, i AS second, "
        "'a' AS household FROM range(3600) r(i)"
    )
    rows = engine.con.table("many").mutate(wh=ibis._.wh.cast("int64"))
    table = engine.keep("part", sum_contributions(rows, WINDOW))
    [found] = fetch_rows(engine, table.mutate(doubtful=is_doubtful(engine, table)))
    assert (found["wh"], found["readings"], found["doubtful"]) == (LARGEST_READING, 3600, True)
    texts = rows.mutate(wh=ibis.null("float64"), time_text=ibis.null("string"), energy_text=ibis.null("string"))
    numbers = rows.select("household", "number").distinct()
    [found] = fetch_rows(
        engine, sum_contributions(classify_readings(texts.drop("number", "step"), numbers, WINDOW), WINDOW)
    )
    assert (found["number"], found["wh"], found["readings"]) == (FAULTY, 0, 3600)


def test_memory_is_limited_and_the_rest_goes_to_disk(tmp_path: Path) -> None:
    engine = DuckDBEngine(EngineSettings(memory=256 * 10**6, scratch=tmp_path))
    limit = engine.con.raw_sql("SELECT current_setting('memory_limit')").fetchall()
    assert limit == [("244.1 MiB",)]
    engine.con.raw_sql("CREATE TABLE large AS SELECT hash(i) AS h FROM range(50_000_000) r(i)").fetchall()  # 400 MB
    assert any(tmp_path.rglob("aside-*/spill/*"))
    engine.close()
    assert list(tmp_path.iterdir()) == []


def test_too_little_memory_is_told_at_any_time(tmp_path: Path) -> None:
    """While tables are read, and when the kernel asks."""
    at = write(tmp_path, [ROWS])
    with pytest.raises(GridveilError, check=has_code("memory-too-small", "homes.parquet")):
        ingest(*at, GRID, WINDOW, EngineSettings(memory=10**6))
    for ask in (
        lambda large: large.bounded_cube(WINDOW, BOUND),
        lambda large: large.count_totals(WINDOW, BOUND.step, np.array([0, 1000])),
    ):
        source, _ = ingest(*at, GRID, WINDOW)
        assert isinstance(source.engine, DuckDBEngine)
        con = source.engine.con
        con.raw_sql("CREATE VIEW many AS SELECT i AS number, 0 AS step, 1 AS wh FROM range(1_000_000) r(i)")
        con.raw_sql("SET memory_limit = '2MB'")
        with pytest.raises(GridveilError, check=has_code("memory-too-small")):
            ask(replace(source, table=con.table("many")))
        source.close()


def test_no_words_of_the_engine_reach_anybody_when_the_kernel_asks(tmp_path: Path) -> None:
    source, _ = ingest(*write(tmp_path, [ROWS]), GRID, WINDOW)
    broken = replace(source, table=source.table.mutate(wh=ibis.literal("secret").cast("int64")))
    with pytest.raises(InputError, check=has_code("table-unreadable", "its words may hold rows")) as cube:
        broken.bounded_cube(WINDOW, BOUND)
    with pytest.raises(InputError, check=has_code("table-unreadable", "its words may hold rows")) as counts:
        broken.count_totals(WINDOW, BOUND.step, np.array([0, 1000]))
    for found in (cube, counts):
        assert "secret" not in "".join(traceback.format_exception(found.value))
    source.close()
