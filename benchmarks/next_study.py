"""How much a series gains from learning the shape of the day from its earlier releases, on six weeks of London.

python benchmarks/next_study.py --lcl PATH [--profile PATH] [--repeats 5] [--out benchmarks/next_study.json]

Every week is published by mosaic with seeded noise (not private), in four ways: knowing nothing beforehand; starting
from what the releases before tell (as `publish --next` does); from a stated public shape in the first week and from
releases later; and from the stated shape in every week. The ways of one repeat share households, places and noise.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from gridveil.mechanisms.mosaic import Mosaic
from gridveil.mechanisms.mosaic.time import read_shape
from gridveil.model.arrays import WH_PER_KWH, Floats
from gridveil.model.window import Window
from gridveil.publishing.next_release import LOOKBACK, compute_average_day
from gridveil.publishing.run import release_with_private_bound
from gridveil.research.datasets.dataset import Dataset, PlacedDataset, place_dataset
from gridveil.research.datasets.london import HOUR, load_lcl
from gridveil.simulate.rehearse import draw_workload, mre_floor, range_sums, wape
from gridveil.simulate.sources import SeededLaplace
from gridveil.trusted.budget import Bound, PureDP
from gridveil.trusted.kernel.kernel import Kernel

FIRST = datetime(2013, 1, 14, tzinfo=UTC)
WEEKS, HOURS = 6, 168
HOUSEHOLDS = (250, 1000, 3500)
EPSILONS = (0.3, 1.0, 3.0)
WAYS = ("nothing", "releases", "stated, then releases", "stated")
GRID = (32, 32)
ANY = Bound(23_000, 23_000 * HOURS)  # Wh: mosaic chooses its own below it
ZONE = "UTC"  # London's clock in winter
Shape = tuple[float, ...] | None


def publish_weeks(placed: PlacedDataset, epsilon: float, seed: int, way: str, stated: Shape) -> list[Floats]:
    """Return what each week's release holds, kWh (x, y, t)."""
    made: list[tuple[Window, Floats]] = []
    cubes = []
    for week in range(WEEKS):
        window = Window(FIRST + week * HOURS * HOUR, HOUR, HOURS)
        latest = [one for one in made if one[0].end > window.start - LOOKBACK]
        learned = compute_average_day(latest, ZONE) if latest and way not in {"nothing", "stated"} else None
        shape = learned or (stated if way.startswith("stated") else None)
        noise = SeededLaplace(1000 * seed + week)
        kernel = Kernel(placed.source(), window, budget=PureDP(epsilon), bound=ANY, noise=noise)
        estimate = release_with_private_bound(kernel, Mosaic(profile=shape, profile_zone=ZONE), error_bars=False)
        cubes.append(estimate.dense() / WH_PER_KWH)
        made.append((window, cubes[-1].sum(axis=(0, 1))))
    return cubes


def scores(placed: PlacedDataset, cubes: list[Floats], seed: int) -> Iterator[dict[str, Any]]:
    """Yield the errors of each week: of the town's hours (by their shape alone, too), and of the paper's queries."""
    truth = placed.truth()
    for week, cube in enumerate(cubes):
        true = truth[:, :, week * HOURS : (week + 1) * HOURS]
        hours, expected = cube.sum(axis=(0, 1)), true.sum(axis=(0, 1))
        queries = {name: draw_workload(name, true.shape, seed) for name in ("random", "small", "large")}
        yield {
            "week": week + 1,
            "hours": wape(expected, hours),
            "shape": wape(expected / expected.sum(), hours / max(hours.sum(), 1e-9)),
            **{name: mre_floor(range_sums(true, asked), range_sums(cube, asked)) for name, asked in queries.items()},
        }


def run(lcl: Path, profile: Path | None, repeats: int) -> Iterator[dict[str, Any]]:
    """Yield a record for each release."""
    everybody: Dataset = load_lcl(lcl, FIRST, steps=WEEKS * HOURS, train_steps=0)
    stated = None if profile is None else tuple(read_shape(profile).hourly.ravel().tolist())
    ways = [way for way in WAYS if stated or not way.startswith("stated")]
    for repeat, number, epsilon in product(range(repeats), HOUSEHOLDS, EPSILONS):
        chosen = np.random.default_rng([repeat, number]).choice(len(everybody.readings), number, replace=False)
        some = replace(everybody, readings=everybody.readings[np.sort(chosen)])
        placed = place_dataset(some, "normal", GRID, repeat)
        for way in ways:
            about = {"households": number, "epsilon": epsilon, "repeat": repeat, "way": way}
            for score in scores(placed, publish_weeks(placed, epsilon, repeat, way, stated), repeat):
                yield {**about, **{k: round(v, 3) for k, v in score.items()}}


def table(records: list[dict[str, Any]], error: str) -> str:
    """Return the mean error of weeks 2 to 6, with a line for each number of households and epsilon."""
    ways = list(dict.fromkeys(record["way"] for record in records))
    lines = [f"| households | epsilon | {' | '.join(ways)} |", "|---" * (2 + len(ways)) + "|"]
    for number, epsilon in product(HOUSEHOLDS, EPSILONS):
        means = []
        for way in ways:
            case = {"households": number, "epsilon": epsilon, "way": way}
            some = [r[error] for r in records if r["week"] > 1 and all(r[key] == case[key] for key in case)]
            means.append(f"{np.mean(some):.1f}" if some else "")
        lines.append(f"| {number:,} | {epsilon:g} | {' | '.join(means)} |")
    return "\n".join(lines)


def main() -> None:
    """Run the study, and print its tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lcl", required=True, type=Path, help="readings_hourly.parquet")
    parser.add_argument("--profile", type=Path, help="a public shape of the day")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_suffix(".json"))
    given = parser.parse_args()
    records = []
    for record in run(given.lcl, given.profile, given.repeats):
        records.append(record)
        if record["week"] == WEEKS:
            print(f"{len(records)} releases", end="\r", flush=True)
    given.out.write_text("[\n" + ",\n".join(json.dumps(record) for record in records) + "\n]\n", encoding="utf-8")
    for error in ("shape", "hours", "random", "small", "large"):
        print(f"\n{error}, %\n\n{table(records, error)}")


if __name__ == "__main__":
    main()
