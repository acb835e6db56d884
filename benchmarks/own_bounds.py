"""Find the bound under which each method does best, on data kept apart for tuning; write its table of bounds.

python benchmarks/own_bounds.py STUDY.jsonl [--lcl PATH] [--repeats N] [--mechanisms a,b] [--epsilons 1,3,10,30]

A stopped run goes on where it was when it is started again with the same file. With --mechanisms or --epsilons only
those entries of the table are made anew.
"""

from __future__ import annotations

import argparse
import json
import statistics
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import gridveil.research.compare
from gridveil.cli import show
from gridveil.mechanisms.base import list_names
from gridveil.research.compare.bounds import FACTORS, KINDS, scaled_bound
from gridveil.research.compare.study import Record, count_trials, run_study
from gridveil.research.compare.trial import RunTrial, Trial
from gridveil.research.datasets.catalogue import open_dataset
from gridveil.research.datasets.dataset import PlacedDataset, place_dataset
from gridveil.trusted.budget import Bound

TABLE = Path(gridveil.research.compare.__file__).parent / "own_bounds.json"
GRID = (32, 32)
PLACEMENT = "uniform"
DATASET = "lcl"
COMMON = Bound(20_000, 192_000)
"""Wh: that of the examples, for 120 hours."""

WORKLOADS = ("random", "large")
EPSILONS = "1,3,10,30"


@dataclass(frozen=True)
class TuningTown:
    """Finds a data set's part for tuning: another week than methods are compared on."""

    lcl: str | None

    def __call__(self, dataset: str, placement: str, seed: int) -> PlacedDataset:
        """Return it placed; every repeat draws other places."""
        data = open_dataset(dataset, Path(self.lcl) if self.lcl else None, tuning=True)
        return place_dataset(data, placement, GRID, seed)


def make_trials(mechanisms: list[str], epsilons: list[float], repeats: int, steps: int) -> list[Trial]:
    return [
        Trial(
            dataset=DATASET,
            placement=PLACEMENT,
            mechanism=mechanism,
            epsilon=epsilon,
            bound=scaled_bound(COMMON, steps, kind, factor),
            clip=COMMON.window // steps,
            repeat=repeat,
            bound_names=(f"{kind} {factor}",),
        )
        for repeat in range(repeats)
        for mechanism in mechanisms
        for epsilon in epsilons
        for kind in KINDS
        for factor in FACTORS
    ]


def best_bounds(records: list[Record]) -> dict[str, dict[str, list[str]]]:
    """Return, for each method and epsilon, the candidate with the smallest median WAPE against the raw truth."""
    errors: dict[tuple[str, str], dict[str, list[float]]] = {}
    for record in records:
        if record["truth"] == "raw":
            candidates = errors.setdefault((record["mechanism"], f"{record['epsilon']:g}"), {})
            candidates.setdefault(record["bound"], []).append(record["wape"])
    table: dict[str, dict[str, list[str]]] = {}
    for (mechanism, epsilon), candidates in errors.items():
        medians = {name: statistics.median(found) for name, found in candidates.items()}
        table.setdefault(mechanism, {})[epsilon] = min(medians, key=medians.__getitem__).split()
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", type=Path)
    parser.add_argument("--lcl", help="the full extract; by default the packaged sample")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--mechanisms", default=",".join(list_names()))
    parser.add_argument("--epsilons", default=EPSILONS)
    given = parser.parse_args()
    town = TuningTown(str(Path(given.lcl).absolute()) if given.lcl else None)
    window = open_dataset(DATASET, Path(given.lcl) if given.lcl else None, tuning=True).window
    epsilons = [float(text) for text in given.epsilons.split(",")]
    trials = make_trials(given.mechanisms.split(","), epsilons, given.repeats, window.steps)
    about: dict[str, Any] = {"tuning": DATASET, "lcl": town.lcl, "grid": GRID, "workloads": WORKLOADS}
    with show.bars() as tell:
        report = count_trials(tell, "tune bounds")
        study = run_study(trials, RunTrial(town, WORKLOADS), given.study, report, about=about)
    for trial, reason in study.failures.items():
        print(f"failed: {trial.mechanism} at epsilon {trial.epsilon:g}, {trial.bound_names[0]}: {reason}")
    bounds: dict[str, dict[str, list[str]]] = json.loads(TABLE.read_text("utf-8"))["bounds"]
    for mechanism, found in best_bounds(study.records).items():
        bounds[mechanism] = {**bounds.get(mechanism, {}), **found}
    part = "full extract" if given.lcl else "packaged sample"
    words = (
        f"Made by benchmarks/own_bounds.py on {datetime.now(UTC).date().isoformat()}: {DATASET} "
        f"({part}), the {window.steps} hours from {window.start.isoformat()} "
        f"(disjoint from those that methods are compared on), {PLACEMENT} on {GRID[0]} x {GRID[1]} cells, common bound "
        f"{COMMON.step / 1000:g} kWh a step and {COMMON.window / 1000:g} kWh in all, {given.repeats} repeats; smallest "
        f"median WAPE against the raw truth over the workloads {' and '.join(WORKLOADS)}."
    )
    _write({"about": words, "bounds": bounds})


def _write(table: dict[str, Any]) -> None:
    """Write the table aside and rename it: one line per method."""
    lines = ",\n".join(f"    {json.dumps(name)}: {json.dumps(found)}" for name, found in table["bounds"].items())
    aside = TABLE.with_suffix(".aside")
    aside.write_text(f'{{\n  "about": {json.dumps(table["about"])},\n  "bounds": {{\n{lines}\n  }}\n}}\n', "utf-8")
    aside.rename(TABLE)


if __name__ == "__main__":
    main()
