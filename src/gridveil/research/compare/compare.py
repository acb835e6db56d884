"""Compare mechanisms on data whose truth is known. It reads true values: nothing of a comparison is private."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from gridveil.mechanisms.base import COMPARISON_ONLY, list_names, make
from gridveil.model.arrays import WH_PER_KWH
from gridveil.model.errors import UsageError
from gridveil.publishing.spec import Spec
from gridveil.research.compare.bounds import TrialBounds
from gridveil.research.compare.study import Study, Tell, discard_failures, run_study
from gridveil.research.compare.trial import RunTrial, Trial, steps_before
from gridveil.research.datasets.dataset import PLACEMENTS, read_points
from gridveil.research.datasets.ingested import AS_GIVEN, NAME, IngestedTown, hash_town, ingest_town, save_town
from gridveil.simulate.rehearse import expand_workloads
from gridveil.trusted.budget import PureDP
from gridveil.trusted.source.report import Report

NOT_PRIVATE = (
    "NOT PRIVATE: these figures were computed from true values. Keep them with the readings, and choose mechanism and "
    "settings on public, synthetic or disjoint data; whatever was chosen on the data themselves, say so in the label."
)

EPSILONS = (1.0, 3.0, 10.0, 30.0)
REPEATS = 10


@dataclass(frozen=True)
class ComparisonQuestion:
    """What to compare: methods and epsilons, so many repeats, under what placement, clip and workloads.

    mechanisms: names, with parameters behind colons if they are to be other than the defaults: `outer:share=0.5`.
    clip: kWh of one reading, for the clipped truth; by default a step's share of the window bound, or the step bound
        where the window's is chosen privately.
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
        unknown = [name for name, _ in map(parse_method, self.mechanisms) if name not in known]
        if unknown or not self.mechanisms:
            msg = f"there is no mechanism {', '.join(unknown) or 'named'}; there are: {', '.join(known)}"
            raise UsageError(msg, code="mechanism-unknown")
        for name, parameters in map(parse_method, self.mechanisms):
            if name not in COMPARISON_ONLY:
                make(name, dict(parameters))
            elif parameters:
                msg = f"{name} has no parameters to set"
                raise UsageError(msg, code="parameter-unknown")
        if not self.epsilons or self.repeats < 1:
            msg = "give at least one epsilon and one repeat"
            raise UsageError(msg, code="no-epsilon")
        for epsilon in self.epsilons:
            PureDP(epsilon)
        if self.clip is not None and not self.clip > 0:
            msg = f"clip {self.clip}: give kWh above zero, from public statistics"
            raise UsageError(msg, code="clip-invalid")
        if self.placement is not None and self.placement not in PLACEMENTS:
            msg = f"placement {self.placement}: there are {', '.join(PLACEMENTS)}"
            raise UsageError(msg, code="placement-unknown")
        if (self.points is not None) != (self.placement == "density"):
            msg = "placement density draws places from a table of points and weights (--points FILE), and no other does"
            raise UsageError(msg, code="placement-points")


def parse_method(text: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return the name and the parameters of a method.

    >>> parse_method("stpt:depth=4:epochs=2")
    ('stpt', (('depth', '4'), ('epochs', '2')))
    """
    name, *settings = text.split(":")
    pairs = [setting.partition("=") for setting in settings]
    if not all(equals for _, equals, _ in pairs):
        msg = f"{text}: write parameters of a mechanism as NAME:PARAMETER=VALUE, e.g. outer:share=0.5"
        raise UsageError(msg, code="parameter-syntax")
    return name, tuple((parameter.strip(), value.strip()) for parameter, _, value in pairs)


def all_methods() -> list[str]:
    """Return the names of all that can be compared: mechanisms first, then the methods for comparison only."""
    return [*list_names(), *COMPARISON_ONLY]


def make_trials(question: ComparisonQuestion, bounds: TrialBounds, steps: int) -> list[Trial]:
    """Return the trials: repeat by repeat, so that processes share what they prepare, and a part is worth something."""
    public = bounds.common or bounds.of_steps
    clip = question.clip if question.clip is not None else public.window / steps / WH_PER_KWH
    trials = []
    for repeat in range(question.repeats):
        for mechanism, parameters in map(parse_method, question.mechanisms):
            for epsilon in question.epsilons:
                trial = Trial(
                    dataset=NAME,
                    placement=question.placement or AS_GIVEN,
                    mechanism=mechanism,
                    epsilon=epsilon,
                    bound=public,
                    clip=max(1, round(clip * WH_PER_KWH)),
                    repeat=repeat,
                    parameters=parameters,
                )
                trials += bounds.apply(trial, steps)
    return trials


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
    on_grid = _complete_spec(spec, question)
    bounds = TrialBounds.of(on_grid)
    if question.points is not None:
        read_points(question.points, question.weight, spec.extent)  # fails now, not in a trial
    town, report = ingest_town(on_grid, before, placed=question.placement is None)
    with tempfile.TemporaryDirectory(prefix="gridveil-") as folder:
        save_town(town, Path(folder) / "town.npz")
        points = str(question.points.absolute()) if question.points else None
        towns = IngestedTown(str(Path(folder) / "town.npz"), points, question.weight, spec.extent)
        trials = make_trials(question, bounds, town.dataset.window.steps)
        data = hash_town(town, question.points, question.weight)
        about = {"gridveil": version("gridveil"), "data": data, "workloads": list(workloads)}
        path = keep or Path(folder) / "study.jsonl"
        discard_failures(path)
        study = run_study(trials, RunTrial(towns, workloads), path, progress, about=about, workers=workers)
        return study, report


def _complete_spec(spec: Spec, question: ComparisonQuestion) -> Spec:
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
