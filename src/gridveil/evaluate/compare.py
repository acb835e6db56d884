"""Compare mechanisms on data whose truth is known. It looks at true values: nothing that it tells is private."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from gridveil.errors import UsageError
from gridveil.evaluate.ingested import AS_GIVEN, NAME, IngestedTown, digest, ingest_town, save
from gridveil.evaluate.own_bounds import own_bound
from gridveil.evaluate.placements import PLACEMENTS
from gridveil.evaluate.points import read_points
from gridveil.evaluate.study import Study, Tell, run_study
from gridveil.evaluate.trial import RunTrial, Trial, steps_before
from gridveil.evaluate.workloads import expand_workloads
from gridveil.ingest.report import Report
from gridveil.mechanisms.registry import COMPARISON_ONLY, names
from gridveil.privacy.bound import Bound
from gridveil.privacy.budget import PureDP
from gridveil.spec import WH_PER_KWH, Spec

NOT_PRIVATE = (
    "NOT PRIVATE: these figures were computed from true values. Keep them with the readings, and choose mechanism and "
    "settings on public, synthetic or disjoint data; whatever was chosen on the data themselves, say so in the label."
)

EPSILONS = (1.0, 3.0, 10.0, 30.0)
REPEATS = 10


@dataclass(frozen=True)
class Question:
    """What to compare: methods and epsilons, so many repeats, under what placement, clip and workloads.

    clip: kWh of one reading, for the clipped truth; by default a step's share of the window bound.
    points: a table of points and weights, for the placement `density`; `weight` names the column of the weights.
    """

    mechanisms: tuple[str, ...]
    epsilons: tuple[float, ...] = EPSILONS
    repeats: int = REPEATS
    placement: str | None = None
    points: Path | None = None
    weight: str = "weight"
    clip: float | None = None
    workloads: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what cannot be asked before anything is read."""
        known = all_methods()
        unknown = [name for name in self.mechanisms if name not in known]
        if unknown or not self.mechanisms:
            msg = f"there is no mechanism {', '.join(unknown) or 'named'}; there are: {', '.join(known)}"
            raise UsageError(msg)
        if not self.epsilons or self.repeats < 1:
            msg = "give at least one epsilon and one repeat"
            raise UsageError(msg)
        for epsilon in self.epsilons:
            PureDP(epsilon)
        if self.clip is not None and not self.clip > 0:
            msg = f"clip {self.clip}: give kWh above zero, from public statistics"
            raise UsageError(msg)
        if self.placement is not None and self.placement not in PLACEMENTS:
            msg = f"placement {self.placement}: there are {', '.join(PLACEMENTS)}"
            raise UsageError(msg)
        if (self.points is not None) != (self.placement == "density"):
            msg = "placement density draws places from a table of points and weights (--points FILE), and no other does"
            raise UsageError(msg)


def all_methods() -> list[str]:
    """Return the names of all that can be compared: mechanisms first, then the methods for comparison only."""
    return [*names(), *COMPARISON_ONLY]


def compare(
    spec: Spec,
    question: Question,
    keep: Path | None = None,
    progress: Tell = lambda _done, _total: None,
    workers: int | None = None,
) -> tuple[Study[Trial], Report]:
    """Read the tables, run every method under the common bound and under its own, and score them.

    keep: where trials are written down as they finish, so that a stopped comparison goes on when it is asked again.
    workers: processes; by default one per core.
    """
    workloads = expand_workloads(list(question.workloads))
    before = max(steps_before(name) for name in question.mechanisms)
    on_grid = _complete(spec, question)
    common = spec.to_bound()
    if question.points is not None:
        read_points(question.points, question.weight, spec.extent)  # what is wrong with it is told now, not by trials
    town, report = ingest_town(on_grid, before, placed=question.placement is None)
    with tempfile.TemporaryDirectory(prefix="gridveil-") as folder:
        save(town, Path(folder) / "town.npz")
        points = str(question.points.absolute()) if question.points else None
        towns = IngestedTown(str(Path(folder) / "town.npz"), points, question.weight, spec.extent)
        trials = make_trials(question, common, town.dataset.window.steps)
        data = digest(town, question.points, question.weight)
        about = {"gridveil": version("gridveil"), "data": data, "workloads": list(workloads)}
        path = keep or Path(folder) / "study.jsonl"
        forget_fruitless(path)
        study = run_study(trials, RunTrial(towns, workloads), path, progress, about=about, workers=workers)
        return study, report


def make_trials(question: Question, common: Bound, steps: int) -> list[Trial]:
    """Return the trials: repeat by repeat, so that processes share what they prepare, and a part is worth something."""
    clip = question.clip if question.clip is not None else common.window / steps / WH_PER_KWH
    trials = []
    for repeat in range(question.repeats):
        for mechanism in question.mechanisms:
            for epsilon in question.epsilons:
                trial = Trial(
                    dataset=NAME,
                    placement=question.placement or AS_GIVEN,
                    mechanism=mechanism,
                    epsilon=epsilon,
                    bound=common,
                    clip=max(1, round(clip * WH_PER_KWH)),
                    repeat=repeat,
                )
                trials += under_both_bounds(trial, steps)
    return trials


def under_both_bounds(trial: Trial, steps: int) -> list[Trial]:
    """Return a trial under the common bound, which it has, and one under the method's own; or one for both."""
    own = own_bound(trial.mechanism, trial.epsilon, trial.bound, steps)
    if own == trial.bound:
        return [replace(trial, bound_names=("common", "own"))]
    return [replace(trial, bound_names=("common",)), replace(trial, bound=own, bound_names=("own",))]


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


def _complete(spec: Spec, question: Question) -> Spec:
    """Return the spec, refused if anything is missing; a grid of drawn places needs no extent of its own."""
    if question.placement is None and spec.households is None:
        msg = (
            "where are the households? Give their table (--households FILE) or, if they have no places, "
            f"have places drawn (--placement {'|'.join(PLACEMENTS)})"
        )
        raise UsageError(msg)
    if question.placement is not None and spec.extent is None and spec.grid is not None:
        spec = spec.model_copy(update={"extent": (0.0, 0.0, float(spec.grid[0]), float(spec.grid[1]))})
    spec.need("readings", "extent", "grid", "start", "steps", "bound_step", "bound_window")
    return spec


def check_new(paths: Sequence[Path | None]) -> None:
    """Refuse to overwrite anything, before anything is read."""
    for path in paths:
        if path is not None and os.path.lexists(path):
            msg = f"{path}: already there, and never overwritten; give another name"
            raise UsageError(msg)


def write_new(path: Path, content: bytes) -> None:
    """Write a file that is there whole or not at all."""
    check_new([path])
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, aside = tempfile.mkstemp(prefix=".gridveil-", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(aside).rename(path)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise


def as_json(study: Study[Trial]) -> bytes:
    """Return all records of a study as a JSON list, one record a line."""
    lines = ",\n".join(json.dumps(record, allow_nan=False) for record in study.records)
    return f"[\n{lines}\n]\n".encode()
