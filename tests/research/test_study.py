import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.codes import has_code

from gridveil.model.errors import GridveilError, InputError, UsageError
from gridveil.research.compare.study import Study, run_study


@dataclass(frozen=True)
class Sum:
    a: int
    b: int = 1


def add(trial: Sum) -> list[dict[str, Any]]:
    if trial.a < 0:
        msg = "below zero"
        raise ValueError(msg)
    if trial.a == 666:
        os._exit(1)
    return [{"sum": trial.a + trial.b, "process": os.getpid(), "threads": os.environ.get("OMP_NUM_THREADS")}]


def sums(study: Study[Sum]) -> list[int]:
    return [record["sum"] for record in study.records]


TRIALS = [Sum(a) for a in range(5)]


@pytest.mark.parametrize("workers", [1, 2])
def test_records_come_in_the_order_of_trials(tmp_path: Path, workers: int) -> None:
    seen = []
    study = run_study(TRIALS, add, tmp_path / "s.jsonl", lambda *count: seen.append(count), workers=workers)
    assert sums(study) == [1, 2, 3, 4, 5]
    assert seen == [(done, 5) for done in range(6)]
    assert not study.failures


def test_workers_are_other_processes_with_one_thread_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    study = run_study(TRIALS, add, tmp_path / "s.jsonl", workers=2)
    assert os.getpid() not in {record["process"] for record in study.records}
    assert {record["threads"] for record in study.records} == {"1"}
    assert os.environ["OMP_NUM_THREADS"] == "7"
    assert "MKL_NUM_THREADS" not in os.environ


def test_a_failure_is_told_and_the_others_are_kept(tmp_path: Path) -> None:
    trials = [Sum(1), Sum(-1), Sum(2)]
    study = run_study(trials, add, tmp_path / "s.jsonl", workers=2)
    assert sums(study) == [2, 3]
    ((trial, reason),) = study.failures.items()
    assert trial == Sum(-1)
    assert "ValueError: below zero (test_study.py:" in reason


def test_a_study_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path, ran = tmp_path / "s.jsonl", []

    def noted(trial: Sum) -> list[dict[str, Any]]:
        ran.append(trial)
        return add(trial)

    run_study(TRIALS[:3], noted, path, workers=1)
    text = path.read_text()
    path.write_text(text[:-20])  # killed while it wrote the third trial
    again = run_study([*TRIALS, Sum(-1)], noted, path, workers=1)
    assert sums(again) == [1, 2, 3, 4, 5]
    assert ran == [*TRIALS[:3], *TRIALS[2:], Sum(-1)]
    # What failed is tried again; what is done is not.
    ran.clear()
    assert sums(run_study([*TRIALS, Sum(-1)], noted, path, workers=1)) == [1, 2, 3, 4, 5]
    assert ran == [Sum(-1)]
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_a_study_of_something_else_is_not_mixed_in(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    run_study(TRIALS, add, path, about={"data": "a", "shape": (1, 2)}, workers=1)
    run_study(TRIALS, add, path, about={"data": "a", "shape": (1, 2)}, workers=1)
    with pytest.raises(UsageError, check=has_code("study-other")):
        run_study(TRIALS, add, path, about={"data": "b"}, workers=1)


def test_a_file_that_is_no_study_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("dear diary\n")
    with pytest.raises(InputError, check=has_code("study-unreadable", "line 1")):
        run_study(TRIALS, add, path, workers=1)
    assert path.read_text() == "dear diary\n"


def test_two_studies_do_not_write_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"

    def again(_trial: Sum) -> list[dict[str, Any]]:
        run_study(TRIALS, add, path, workers=1)
        return []

    study = run_study([Sum(1)], again, path, workers=1)
    assert "another study is writing" in study.failures[Sum(1)]


def test_a_worker_that_is_ended_stops_the_study_and_keeps_what_is_done(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    run_study(TRIALS, add, path, workers=1)
    with pytest.raises(GridveilError, check=has_code("worker-ended")):
        run_study([*TRIALS, Sum(666), Sum(7)], add, path, workers=2)
    assert sums(run_study([*TRIALS, Sum(7)], add, path, workers=1)) == [1, 2, 3, 4, 5, 8]


def test_a_killed_study_goes_on(tmp_path: Path) -> None:
    code = """
import os
from pathlib import Path
from tests.research.test_study import TRIALS, add
from gridveil.research.compare.study import run_study
run_study(TRIALS, add, Path("s.jsonl"), lambda done, _: os._exit(9) if done == 2 else None, workers=1)
"""
    root = Path(__file__).parents[2]
    killed = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(root)}, check=False
    )
    assert killed.returncode == 9
    assert len((tmp_path / "s.jsonl").read_text().splitlines()) == 3
    assert sums(run_study(TRIALS, add, tmp_path / "s.jsonl", workers=1)) == [1, 2, 3, 4, 5]
