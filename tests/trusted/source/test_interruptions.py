"""A run that was killed goes on where it was, and what was kept is used for nothing else."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from tests.codes import has_code
from tests.trusted.source.parted import APART, APART_SETTINGS, BOUND, GRID, ROWS, START, WINDOW, kept, told, write

from gridveil import publish
from gridveil.cli.main import main
from gridveil.geography.grid import Grid
from gridveil.model.errors import InputError, UsageError
from gridveil.model.window import Window
from gridveil.publishing import run as publication
from gridveil.publishing import spec
from gridveil.trusted.engines.base.engine import EngineSettings
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable
from gridveil.trusted.engines.duckdb.engine import DuckDBEngine
from gridveil.trusted.source import parts as checkpoints
from gridveil.trusted.source.ingest import ingest
from gridveil.trusted.source.rules import Clock

CHILD = """
import json, signal, sys
from pathlib import Path
from gridveil.trusted.engines.base.engine import EngineSettings
from gridveil.trusted.source.ingest import ingest
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable
from tests.trusted.source.parted import APART, GRID, WINDOW, told
def slow(stage, done):
    if "parts" in stage:
        print(stage, flush=True)
        signal.pause()  # until it is killed
at = ReadingsTable(f"{sys.argv[1]}/part-*.parquet"), HouseholdsTable(f"{sys.argv[1]}/homes.parquet")
where = EngineSettings(**({"scratch": Path(sys.argv[2])} if sys.argv[2] else {"memory": 10**9}), limits=APART)
found = told(*ingest(*at, GRID, WINDOW, where, slow))
print(json.dumps(found))
"""


def child(tables_at: Path, scratch: Path | None) -> subprocess.Popen[str]:
    """Run an ingest in a process of its own that stops after a part, and waits to be killed."""
    command = [sys.executable, "-c", CHILD, str(tables_at), str(scratch or "")]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3])


def test_a_run_that_was_killed_goes_on(expected: tuple[Any, ...], tmp_path: Path) -> None:
    groups = [[row for row in ROWS if row[1] // 3600 == hour] for hour in sorted({row[1] // 3600 for row in ROWS})]
    at, scratch = write(tmp_path / "tables", groups), tmp_path / "scratch"
    victim = child(tmp_path / "tables", scratch)
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
    source, report = ingest(*at, GRID, WINDOW, EngineSettings(scratch=scratch, limits=APART))
    assert first.stat().st_mtime_ns == made
    assert len(kept(scratch)) == len(groups)
    assert not (scratch / "gridveil-scratch" / "aside-x").exists()
    with pytest.raises(UsageError, check=has_code("scratch-in-use")):
        ingest(*at, GRID, WINDOW, EngineSettings(scratch=scratch, limits=APART))
    assert told(source, report) == expected
    assert len(kept(scratch)) == len(groups)  # not before there is a release
    source, _ = ingest(*at, GRID, WINDOW, EngineSettings(scratch=scratch, limits=APART))
    source.forget()
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize("counts", ["there", "missing", "cut off"])
def test_what_was_counted_is_used_again_or_counted_again(
    counts: str, expected: tuple[Any, ...], tmp_path: Path
) -> None:
    at, scratch = write(tmp_path / "tables", [ROWS[:9], ROWS[9:]]), tmp_path / "scratch"
    ingest(*at, GRID, WINDOW, EngineSettings(scratch=scratch, limits=APART))[0].close()
    files = kept(scratch, "counts")
    before = [file.stat().st_mtime_ns for file in (*files, *kept(scratch))]
    assert len(files) == len(kept(scratch)) == 2
    if counts == "missing":
        files[0].unlink()
    elif counts == "cut off":
        files[0].write_bytes(files[0].read_bytes()[:-4])
    assert told(*ingest(*at, GRID, WINDOW, EngineSettings(scratch=scratch, limits=APART))) == expected
    again = [file.stat().st_mtime_ns == was for file, was in zip((*files, *kept(scratch)), before, strict=True)]
    assert again == [counts == "there", True, True, True]


def test_what_was_counted_goes_with_its_part(expected: tuple[Any, ...], tmp_path: Path) -> None:
    """Were counts of an earlier make believed, a step in two parts could pass for one in one, and be bounded twice."""
    at, scratch = write(tmp_path / "tables", [ROWS[:9], ROWS[9:]]), tmp_path / "scratch"
    ingest(*at, GRID, WINDOW, EngineSettings(scratch=scratch, limits=APART))[0].close()
    first, second = kept(scratch, "counts")
    first.write_bytes(second.read_bytes())
    for part in kept(scratch):
        part.unlink()  # as a run that was killed while it took everything away
    assert told(*ingest(*at, GRID, WINDOW, EngineSettings(scratch=scratch, limits=APART))) == expected


def test_a_run_key_knows_the_clock_and_the_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both may be updated between a run and the one that goes on."""
    at, engine = write(tmp_path, [ROWS]), DuckDBEngine(EngineSettings())
    engine.con.raw_sql("CREATE TABLE numbers AS SELECT 'a' AS household, 0::BIGINT AS number")
    numbers = engine.con.table("numbers")
    keys = [checkpoints.make_run_key(engine, numbers, at, GRID, WINDOW) for _ in range(2)]
    with monkeypatch.context() as patched:
        patched.setattr(checkpoints.Clock, "of", lambda *_: Clock((), (3600,)))
        keys.append(checkpoints.make_run_key(engine, numbers, at, GRID, WINDOW))
    found = metadata.version
    for name in ("gridveil", "duckdb", "ibis-framework"):
        with monkeypatch.context() as patched:
            patched.setattr(checkpoints.metadata, "version", lambda of, name=name: "9" if of == name else found(of))
            keys.append(checkpoints.make_run_key(engine, numbers, at, GRID, WINDOW))
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
    victim = child(tmp_path / "tables", None)
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


def test_what_was_kept_is_not_used_for_anything_else(tmp_path: Path) -> None:
    at = write(tmp_path / "tables", [ROWS[:9], ROWS[9:]])
    scratch = EngineSettings(scratch=tmp_path / "scratch", limits=APART)

    def go(
        at: tuple[ReadingsTable, HouseholdsTable], window: Window = WINDOW, grid: Grid = GRID
    ) -> tuple[Any, set[str]]:
        source, report = ingest(*at, grid, window, scratch)
        cube = source.bounded_cube(window, BOUND)
        source.close()
        fresh, other = ingest(*at, grid, window, APART_SETTINGS)
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


def test_a_household_is_one_though_its_number_changed_meanwhile(tmp_path: Path) -> None:
    """A run is interrupted, a household moves in, and the run goes on: all numbers after the new one are others."""
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
    scratch = EngineSettings(scratch=tmp_path / "scratch", limits=APART)
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


def test_going_on_is_told_and_is_no_measure_of_speed(tmp_path: Path) -> None:
    at = write(tmp_path / "tables", [ROWS[:5], ROWS[5:9], ROWS[9:12], ROWS[12:]])
    told: list[tuple[str, float]] = []

    def go() -> None:
        told.clear()
        scratch = EngineSettings(scratch=tmp_path / "scratch", limits=APART)
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
    with pytest.raises(InputError, check=has_code("table-unreadable", "gridveil-scratch")):
        told(*ingest(*at, GRID, WINDOW, EngineSettings(scratch=scratch)))


def test_a_scratch_folder_that_is_not_ours_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, check=has_code("scratch-not-writable")):
        DuckDBEngine(EngineSettings(scratch=tmp_path / "file"))
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "gridveil-scratch").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, check=has_code("scratch-not-private")):
        DuckDBEngine(EngineSettings(scratch=tmp_path))


def test_scratch_is_emptied_by_a_release_and_is_never_in_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    readings, households = write(tmp_path / "tables", [ROWS[:9], ROWS[9:]])
    scratch, out = tmp_path / "scratch", tmp_path / "release"
    monkeypatch.setattr(spec, "EngineSettings", partial(EngineSettings, limits=APART))
    public = {"extent": "0,0,2,2", "grid": "2x2", "start": "2013-02-04T00:00", "steps": 6, "epsilon": 1}
    tables_at = {"readings": readings.path, "households": households.path, "no_ledger": True, "mechanism": "even"}
    with pytest.raises(UsageError, check=has_code("scratch-inside-release")):
        publish(**public, **tables_at, out=out, scratch=out / "scratch")
    with monkeypatch.context() as patched:
        patched.setattr(publication, "write_release", lambda *_, **__: (_ for _ in ()).throw(OSError("no room")))
        with pytest.raises(UsageError, check=has_code("release-not-written")):
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
