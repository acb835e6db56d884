"""The experiments: lists of trials, in full and as a quick look, and the stages in which they are run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from gridveil.research.compare.compare import EPSILONS, REPEATS, all_methods
from gridveil.research.compare.study import Record
from gridveil.research.compare.trial import RunTrial, Trial
from gridveil.research.paper.trials import (
    LONDON,
    STANDINS,
    PaperTowns,
    PatternTrial,
    RunPattern,
    RunRuntime,
    RuntimeTrial,
    clip_of,
    common_bound,
    method_bound,
    plain_clip,
)
from gridveil.simulate.rehearse import expand_workloads

Parameters = tuple[tuple[str, Any], ...]

PAPER_EPSILON = 30.0
PAPER_PLACEMENTS = ("uniform", "normal")
PAPER_PER_POINT = 0.1
"""The paper's epsilon of 10 for the pattern, over its 100 training steps."""

PATTERN_DEPTHS = {"stpt": 5, "stpt-paper": 3, "stpt-leaky": 2}
"""Of the quadtree, by method: the depth at which the budget of the pattern is varied."""

SLOW = ("stpt", "stpt-paper", "stpt-leaky")
"""They train a network: run last, so that a study that is stopped early has all the others."""

LEAK_METHODS = ("even", "outer", *SLOW)
AUTHORS_SETTINGS: Parameters = (("train_steps", 72), ("depth", 2), ("epochs", 5), ("buckets", 150))
"""Of their code: `stpt-paper` with them is what that code could be without reading raw data."""
LEAK_PLACEMENT = "one-per-cell"
"""The authors' data have one household in a cell at most."""


@dataclass(frozen=True)
class ExperimentSize:
    """How much of everything to run. `panels` says which placements the stand-ins have at which epsilon."""

    repeats: int
    london: tuple[float, ...]
    panels: tuple[tuple[float, tuple[str, ...]], ...]
    own_bounds: bool
    per_point: tuple[float, ...]
    depths: tuple[int, ...]
    buckets: tuple[int, ...]
    detail_sets: tuple[str, ...]
    leak_sets: tuple[str, ...]
    leak_epsilons: tuple[float, ...]
    runtime_repeats: int


FULL = ExperimentSize(
    repeats=REPEATS,
    london=EPSILONS,
    panels=tuple((epsilon, PAPER_PLACEMENTS) for epsilon in reversed(EPSILONS)),
    own_bounds=True,
    per_point=(0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5),
    depths=(0, 1, 2, 3, 4, 5),
    buckets=(10, 20, 50, 100, 150, 200),
    detail_sets=(LONDON,),
    leak_sets=(LONDON, *STANDINS),
    leak_epsilons=(3.0, 30.0),
    runtime_repeats=3,
)
QUICK = ExperimentSize(
    repeats=1,
    london=(3.0, 30.0),
    panels=((30.0, PAPER_PLACEMENTS), (3.0, ("uniform",))),
    own_bounds=False,
    per_point=(0.01, 0.05, 0.1, 0.5),
    depths=(0, 2, 3),
    buckets=(10, 50, 200),
    detail_sets=(LONDON,),
    leak_sets=(LONDON, "CA"),
    leak_epsilons=(30.0,),
    runtime_repeats=1,
)


def list_london(size: ExperimentSize, placements: tuple[str, ...]) -> list[Trial]:
    """Return the comparison of all methods on measured London households."""
    cases = _list_cases(size, [LONDON], placements, size.london)
    return sort_by_cost(trial for case in cases for trial in _both_bounds(case, own=size.own_bounds))


def list_panels(size: ExperimentSize, epsilon: float) -> list[Trial]:
    """Return the paper's comparison panels at one epsilon: its four data sets (stand-ins) in both placements."""
    placements = dict(size.panels)[epsilon]
    cases = _list_cases(size, STANDINS, placements, [epsilon])
    return sort_by_cost(trial for case in cases for trial in _both_bounds(case, own=size.own_bounds))


def list_patterns(size: ExperimentSize) -> list[PatternTrial]:
    """Return the patterns against the budget, and against the depth of the tree (the paper's figures a, b, e, f)."""
    trials = [
        PatternTrial(dataset, "uniform", method, per_point, depth, clip_of(dataset), repeat)
        for repeat, dataset, method in product(range(size.repeats), size.detail_sets, PATTERN_DEPTHS)
        for per_point, depth in dict.fromkeys(
            [(each, PATTERN_DEPTHS[method]) for each in size.per_point]
            + [(PAPER_PER_POINT, each) for each in size.depths]
        )
    ]
    return list(dict.fromkeys(trials))


def list_buckets(size: ExperimentSize) -> list[Trial]:
    """Return error against the number of buckets k (the paper's figure c), under the paper's clip."""
    parameters: dict[str, Parameters] = {"stpt-paper": (), "stpt": (("partition", "quantized"),)}
    return [
        replace(
            _trial(dataset, "uniform", method, PAPER_EPSILON, repeat),
            bound=plain_clip(dataset),
            parameters=(*parameters[method], ("buckets", count)),
        )
        for repeat, dataset, method, count in product(range(size.repeats), size.detail_sets, parameters, size.buckets)
    ]


def list_leak(size: ExperimentSize) -> list[Trial]:
    """Return what the authors' code is worth beside honest methods, where it is at home: one household in a cell."""
    methods: list[tuple[str, Parameters]] = [(name, ()) for name in LEAK_METHODS]
    methods.append(("stpt-paper", AUTHORS_SETTINGS))
    return sort_by_cost(
        replace(
            _trial(dataset, LEAK_PLACEMENT, method, epsilon, repeat), bound=plain_clip(dataset), parameters=parameters
        )
        for repeat, dataset, epsilon, (method, parameters) in product(
            range(size.repeats), size.leak_sets, size.leak_epsilons, methods
        )
    )


def list_runtimes(size: ExperimentSize) -> list[RuntimeTrial]:
    """Return every method, to be timed (the paper's figure d)."""
    return [
        RuntimeTrial(method, PAPER_EPSILON, repeat)
        for repeat, method in product(range(size.runtime_repeats), all_methods())
    ]


def sort_by_cost(trials: Iterable[Trial]) -> list[Trial]:
    """Return trials with those that train networks last, otherwise as they come."""
    return sorted(trials, key=lambda trial: trial.mechanism in SLOW)


def _list_cases(
    size: ExperimentSize, datasets: Iterable[str], placements: Iterable[str], epsilons: Iterable[float]
) -> Iterator[Trial]:
    """Yield trials repeat by repeat: a part of them is worth something, and processes share what they prepare."""
    methods = all_methods()
    for repeat, dataset, placement in product(range(size.repeats), datasets, placements):
        for epsilon, method in product(epsilons, methods):
            yield _trial(dataset, placement, method, epsilon, repeat)


def _trial(dataset: str, placement: str, method: str, epsilon: float, repeat: int) -> Trial:
    return Trial(dataset, placement, method, epsilon, common_bound(dataset), clip_of(dataset), repeat)


def _both_bounds(trial: Trial, *, own: bool) -> list[Trial]:
    """Return a trial under the common bound and, if that is another, under the method's own."""
    bound = method_bound(trial.dataset, trial.mechanism, trial.epsilon)
    if not own or bound == trial.bound:
        return [trial]
    return [trial, replace(trial, bound=bound, bound_names=("own",))]


@dataclass(frozen=True)
class Stage:
    """Trials of one kind that are run together, and written to `<file>.jsonl` together with stages of the same file."""

    file: str
    title: str
    trials: tuple[Any, ...]
    run: Callable[[Any], list[Record]]
    workers: int | None = None


def make_stages(size: ExperimentSize, towns: PaperTowns) -> list[Stage]:
    """Return all stages in the order in which they are run."""
    run, run_authors = RunTrial(towns), RunTrial(towns, expand_workloads(["authors"]))
    placements = (*PAPER_PLACEMENTS, *(["density"] if towns.points else []))
    papers = list_panels(size, PAPER_EPSILON)
    others = [epsilon for epsilon, _ in size.panels if epsilon != PAPER_EPSILON]
    rest = sorted((trial for each in others for trial in list_panels(size, each)), key=lambda trial: trial.repeat)
    quick, slow = (tuple(trial for trial in rest if (trial.mechanism in SLOW) == learns) for learns in (False, True))
    named = ", ".join(f"{epsilon:g}" for epsilon in others)
    return [
        Stage("london", "London", tuple(list_london(size, placements)), run),
        Stage("panels", f"stand-ins at epsilon {PAPER_EPSILON:g}", tuple(papers), run),
        Stage("leak", "what the leak is worth", tuple(list_leak(size)), run_authors),
        Stage("buckets", "buckets", tuple(list_buckets(size)), run),
        Stage("panels", f"stand-ins at epsilon {named}", quick, run),
        Stage("pattern", "patterns", tuple(list_patterns(size)), RunPattern(towns)),
        Stage("runtime", "run times", tuple(list_runtimes(size)), RunRuntime(towns), workers=1),
        Stage("panels", f"stand-ins at epsilon {named}, networks", slow, run),
    ]
