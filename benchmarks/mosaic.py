"""Compare mosaic with all other methods on two halves of London, one of which nothing was chosen on.

python benchmarks/mosaic.py STUDY.jsonl --lcl PATH --points PATH [--half report] [--bound common] [--methods a,b:x=y]
python benchmarks/mosaic.py STUDY.jsonl --lcl PATH --points PATH --authors     as the code of STPT's authors scores

A stopped run goes on where it was when it is started again with the same file; `benchmarks/mosaic_report.py` makes
tables and a figure of several such files.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import product
from pathlib import Path

from gridveil.cli import show
from gridveil.mechanisms.base import list_names
from gridveil.research.compare.compare import parse_method
from gridveil.research.compare.study import count_trials, run_study
from gridveil.research.compare.trial import AUTO, RunTrial, Trial
from gridveil.research.datasets.london import HalfTowns
from gridveil.trusted.budget import Bound

CASES = [*product(("250", "1024", "all"), ("uniform", "normal", "density")), ("1024", "one-per-cell")]
EPSILONS = (1.0, 3.0, 10.0, 30.0)
WORKLOADS = ("random", "small", "large")
AUTHORS = ("authors-random", "authors-small", "authors-five", "authors-large")
CLIP = 1_200
STEPS = 120
BOUNDS = {"common": Bound(23_000, 150_000), AUTO: Bound(23_000, 23_000 * STEPS)}
"""Wh: a fixed public bound, and none, below which every method chooses one privately and pays for it."""
CLIPPED = Bound(CLIP, CLIP * STEPS)


def make_trials(half: str, bound: str, methods: list[str], epsilons: list[float], repeats: int) -> Iterator[Trial]:
    """Yield the trials, repeat by repeat, so that a part is worth something."""
    for repeat, (number, placement), method, epsilon in product(range(repeats), CASES, methods, epsilons):
        name, parameters = parse_method(method)
        yield Trial(
            dataset=f"{half}-{number}",
            placement=placement,
            mechanism=name,
            epsilon=epsilon,
            bound=BOUNDS[bound],
            clip=CLIP,
            repeat=repeat,
            parameters=parameters,
            bound_names=(bound,),
        )


def authors_trials(half: str, repeats: int) -> Iterator[Trial]:
    """Yield what is scored as the authors' code does: one household a cell, readings clipped, theirs at epsilon 30."""
    asked = [("stpt-leaky", (30.0,)), ("mosaic", (1.0, 3.0, 10.0)), ("mosaic:noise=staircase", (10.0,))]
    for repeat, (method, epsilons) in product(range(repeats), asked):
        name, parameters = parse_method(method)
        for epsilon in epsilons:
            yield Trial(
                dataset=f"{half}-1024",
                placement="one-per-cell",
                mechanism=name,
                epsilon=epsilon,
                bound=CLIPPED,
                clip=CLIP,
                repeat=repeat,
                parameters=parameters,
                bound_names=("common" if name == "stpt-leaky" else AUTO,),
            )


def main() -> None:
    """Run a study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", type=Path)
    parser.add_argument("--lcl", required=True, help="readings_hourly.parquet")
    parser.add_argument("--points", required=True, help="where meters are, for the placement density")
    parser.add_argument("--weight", default="n_meters_median")
    parser.add_argument("--half", default="report", choices=["tune", "report"])
    parser.add_argument("--bound", default="common", choices=list(BOUNDS))
    parser.add_argument("--methods", default=",".join(list_names()))
    parser.add_argument("--epsilons", default=",".join(f"{epsilon:g}" for epsilon in EPSILONS))
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--authors", action="store_true")
    given = parser.parse_args()
    towns = HalfTowns(given.lcl, given.points, given.weight)
    workloads: tuple[str, ...]
    if given.authors:
        trials, workloads = list(authors_trials(given.half, given.repeats)), AUTHORS
    else:
        epsilons = [float(epsilon) for epsilon in given.epsilons.split(",")]
        methods = given.methods.split(",")
        trials = list(make_trials(given.half, given.bound, methods, epsilons, given.repeats))
        workloads = WORKLOADS
    about = {"study": "halves of London"}
    with show.bars() as tell:
        report = count_trials(tell, "mosaic")
        study = run_study(trials, RunTrial(towns, workloads), given.study, report, about=about, workers=given.workers)
    for trial, reason in study.failures.items():
        print(trial, reason)


if __name__ == "__main__":
    main()
