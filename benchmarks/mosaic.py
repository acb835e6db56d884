"""Compare mosaic with all other methods on two halves of London, one of which nothing was chosen on.

python benchmarks/mosaic.py STUDY.jsonl --lcl PATH --points PATH [--half report] [--mechanisms a,b] [--repeats 10]

A stopped run goes on where it was when it is started again with the same file.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path

from gridveil.cli.study_bar import study_bar
from gridveil.evaluate.halves import HalfTowns
from gridveil.evaluate.study import run_study
from gridveil.evaluate.trial import RunTrial, Trial
from gridveil.mechanisms.registry import names
from gridveil.privacy.bound import Bound

CASES = [
    *product(("250", "1024", "all"), ("uniform", "normal", "density")),
    ("1024", "one-per-cell"),
]
EPSILONS = (1.0, 3.0, 10.0, 30.0)
WORKLOADS = ("random", "small", "large")
CLIP = 1_200
COMMON = Bound(23_000, 150_000)
"""Wh: the fixed public bound that the others have."""


def make_trials(half: str, mechanisms: list[str], repeats: int) -> list[Trial]:
    """Return the trials, repeat by repeat, so that a part is worth something."""
    return [
        Trial(
            dataset=f"{half}-{number}",
            placement=placement,
            mechanism=mechanism,
            epsilon=epsilon,
            bound=COMMON,
            clip=CLIP,
            repeat=repeat,
        )
        for repeat in range(repeats)
        for number, placement in CASES
        for mechanism in mechanisms
        for epsilon in EPSILONS
    ]


def main() -> None:
    """Run the study."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", type=Path)
    parser.add_argument("--lcl", required=True)
    parser.add_argument("--points", required=True)
    parser.add_argument("--weight", default="n_meters_median")
    parser.add_argument("--half", default="report", choices=["tune", "report"])
    parser.add_argument("--mechanisms", default="all")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--workers", type=int)
    given = parser.parse_args()
    mechanisms = names() if given.mechanisms == "all" else given.mechanisms.split(",")
    run = RunTrial(HalfTowns(given.lcl, given.points, given.weight), WORKLOADS)
    trials = make_trials(given.half, mechanisms, given.repeats)
    with study_bar("mosaic") as tell:
        study = run_study(trials, run, given.study, tell, about={"study": "halves of London"}, workers=given.workers)
    for trial, reason in study.failures.items():
        print(trial, reason)


if __name__ == "__main__":
    main()
