"""Readings in parts: any partition gives the same cube, and a run that was killed goes on where it was."""

import glob
import os
import signal
import stat
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib import metadata
from pathlib import Path
from typing import Any

import duckdb
import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gridveil import publication, publish
from gridveil.cli.main import main
from gridveil.cube import Grid, Window
from gridveil.errors import GridveilError, InputError, UsageError
from gridveil.ingest import checkpoints, tables
from gridveil.ingest.clock import Clock
from gridveil.ingest.engines.duckdb_engine import DuckDBEngine
from gridveil.ingest.engines.engine import answers
from gridveil.ingest.engines.settings import EngineSettings
from gridveil.ingest.ingest import ingest
from gridveil.ingest.parts import contributions, doubtful
from gridveil.ingest.report import Report
from gridveil.ingest.rules import FAULTY, LARGEST_READING, judged
from gridveil.ingest.schema import HouseholdsTable, ReadingsTable
from gridveil.ingest.source import IngestedSource
from gridveil.privacy.bound import Bound

START = datetime(2013, 2, 4, tzinfo=UTC)
WINDOW = Window(START, timedelta(hours=1), 6)
GRID = Grid(0, 0, 2, 2, 2, 2)
BOUND = Bound(2_000, 5_000)
HOMES = {"household": ["a", "b", "c"], "x": [0.5, 1.5, 1.5], "y": [0.5, 1.5, 0.5]}
ROWS = [
    ("a", 0, 0.5),
    ("a", 1800, 0.7),
    ("a", 1800, 0.2),  # the smaller of two at the same second counts
    ("a", 3600, 9.0),  # above the step bound
    ("b", 3600, 0.1),
    ("b", 3601, 0.2),  # in the same slot, but another second
    ("b", 7200, 1.0),
    ("b", 7200, 1.0),
    ("b", 10800, 2.0),
    ("b", 14400, 2.0),
    ("b", 18000, 2.0),  # above the window bound
    ("c", 7200, 1e300),
    ("c", 9000, 1e12),
    ("c", 10800, -1.0),
    ("c", 10800, float("nan")),
    ("nobody", 3600, 1.0),
    ("c", 10**6, 1.0),
    ("c", 14400, 0.25),
]


def write(folder: Path, groups: list[list[tuple[str, int, float]]]) -> tuple[ReadingsTable, HouseholdsTable]:
    """Write a file for each group of rows."""
    folder.mkdir(parents=True, exist_ok=True)
    schema = pa.schema([("household", pa.string()), ("timestamp", pa.timestamp("us")), ("kwh", pa.float64())])
    for index, rows in enumerate(groups):
        names, seconds, kwh = zip(*rows, strict=True) if rows else ((), (), ())
        times = [(START + timedelta(seconds=second)).replace(tzinfo=None) for second in seconds]
        table = pa.table({"household": list(names), "timestamp": times, "kwh": list(kwh)}, schema=schema)
        pq.write_table(table, folder / f"part-{index:03}.parquet")
    pq.write_table(pa.table(HOMES), folder / "homes.parquet")
    return ReadingsTable(f"{folder}/part-*.parquet"), HouseholdsTable(f"{folder}/homes.parquet")


def told(source: IngestedSource, report: Report) -> tuple[Any, ...]:
    """Return all that is seen of readings, but for examples: those are of the first part that has one."""
    counts = source.count_totals(WINDOW, BOUND.step, np.array([0, 1000, 4000]))
    cube = source.bounded_cube(WINDOW, BOUND)
    slabs = [source.bounded_cube(WINDOW, BOUND, slice(x, x + 1)) for x in range(GRID.nx)]
    np.testing.assert_array_equal(np.concatenate(slabs), cube)
    source.close()
    faults = sorted((fault.what, fault.count) for fault in report.faults)
    return cube.tolist(), counts.tolist(), report.readings, report.counted, faults


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file is a part by itself."""
    monkeypatch.setattr(tables, "PART_BYTES", 1)


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, ...]:
    return told(*ingest(*write(tmp_path_factory.mktemp("whole"), [ROWS]), GRID, WINDOW))


def test_what_one_file_gives(expected: tuple[Any, ...]) -> None:
    """By hand, so that the properties below compare with something that is right."""
    cube, counts, readings, counted, faults = expected
    assert cube[0][0] == [700, 2000, 0, 0, 0, 0]
    assert cube[1][1] == [0, 205, 684, 1369, 1369, 1369]  # 7300 Wh in all, scaled to 5000
    assert cube[1][0] == [0, 0, 2000, 0, 250, 0]
    assert (counts, readings, counted) == ([0, 2, 1], 18, 12)
    assert dict(faults) == {
        "duplicate: same household and second": 2,
        "energy above 1 GWh, counted as 1 GWh": 2,
        "energy missing, unreadable or not finite": 1,
        "energy negative": 1,
        "household not in the table of households": 1,
        "outside the steps read": 1,
    }


def test_steps_without_a_reading_are_told_to_the_operator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """As of a day whose file has another day's readings: all else about it looks well."""
    for steps, words in (
        ([0, 1, 2, 3, 4, 5], ""),
        ([0, 1, 2, 3, 5], "in 1 step, that of 2013-02-04 04:00 UTC: is a file missing"),
        ([1, 4], "in 4 steps, from 2013-02-04 00:00 to 2013-02-04 05:00 UTC: is a file missing"),
    ):
        at = write(tmp_path / str(len(steps)), [[("a", 3600 * step, 0.5)] for step in steps])
        source, report = ingest(*at, GRID, WINDOW)
        source.close()
        assert words in str(report)
        assert ("WARNING" in str(report)) == bool(words)
        where = "--extent=0,0,2,2", "--grid=2x2", "--start=2013-02-04T00:00", "--steps=6"
        monkeypatch.setattr(sys, "argv", ["gridveil", "check", at[0].path, f"--households={at[1].path}", *where])
        with suppress(SystemExit):
            main()
        assert (f"WARNING: no reading counts {words}" in capfd.readouterr().out) == bool(words)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(places=st.lists(st.integers(0, 3), min_size=len(ROWS), max_size=len(ROWS)), order=st.permutations(ROWS))
@pytest.mark.usefixtures("apart")
def test_any_partition_in_any_order_is_the_same(
    places: list[int],
    order: list[tuple[str, int, float]],
    expected: tuple[Any, ...],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    groups = [[row for row, place in zip(order, places, strict=True) if place == part] for part in range(4)]
    assert told(*ingest(*write(tmp_path_factory.mktemp("parts"), groups), GRID, WINDOW)) == expected


@pytest.mark.usefixtures("apart")
@pytest.mark.parametrize("by", [lambda row: row[0], lambda row: row[1] // 3600, lambda row: row[1] // 5400])
def test_files_by_household_by_step_and_across_steps(
    by: Callable[[Any], Any], expected: tuple[Any, ...], tmp_path: Path
) -> None:
    groups = [[row for row in ROWS if by(row) == key] for key in sorted({by(row) for row in ROWS})]
    assert told(*ingest(*write(tmp_path, groups), GRID, WINDOW)) == expected


def test_many_parts(monkeypatch: pytest.MonkeyPatch, expected: tuple[Any, ...], tmp_path: Path) -> None:
    """Small files are read together, and a hundred of them are no burden."""
    at = write(tmp_path, [[row] for row in ROWS] + [[]] * 100)
    found = [len(DuckDBEngine(EngineSettings()).open("readings", at[0]).keys)]
    monkeypatch.setattr(tables, "PART_BYTES", 30_000)
    found.append(len(DuckDBEngine(EngineSettings()).open("readings", at[0]).keys))
    assert found[0] == 1
    assert 1 < found[1] < 20
    assert told(*ingest(*at, GRID, WINDOW)) == expected


@pytest.mark.usefixtures("apart")
@pytest.mark.parametrize("name", ["step=1", "number=0", "wh=7", "s[1]*?"])
def test_the_name_of_a_scratch_folder_means_nothing(name: str, expected: tuple[Any, ...], tmp_path: Path) -> None:
    at = write(tmp_path / name / "tables", [ROWS[:9], ROWS[9:]])
    at = ReadingsTable(f"{glob.escape(str(tmp_path / name))}/tables/part-*.parquet"), at[1]
    for _ in ("first", "again"):
        found = told(*ingest(*at, GRID, WINDOW, EngineSettings(scratch=tmp_path / name / "scratch")))
        assert found == expected
    assert len(kept(tmp_path / name / "scratch")) == 2


def test_scratch_may_lie_in_the_lake(expected: tuple[Any, ...], tmp_path: Path) -> None:
    at = write(tmp_path / "2013" / "02", [ROWS[:9], ROWS[9:]])
    at = ReadingsTable(f"{tmp_path}/2013/**/[!h]*.parquet"), at[1]
    for _ in ("first", "again"):
        assert told(*ingest(*at, GRID, WINDOW, EngineSettings(scratch=tmp_path / "2013"))) == expected
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
    table = engine.keep("part", contributions(rows, WINDOW))
    [found] = answers(engine, table.mutate(doubtful=doubtful(engine, table)))
    assert (found["wh"], found["readings"], found["doubtful"]) == (LARGEST_READING, 3600, True)
    texts = rows.mutate(wh=ibis.null("float64"), time_text=ibis.null("string"), energy_text=ibis.null("string"))
    numbers = rows.select("household", "number").distinct()
    [found] = answers(engine, contributions(judged(texts.drop("number", "step"), numbers, WINDOW), WINDOW))
    assert (found["number"], found["wh"], found["readings"]) == (FAULTY, 0, 3600)


CHILD = """
import json, sys, time
from pathlib import Path
from tests.ingest.test_parts import *
tables.PART_BYTES = 1
def slow(stage, done):
    if "parts" in stage:
        print(stage, flush=True)
        time.sleep(float(sys.argv[3]))
at = ReadingsTable(f"{sys.argv[1]}/part-*.parquet"), HouseholdsTable(f"{sys.argv[1]}/homes.parquet")
where = EngineSettings(scratch=Path(sys.argv[2])) if sys.argv[2] else EngineSettings(memory=10**9)
found = told(*ingest(*at, GRID, WINDOW, where, slow))
print(json.dumps(found))
"""


def child(tables_at: Path, scratch: Path | None, seconds: float) -> subprocess.Popen[str]:
    """Run an ingest in a process of its own that waits so long after each part."""
    command = [sys.executable, "-c", CHILD, str(tables_at), str(scratch or ""), str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2])


def kept(scratch: Path, what: str = "parts") -> list[Path]:
    """Return the files of parts, or those of what is counted in them."""
    files = sorted(scratch.glob("gridveil-scratch/*.parquet"))
    return [file for file in files if file.stem.endswith("-counts") == (what == "counts")]


def test_a_run_that_was_killed_goes_on(
    expected: tuple[Any, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = [[row for row in ROWS if row[1] // 3600 == hour] for hour in sorted({row[1] // 3600 for row in ROWS})]
    at, scratch = write(tmp_path / "tables", groups), tmp_path / "scratch"
    victim = child(tmp_path / "tables", scratch, 100)
    assert victim.stdout is not None
    assert victim.stdout.readline().startswith("read the tables (1 of 7 parts")
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    victim.stdout.close()
    [first] = kept(scratch)
    made = first.stat().st_mtime_ns
    for file in (first, *kept(scratch, "counts")):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(first.parent.stat().st_mode) == 0o700
    # What a run that is killed while it writes would leave:
    (scratch / "gridveil-scratch" / "aside-x").mkdir()
    (scratch / "gridveil-scratch" / "aside-x" / first.name).write_bytes(b"PAR1 and no more")
    monkeypatch.setattr(tables, "PART_BYTES", 1)
    source, report = ingest(*at, GRID, WINDOW, EngineSettings(scratch=scratch))
    assert first.stat().st_mtime_ns == made
    assert len(kept(scratch)) == len(groups)
    assert not (scratch / "gridveil-scratch" / "aside-x").exists()
    with pytest.raises(UsageError, match="another run is using it"):
        ingest(*at, GRID, WINDOW, EngineSettings(scratch=scratch))
    assert told(source, report) == expected
    assert len(kept(scratch)) == len(groups)  # not before there is a release
    source, _ = ingest(*at, GRID, WINDOW, EngineSettings(scratch=scratch))
    source.forget()
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("counts", ["there", "missing", "cut off"])
@pytest.mark.usefixtures("apart")
def test_what_was_counted_is_used_again_or_counted_again(
    counts: str, expected: tuple[Any, ...], tmp_path: Path
) -> None:
    at, scratch = write(tmp_path / "tables", [ROWS[:9], ROWS[9:]]), tmp_path / "scratch"
    ingest(*at, GRID, WINDOW, EngineSettings(scratch=scratch))[0].close()
    files = kept(scratch, "counts")
    before = [file.stat().st_mtime_ns for file in (*files, *kept(scratch))]
    assert len(files) == len(kept(scratch)) == 2
    if counts == "missing":
        files[0].unlink()
    elif counts == "cut off":
        files[0].write_bytes(files[0].read_bytes()[:-4])
    assert told(*ingest(*at, GRID, WINDOW, EngineSettings(scratch=scratch))) == expected
    again = [file.stat().st_mtime_ns == was for file, was in zip((*files, *kept(scratch)), before, strict=True)]
    assert again == [counts == "there", True, True, True]


@pytest.mark.usefixtures("apart")
def test_what_was_counted_goes_with_its_part(expected: tuple[Any, ...], tmp_path: Path) -> None:
    """Were counts of an earlier make believed, a step in two parts could pass for one in one, and be bounded twice."""
    at, scratch = write(tmp_path / "tables", [ROWS[:9], ROWS[9:]]), tmp_path / "scratch"
    ingest(*at, GRID, WINDOW, EngineSettings(scratch=scratch))[0].close()
    first, second = kept(scratch, "counts")
    first.write_bytes(second.read_bytes())
    for part in kept(scratch):
        part.unlink()  # as a run that was killed while it took everything away
    assert told(*ingest(*at, GRID, WINDOW, EngineSettings(scratch=scratch))) == expected


def test_a_run_key_knows_the_clock_and_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both may be updated between a run and the one that goes on."""
    at, engine = write(tmp_path, [ROWS]), DuckDBEngine(EngineSettings())
    engine.con.raw_sql("CREATE TABLE numbers AS SELECT 'a' AS household, 0::BIGINT AS number")
    numbers = engine.con.table("numbers")
    keys = [checkpoints.run_key(engine, numbers, at, GRID, WINDOW) for _ in range(2)]
    with monkeypatch.context() as patched:
        patched.setattr(checkpoints.Clock, "of", lambda *_: Clock((), (3600,)))
        keys.append(checkpoints.run_key(engine, numbers, at, GRID, WINDOW))
    found = metadata.version
    for name in ("gridveil", "duckdb", "ibis-framework"):
        with monkeypatch.context() as patched:
            patched.setattr(checkpoints.metadata, "version", lambda of, name=name: "9" if of == name else found(of))
            keys.append(checkpoints.run_key(engine, numbers, at, GRID, WINDOW))
    assert keys[0] == keys[1]
    assert len(set(keys)) == 5
    engine.close()


def test_what_a_run_without_scratch_left_when_it_was_killed_is_taken_away_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    write(tmp_path / "tables", [ROWS[:9], ROWS[9:]])
    victim = child(tmp_path / "tables", None, 100)
    assert victim.stdout is not None
    assert "1 of 2 parts" in victim.stdout.readline()
    [left] = temporary.glob("gridveil-run-*")
    assert stat.S_IMODE(left.stat().st_mode) == 0o700
    assert list(left.glob("*.parquet"))
    others = [temporary / name for name in ("gridveil-run-new", "gridveil-scratch", "gridveil-run-file")]
    others[0].mkdir()  # as of a run that starts at this moment, and has no lock yet
    (others[1] / "lock").mkdir(parents=True)
    others[2].touch()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "lock").touch()
    (temporary / "gridveil-run-link").symlink_to(tmp_path / "elsewhere")
    DuckDBEngine(EngineSettings()).close()
    assert list(left.glob("*.parquet"))  # it is still running
    victim.send_signal(signal.SIGKILL)
    victim.wait()
    victim.stdout.close()
    engine = DuckDBEngine(EngineSettings())
    assert not left.exists()
    [ours] = set(temporary.iterdir()) - {*others, temporary / "gridveil-run-link"}
    assert (tmp_path / "elsewhere" / "lock").exists()
    engine.close()
    assert not ours.exists()


@pytest.mark.usefixtures("apart")
def test_what_was_kept_is_not_used_for_anything_else(tmp_path: Path) -> None:
    at, scratch = write(tmp_path / "tables", [ROWS[:9], ROWS[9:]]), EngineSettings(scratch=tmp_path / "scratch")

    def go(
        at: tuple[ReadingsTable, HouseholdsTable], window: Window = WINDOW, grid: Grid = GRID
    ) -> tuple[Any, set[str]]:
        source, report = ingest(*at, grid, window, scratch)
        cube = source.bounded_cube(window, BOUND)
        source.close()
        fresh, other = ingest(*at, grid, window)
        np.testing.assert_array_equal(fresh.bounded_cube(window, BOUND), cube)
        assert other == report
        return cube.tolist(), {file.name for file in kept(tmp_path / "scratch")}

    cube, first = go(at)
    assert go(at) == (cube, first)
    for change in (
        lambda: go((replace(at[0], unit="Wh"), at[1])),
        lambda: go(at, window=Window(START + timedelta(hours=1), timedelta(hours=1), 4)),
        lambda: go(at, grid=Grid(0, 0, 3, 3, 2, 2)),
        lambda: go((at[0], write(tmp_path / "moved", [])[1])),
    ):
        _, names = change()
        assert len(names) == len(first)
        assert not names & first  # and the old ones are gone
    go(at)
    file = tmp_path / "tables" / "part-001.parquet"
    size, times = file.stat().st_size, (file.stat().st_atime_ns, file.stat().st_mtime_ns)
    write(tmp_path / "tables", [ROWS[:9], [*ROWS[9:-1], ("c", 14400, 0.5)]])
    assert file.stat().st_size == size
    os.utime(file, ns=times)  # as rsync and cp -p do
    changed, _ = go(at)
    assert changed != cube


def test_a_household_is_one_though_its_number_changed_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run is interrupted, a household moves in, and the run goes on: all numbers after the new one are others."""
    monkeypatch.setattr(tables, "PART_BYTES", 1)
    rows = [[("b", 3600 * step, 2.0) for step in half] for half in (range(3), range(3, 6))]
    at = write(tmp_path / "tables", rows)[0], HouseholdsTable(str(tmp_path / "homes.duckdb"), table="homes")

    def move_in(*homes: tuple[str, float, float]) -> None:
        Path(at[1].path).unlink(missing_ok=True)
        with duckdb.connect(at[1].path) as database:
            database.execute("CREATE TABLE homes (household VARCHAR, x DOUBLE, y DOUBLE)")
            database.executemany("INSERT INTO homes VALUES (?, ?, ?)", homes)

    def interrupt(stage: str, _: float) -> None:
        if "1 of 2 parts" in stage:
            raise KeyboardInterrupt

    move_in(("b", 0.5, 0.5), ("c", 1.5, 1.5))
    scratch = EngineSettings(scratch=tmp_path / "scratch")
    with pytest.raises(KeyboardInterrupt):
        ingest(*at, GRID, WINDOW, scratch, interrupt)
    [before] = kept(tmp_path / "scratch")
    move_in(("a", 0.5, 0.5), ("b", 0.5, 0.5), ("c", 1.5, 1.5))
    source, _ = ingest(*at, GRID, WINDOW, scratch)
    assert source.bounded_cube(WINDOW, BOUND).sum() <= BOUND.window  # all of it is b's
    source.close()
    assert not before.exists()
    kept_now = [(file, file.stat().st_mtime_ns) for file in kept(tmp_path / "scratch")]
    move_in(("c", 1.5, 1.5), ("b", 0.5, 0.5), ("a", 0.5, 0.5))  # the same in another order
    ingest(*at, GRID, WINDOW, scratch)[0].close()
    assert [(file, file.stat().st_mtime_ns) for file in kept(tmp_path / "scratch")] == kept_now


@pytest.mark.usefixtures("apart")
def test_going_on_is_told_and_is_no_measure_of_speed(tmp_path: Path) -> None:
    at = write(tmp_path / "tables", [ROWS[:5], ROWS[5:9], ROWS[9:12], ROWS[12:]])
    told: list[tuple[str, float]] = []

    def go() -> None:
        told.clear()
        scratch = EngineSettings(scratch=tmp_path / "scratch")
        ingest(*at, GRID, WINDOW, scratch, lambda stage, done: told.append((stage, done)))[0].close()

    go()
    assert [done for stage, done in told if "of 4 parts, " in stage] == [0.25, 0.5, 0.75, 1.0]
    again = "look again at doubtful readings"
    assert told[-3:] == [("read the tables", 1.0), (again, 0.0), (again, 1.0)]
    for file in sorted(kept(tmp_path / "scratch"), key=lambda file: file.stat().st_mtime_ns)[2:]:
        file.unlink()
    go()
    assert told.count(("2 of 4 parts were read before.", 1.0)) == 1
    assert [done for stage, done in told if "of 4 parts, " in stage] == [0.5, 1.0]  # of what was left
    go()
    assert ("4 of 4 parts were read before.", 1.0) in told
    assert not [stage for stage, _ in told if "readings/s" in stage]


def test_a_damaged_result_is_computed_again(expected: tuple[Any, ...], tmp_path: Path) -> None:
    at, scratch = write(tmp_path / "tables", [ROWS[:9], ROWS[9:]]), tmp_path / "scratch"
    ingest(*at, GRID, WINDOW, EngineSettings(scratch=scratch))[0].close()
    kept(scratch)[0].write_bytes(b"PAR1")
    assert told(*ingest(*at, GRID, WINDOW, EngineSettings(scratch=scratch))) == expected
    [whole] = kept(scratch)
    whole.write_bytes(whole.read_bytes()[:4] + bytes(200) + whole.read_bytes()[204:])  # whole at its end only
    with pytest.raises(InputError, match=r"scratch may be damaged: take gridveil-scratch away from there"):
        told(*ingest(*at, GRID, WINDOW, EngineSettings(scratch=scratch)))


def test_a_scratch_folder_that_is_not_ours_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="no private folder can be made there"):
        DuckDBEngine(EngineSettings(scratch=tmp_path / "file"))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "gridveil-scratch").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="it is a link"):
        DuckDBEngine(EngineSettings(scratch=tmp_path))


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
    with pytest.raises(GridveilError, match=r"homes[.]parquet: the engine needs more memory for it; give a larger --m"):
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
        with pytest.raises(GridveilError, match="the engine needs more memory for it"):
            ask(replace(source, table=con.table("many")))
        source.close()


def test_no_words_of_the_engine_reach_anybody_when_the_kernel_asks(tmp_path: Path) -> None:
    source, _ = ingest(*write(tmp_path, [ROWS]), GRID, WINDOW)
    broken = replace(source, table=source.table.mutate(wh=ibis.literal("secret").cast("int64")))
    with pytest.raises(InputError, match="its words may hold rows") as cube:
        broken.bounded_cube(WINDOW, BOUND)
    with pytest.raises(InputError, match="its words may hold rows") as counts:
        broken.count_totals(WINDOW, BOUND.step, np.array([0, 1000]))
    for found in (cube, counts):
        assert "secret" not in "".join(traceback.format_exception(found.value))
    source.close()


@pytest.mark.usefixtures("apart")
def test_scratch_is_emptied_by_a_release_and_is_never_in_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    readings, households = write(tmp_path / "tables", [ROWS[:9], ROWS[9:]])
    scratch, out = tmp_path / "scratch", tmp_path / "release"
    public = {"extent": "0,0,2,2", "grid": "2x2", "start": "2013-02-04T00:00", "steps": 6, "epsilon": 1}
    tables_at = {"readings": readings.path, "households": households.path, "no_ledger": True, "mechanism": "even"}
    with pytest.raises(UsageError, match="inside the release"):
        publish(**public, **tables_at, out=out, scratch=out / "scratch")
    with monkeypatch.context() as patched:
        patched.setattr(publication, "write_release", lambda *_, **__: (_ for _ in ()).throw(OSError("no room")))
        with pytest.raises(UsageError, match="could not be written"):
            publish(**public, **tables_at, out=out, scratch=scratch)
    assert len(kept(scratch)) == 2
    stages: list[str] = []
    publish(**public, **tables_at, out=out, scratch=scratch, progress=lambda stage, _: stages.append(stage))
    assert list(scratch.iterdir()) == []
    assert "2 of 2 parts were read before." in stages
    flags = [f"--{name.replace('_', '-')}={value}" for name, value in public.items()]
    command = ["publish", readings.path, f"--households={households.path}", *flags, "--mechanism=even", "--no-ledger"]
    more = [f"--out={tmp_path / 'second'}", f"--scratch={scratch}", "--memory=1GB", "--engine=duckdb"]
    monkeypatch.setattr(sys, "argv", ["gridveil", *command, *more])
    with suppress(SystemExit):
        main()
    assert (tmp_path / "second").is_dir()
    said = capfd.readouterr()
    assert "readings/s" not in said.out
    assert {"read the tables", "bound and sum the households"} <= set(said.err.splitlines())
    assert "the tables" not in said.out
    assert "\x1b" not in said.err
    assert list(scratch.iterdir()) == []
    for file in (tmp_path / "second").iterdir():
        assert b"scratch" not in file.read_bytes()
        assert b"duckdb" not in file.read_bytes()
