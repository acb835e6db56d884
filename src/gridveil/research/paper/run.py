"""Runs all stages of the paper's evaluation, resumes where it stopped, and finds what has been done."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path

from gridveil.model.errors import InputError
from gridveil.research.compare.scoring import Record
from gridveil.research.compare.study import run_study
from gridveil.research.paper.stages import Stage
from gridveil.research.paper.towns import PaperTowns

LINES = ".jsonl"


@dataclass(frozen=True)
class Progress:
    """How far the whole run is: trials, and the seconds that were estimated for those done and for all."""

    stage: str
    done: int
    total: int
    seconds_done: float
    seconds: float


@dataclass
class Results:
    """All records by file (`london`, `panels`, ...), and how many trials are done of how many."""

    records: dict[str, list[Record]] = field(default_factory=dict)
    done: int = 0
    total: int = 0


def estimate(stages: Sequence[Stage], out: Path) -> Progress:
    """Return how much of all stages is done already."""
    done = total = 0
    seconds_done = seconds = 0.0
    for stage in stages:
        known = _known(out / f"{stage.file}{LINES}")
        for trial in stage.trials:
            cost, here = stage.seconds(trial), _key(trial) in known
            done, total = done + here, total + 1
            seconds_done, seconds = seconds_done + cost * here, seconds + cost
    return Progress("", done, total, seconds_done, seconds)


def run_stages(
    stages: Sequence[Stage], towns: PaperTowns, out: Path, tell: Callable[[Progress], None], after: Callable[[], None]
) -> list[str]:
    """Run what is not done yet, stage by stage, and return what failed. `after` is called when a stage is through."""
    about = {"gridveil": version("gridveil"), **towns.about()}
    at, failures = estimate(stages, out), []
    done, seconds_done = at.done, at.seconds_done
    for stage in stages:
        path = out / f"{stage.file}{LINES}"
        known = _known(path)
        costs = [stage.seconds(trial) for trial in stage.trials if _key(trial) not in known]
        before = len(stage.trials) - len(costs)

        def told(
            finished: int,
            _all: int,
            stage: Stage = stage,
            base: int = done - before,
            seconds: float = seconds_done,
            costs: list[float] = costs,
            before: int = before,
        ) -> None:
            tell(
                Progress(stage.title, base + finished, at.total, seconds + sum(costs[: finished - before]), at.seconds)
            )

        study = run_study(stage.trials, stage.run, path, told, about=about, workers=stage.workers)
        failures += [f"{stage.title}: {trial}: {reason}" for trial, reason in study.failures.items()]
        done, seconds_done = done + len(costs), seconds_done + sum(costs)
        if costs:
            after()
    return failures


def read_results(stages: Sequence[Stage], out: Path) -> Results:
    """Return what is done of all stages, without running anything."""
    results = Results()
    for stage in stages:
        known = _known(out / f"{stage.file}{LINES}")
        found = [known[key] for trial in stage.trials if (key := _key(trial)) in known]
        results.records.setdefault(stage.file, []).extend(record for records in found for record in records)
        results.done += len(found)
        results.total += len(stage.trials)
    return results


def _key(trial: object) -> str:
    """Return a trial as a study's file has it."""
    return json.dumps(asdict(trial), sort_keys=True)  # type: ignore[call-overload]  # a dataclass


def _known(path: Path) -> dict[str, list[Record]]:
    """Return the records of a study's file by trial; the last line may be cut short, or not be there yet."""
    if not path.exists():
        return {}
    known = {}
    for line in path.read_text("utf-8").splitlines(keepends=True):
        if not line.endswith("\n"):
            break
        try:
            held = json.loads(line)
        except json.JSONDecodeError as error:
            msg = f"{path}: not a study's file; move it away, or choose another --out"
            raise InputError(msg, code="study-unreadable") from error
        if "records" in held:
            known[json.dumps(held["trial"], sort_keys=True)] = held["records"]
    return known
