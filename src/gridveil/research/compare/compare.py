"""Compare mechanisms on data whose truth is known. It looks at true values: nothing that it tells is private."""

from __future__ import annotations

import fcntl
import json
import tempfile
from importlib.metadata import version
from pathlib import Path

from gridveil.model.errors import UsageError
from gridveil.publishing.spec import Spec
from gridveil.research.compare.question import ComparisonQuestion, TrialBounds, make_trials, parse_method
from gridveil.research.compare.study import Study, Tell, run_study
from gridveil.research.compare.trial import RunTrial, Trial, steps_before
from gridveil.research.datasets.ingested import IngestedTown, digest, ingest_town, save
from gridveil.research.datasets.placements import PLACEMENTS
from gridveil.research.datasets.points import read_points
from gridveil.simulate.workloads import expand_workloads
from gridveil.trusted.source.report import Report

NOT_PRIVATE = (
    "NOT PRIVATE: these figures were computed from true values. Keep them with the readings, and choose mechanism and "
    "settings on public, synthetic or disjoint data; whatever was chosen on the data themselves, say so in the label."
)


def compare(
    spec: Spec,
    question: ComparisonQuestion,
    keep: Path | None = None,
    progress: Tell = lambda _done, _total: None,
    workers: int | None = None,
) -> tuple[Study[Trial], Report]:
    """Read the tables, run every method under the common bound and its own, or a private one, and score them.

    A window bound in the spec is the common one; without it, or with `bound="auto"` beside it, every method runs under
    a bound that it chooses privately and pays for.
    keep: where trials are written down as they finish, so that a stopped comparison goes on when it is asked again.
    workers: processes; by default one per core.
    """
    workloads = expand_workloads(list(question.workloads))
    before = max(steps_before(*parse_method(method)) for method in question.mechanisms)
    on_grid = _complete(spec, question)
    bounds = TrialBounds.of(on_grid)
    if question.points is not None:
        read_points(question.points, question.weight, spec.extent)  # what is wrong with it is told now, not by trials
    town, report = ingest_town(on_grid, before, placed=question.placement is None)
    with tempfile.TemporaryDirectory(prefix="gridveil-") as folder:
        save(town, Path(folder) / "town.npz")
        points = str(question.points.absolute()) if question.points else None
        towns = IngestedTown(str(Path(folder) / "town.npz"), points, question.weight, spec.extent)
        trials = make_trials(question, bounds, town.dataset.window.steps)
        data = digest(town, question.points, question.weight)
        about = {"gridveil": version("gridveil"), "data": data, "workloads": list(workloads)}
        path = keep or Path(folder) / "study.jsonl"
        forget_fruitless(path)
        study = run_study(trials, RunTrial(towns, workloads), path, progress, about=about, workers=workers)
        return study, report


def forget_fruitless(path: Path) -> None:
    """Empty a study's file that holds no successful trial: nothing is lost, and a study of other settings may begin."""
    if not path.is_file():
        return
    with path.open("r+", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return  # another study is writing to it, as the next one to open it is told
        try:
            head, *trials = (json.loads(line) for line in file if line.endswith("\n"))
            ours = set(head) == {"study"} and all("trial" in trial for trial in trials)
        except (ValueError, TypeError):
            return  # not a study's file
        if ours and not any("records" in trial for trial in trials):
            file.truncate(0)


def _complete(spec: Spec, question: ComparisonQuestion) -> Spec:
    """Return the spec, refused if anything is missing; a grid of drawn places needs no extent of its own."""
    if question.placement is None and spec.households is None:
        msg = (
            "where are the households? Give their table (--households FILE) or, if they have no places, "
            f"have places drawn (--placement {'|'.join(PLACEMENTS)})"
        )
        raise UsageError(msg, code="households-missing")
    if question.placement is not None and spec.extent is None and spec.grid is not None:
        spec = spec.model_copy(update={"extent": (0.0, 0.0, float(spec.grid[0]), float(spec.grid[1]))})
    spec.need("readings", "extent", "grid", "start", "steps")
    return spec


def as_json(study: Study[Trial]) -> bytes:
    """Return all records of a study as a JSON list, one record a line."""
    lines = ",\n".join(json.dumps(record, allow_nan=False) for record in study.records)
    return f"[\n{lines}\n]\n".encode()
