"""How often 95 % intervals hold the true consumption, over many releases: noise, households and places drawn anew.

python benchmarks/coverage.py STUDY.jsonl --lcl PATH --points PATH [--half report] [--methods mosaic] [--repeats 200]

Prints a table: for each case, epsilon and workload the coverage of all queries and of those whose truth is not zero,
with 95 % intervals over releases (queries of one release share its noise), and the mean width relative to the truth.
A stopped run goes on where it was when it is started again with the same file.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections import defaultdict
from dataclasses import dataclass
from datetime import timedelta
from itertools import product
from pathlib import Path
from typing import Any

from mosaic import BOUNDS, CASES, CLIP, EPSILONS, WORKLOADS

from gridveil.cli import show
from gridveil.mechanisms.base import make
from gridveil.model.arrays import WH_PER_KWH, box_sums, prefix_sums
from gridveil.publishing.run import release_with_private_bound
from gridveil.research.compare.compare import parse_method
from gridveil.research.compare.study import count_trials, run_study
from gridveil.research.compare.trial import AUTO, Trial
from gridveil.research.datasets.london import HalfTowns
from gridveil.simulate.rehearse import QUERIES, draw_workload
from gridveil.simulate.sources import SeededLaplace
from gridveil.trusted.budget import PureDP
from gridveil.trusted.kernel.kernel import Kernel
from gridveil.uncertainty.model import boxes_of

ROUNDING = 1e-6  # kWh; prefix sums of nothing are not exactly 0

Record = dict[str, Any]


@dataclass(frozen=True)
class Cover:
    """Runs a trial and counts what its intervals hold."""

    towns: HalfTowns

    def __call__(self, trial: Trial) -> list[Record]:
        """Return one record per workload."""
        placed = self.towns(trial.dataset, trial.placement, trial.repeat)
        window = placed.dataset.window
        noise = SeededLaplace(trial.noise_seed())
        kernel = Kernel(placed.source(), window, budget=PureDP(trial.epsilon), bound=trial.bound, noise=noise)
        started = time.perf_counter()
        estimate = release_with_private_bound(kernel, make(trial.mechanism, dict(trial.parameters)))
        if not estimate.errors.about_the_truth:
            msg = f"{trial.mechanism} has no error bars about consumption"
            raise TypeError(msg)
        seconds = time.perf_counter() - started
        # What intervals are about: readings capped at the public step bound, and nothing else.
        truth = placed.truth(trial.bound.step)
        model = estimate.errors.to_release(truth.shape[::-1], window.step / timedelta(hours=1))
        true_sums, value_sums = (prefix_sums(cube, axes=(0, 1, 2)) for cube in (truth, estimate.dense() / WH_PER_KWH))
        records = []
        for name in WORKLOADS:
            ranges = draw_workload(name, truth.shape, trial.repeat, QUERIES)
            true = box_sums(true_sums, ranges)
            _, low, high = model.of_boxes(boxes_of(ranges), box_sums(value_sums, ranges))
            inside = (low <= true + ROUNDING) & (true <= high + ROUNDING)
            full = true > ROUNDING
            records.append(
                {
                    "workload": name,
                    "case": f"{trial.dataset} {trial.placement}",
                    "epsilon": trial.epsilon,
                    "method": " ".join([trial.mechanism, *(f"{k}={v}" for k, v in trial.parameters)]),
                    "covered": float(inside.mean()),
                    "covered_occupied": float(inside[full].mean()) if full.any() else None,
                    "occupied": float(full.mean()),
                    "below": float((true < low - ROUNDING)[full].mean()) if full.any() else None,
                    "width": float((high - low).sum() / max(true.sum(), ROUNDING)),
                    "width_occupied": float((high - low)[full].sum() / max(true.sum(), ROUNDING)),
                    "seconds": seconds,
                }
            )
        return records


def with_interval(shares: list[float]) -> str:
    """Return a mean over releases in percent, with its 95 % interval."""
    if len(shares) < 2:
        return f"{100 * statistics.fmean(shares):.1f}" if shares else "-"
    half = 1.96 * statistics.stdev(shares) / math.sqrt(len(shares))
    return f"{100 * statistics.fmean(shares):.1f} ± {100 * half:.1f}"


def table(records: list[Record]) -> str:
    """Return the results as Markdown, the mean over cases (which count alike) below each epsilon."""
    groups: dict[tuple[str, float, str], dict[str, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        groups[record["method"], record["epsilon"], record["workload"]][record["case"]].append(record)
    lines = [
        "| method | epsilon | queries | case | releases | coverage, % | of occupied, % | width | of occupied |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for (method, epsilon, workload), cases in sorted(groups.items()):
        means: dict[str, list[float]] = defaultdict(list)
        for case, found in cases.items():
            columns = {
                key: [record[key] for record in found if record[key] is not None]
                for key in ("covered", "covered_occupied", "width", "width_occupied")
            }
            for key, column in columns.items():
                means[key].append(statistics.fmean(column))
            shares = " | ".join(with_interval(columns[key]) for key in ("covered", "covered_occupied"))
            widths = " | ".join(f"{means[key][-1]:.2f}" for key in ("width", "width_occupied"))
            lines.append(f"| {method} | {epsilon:g} | {workload} | {case} | {len(found)} | {shares} | {widths} |")
        shown = " | ".join(f"{100 * statistics.fmean(means[key]):.1f}" for key in ("covered", "covered_occupied"))
        widths = " | ".join(f"{statistics.fmean(means[key]):.2f}" for key in ("width", "width_occupied"))
        lines.append(f"| {method} | {epsilon:g} | {workload} | **mean of cases** | | {shown} | {widths} |")
    return "\n".join(lines)


def main() -> None:
    """Run a study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", type=Path)
    parser.add_argument("--lcl", required=True, help="readings_hourly.parquet")
    parser.add_argument("--points", required=True, help="where meters are, for the placement density")
    parser.add_argument("--weight", default="n_meters_median")
    parser.add_argument("--half", default="report", choices=["tune", "report"])
    parser.add_argument("--methods", default="mosaic")
    parser.add_argument("--epsilons", default=",".join(f"{epsilon:g}" for epsilon in EPSILONS))
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--workers", type=int, help="processes [one per core]")
    given = parser.parse_args()
    epsilons = [float(epsilon) for epsilon in given.epsilons.split(",")]
    trials = [
        Trial(f"{given.half}-{number}", placement, name, epsilon, BOUNDS[AUTO], CLIP, repeat, parameters, (AUTO,))
        for repeat, (number, placement), method, epsilon in product(
            range(given.repeats), CASES, given.methods.split(","), epsilons
        )
        for name, parameters in [parse_method(method)]
    ]
    run = Cover(HalfTowns(given.lcl, given.points, given.weight))
    with show.bars() as tell:
        study = run_study(
            trials, run, given.study, count_trials(tell, "coverage"), about={"what": "coverage"}, workers=given.workers
        )
    for trial, error in study.failures.items():
        print(f"{trial}: {error}")
    print(table(study.records))


if __name__ == "__main__":
    main()
