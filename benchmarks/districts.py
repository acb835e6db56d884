"""What regional profiles are worth where districts differ, and what looking for them costs where they do not.

python benchmarks/districts.py --lcl PATH --points PATH [--half report] [--repeats 10] [--out FILE.json]

Mosaic runs twice with the same noise seed: as it is, and never looking for regional profiles.
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from unittest.mock import patch

from mosaic import BOUNDS, CASES, CLIP, EPSILONS

from gridveil.cli import show
from gridveil.geography.grid import Grid
from gridveil.mechanisms.mosaic import Mosaic
from gridveil.model.window import Window
from gridveil.research.compare.trial import AUTO, Scorer
from gridveil.research.datasets.dataset import Dataset, PlacedDataset
from gridveil.research.datasets.london import HalfTowns
from gridveil.research.datasets.synthetic import make_districts
from gridveil.simulate.sources import SeededLaplace
from gridveil.trusted.budget import PureDP
from gridveil.trusted.kernel.kernel import Kernel

WORKLOADS = ("random", "large")
TOWNS = [(2_000, 3.0), (3_000, 3.0), (1_000, 30.0), (3_000, 10.0), (10_000, 10.0)]
GRID = Grid(0, 0, 8_000, 8_000, 32, 32)
WEEK = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 120)
PLAN = "gridveil.mechanisms.mosaic.mechanism.plan_regions"
Row = dict[str, float | str]


def district_town(households: int, seed: int) -> PlacedDataset:
    """Return an invented town in which districts live by different clocks."""
    town = make_districts(households, grid=GRID, window=WEEK, seed=seed)
    return PlacedDataset(Dataset("districts", "invented", WEEK, 0, town.consumption), GRID, town.cells)


def errors(placed: PlacedDataset, epsilon: float, seed: int) -> tuple[list[float], bool]:
    """Return mosaic's errors, and whether it found regional profiles."""
    kernel = Kernel(
        placed.source(), placed.dataset.window, budget=PureDP(epsilon), bound=BOUNDS[AUTO], noise=SeededLaplace(seed)
    )
    estimate = Mosaic().release(kernel.session())
    scores = Scorer.of(placed, clip=CLIP, workloads=WORKLOADS, seed=seed).score(estimate.dense() / 1000)
    found = bool(estimate.details["regional_profiles"])
    return [score["mre"] for score in scores if score["truth"] == "raw"], found


def compare(name: str, epsilon: float, town: Callable[[int], PlacedDataset], repeats: int) -> Row:
    """Return the errors with and without regional profiles, and their ratio."""
    with_regions, without, found = [], [], 0
    for seed in range(repeats):
        placed = town(seed)
        got, seen = errors(placed, epsilon, seed)
        with_regions.append(got)
        found += seen
        with patch(PLAN, return_value=None):
            without.append(errors(placed, epsilon, seed)[0])
    row: Row = {"town": name, "epsilon": epsilon, "found": f"{found} of {repeats}"}
    for column, workload in enumerate(WORKLOADS):
        ours, theirs = (statistics.fmean(values[column] for values in rows) for rows in (with_regions, without))
        row |= {f"{workload} without": theirs, f"{workload} with": ours, f"{workload} ratio": ours / theirs}
    return row


def main() -> None:
    """Run it, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lcl", required=True)
    parser.add_argument("--points", required=True)
    parser.add_argument("--weight", default="n_meters_median")
    parser.add_argument("--half", default="report", choices=["tune", "report"])
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    towns = HalfTowns(given.lcl, given.points, given.weight)
    asked: list[tuple[str, float, Callable[[int], PlacedDataset]]] = [
        (f"districts, {number:,} households", epsilon, partial(district_town, number)) for number, epsilon in TOWNS
    ]
    asked += [
        (f"London, {number} {placement}", epsilon, partial(towns, f"{given.half}-{number}", placement))
        for number, placement in CASES
        for epsilon in EPSILONS
    ]
    rows = []
    with show.bars() as tell:
        for done, (name, epsilon, town) in enumerate(asked):
            rows.append(compare(name, epsilon, town, given.repeats))
            tell("districts", (done + 1) / len(asked))
            given.out.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    for row in rows:
        print(row)
    for kind in ("districts", "London"):
        for workload in WORKLOADS:
            logs = [math.log(float(row[f"{workload} ratio"])) for row in rows if str(row["town"]).startswith(kind)]
            print(kind, workload, round(math.exp(statistics.fmean(logs)), 3))


if __name__ == "__main__":
    main()
