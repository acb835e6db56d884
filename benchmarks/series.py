"""How often 95 % intervals over one, two and all releases of a series hold the true consumption of an invented town.

python benchmarks/series.py [--mechanism mosaic] [--towns 20] [--epsilons 1,3]

Every town is published week by week, each with fresh noise, and opened as one series. Prints a table: coverage of
questions whose truth is not zero, with its standard error over towns, the median width beside the truth, and what
coverage would be if errors of different releases were taken for independent.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gridveil.geography.grid import Grid
from gridveil.mechanisms.base import make
from gridveil.model.arrays import Floats, box_sums, prefix_sums
from gridveil.model.window import Window
from gridveil.publishing.run import release_with_private_bound
from gridveil.release.format.facts import GridFacts, WindowFacts
from gridveil.release.format.label import Label, MechanismFacts, Privacy
from gridveil.release.format.netcdf import write_release
from gridveil.release.query.open import Release, open_release
from gridveil.release.series.catalogue import Catalogue, Listed, write_catalogue
from gridveil.simulate.sources import ArraySource, SeededLaplace
from gridveil.simulate.town import Town, make_town
from gridveil.trusted.budget import Bound, PureDP
from gridveil.trusted.kernel.kernel import Kernel

GRID = Grid(0, 0, 8000, 8000, nx=24, ny=24)
START, HOUR, WEEK, WEEKS, HOUSEHOLDS = datetime(2013, 1, 7, tzinfo=UTC), timedelta(hours=1), 168, 8, 3000
STEP_BOUND = 23_000  # Wh
QUESTIONS = 150
SIDES = {"1 cell": 1, "3 x 3": 3, "any size": None}
PERIODS = ("within one week", "across two weeks", "eight weeks")

Ranges = NDArray[np.int64]


@dataclass(frozen=True)
class Found:
    """Of one town: how often intervals hold, how often independent ones would, and the median width."""

    held: float
    independent: float
    width: float


def week_of(town: Town, number: int) -> Window:
    """Return a week's window."""
    return Window(town.window.start + number * WEEK * HOUR, HOUR, WEEK)


def publish(folder: Path, town: Town, mechanism: str, epsilon: float, seed: int) -> None:
    """Write a release of every week, and their catalogue."""
    listed = []
    for number in range(WEEKS):
        window = week_of(town, number)
        own = town.consumption[:, number * WEEK : (number + 1) * WEEK]
        kernel = Kernel(
            ArraySource(GRID, window, town.cells, own),
            window,
            budget=PureDP(epsilon),
            bound=Bound(STEP_BOUND, STEP_BOUND * WEEK),
            noise=SeededLaplace(1000 * seed + number),
        )
        label = Label(
            title="",
            publisher="",
            published=date(2026, 11, 16),
            gridveil_version="",
            private=False,
            privacy=Privacy(epsilon=epsilon, epsilon_accounted=epsilon),
            noise=[],
            not_covered=[],
            bounds=[],
            private_bound_epsilon=None,
            correction=None,
            mechanism=MechanismFacts(name=mechanism),
            measurements=[],
            grid=GridFacts.of(GRID),
            window=WindowFacts.of(window),
            ledger_entry=None,
        )
        name = f"{window.start:%Y-%m-%d}"
        estimate = release_with_private_bound(kernel, make(mechanism, {}))
        write_release(folder / name, grid=GRID, window=window, estimate=estimate, label=label)
        digest = sha256((folder / name / "SHA256SUMS").read_bytes()).hexdigest()
        listed.append(Listed(path=name, start=window.start, end=window.end, sha256=digest))
    write_catalogue(folder, Catalogue(title="", cadence="week", timezone="UTC", releases=tuple(listed)))


def draw(rng: np.random.Generator, side: int | None, period: str) -> Ranges:
    """Draw questions: squares or any rectangles of cells, and periods of a kind."""
    sides = rng.integers(1, GRID.nx, (QUESTIONS, 2), endpoint=True) if side is None else np.full((QUESTIONS, 2), side)
    first = rng.integers(0, GRID.nx - sides, endpoint=True)
    cells = np.stack([first, first + sides], axis=2).reshape(QUESTIONS, 4)
    week = rng.integers(0, WEEKS - 1, QUESTIONS) * WEEK
    times = np.zeros((QUESTIONS, 2), np.int64)
    times[:, 1] = WEEKS * WEEK
    if period == "within one week":
        times = week[:, None] + np.sort([rng.choice(WEEK + 1, 2, replace=False) for _ in week], axis=1)
    elif period == "across two weeks":
        times = week[:, None] + np.column_stack(
            [rng.integers(0, WEEK, QUESTIONS), rng.integers(WEEK + 1, 2 * WEEK, QUESTIONS, endpoint=True)]
        )
    return np.hstack([cells, times])


def look(series: Release, parts: list[Release], truth: Floats, ranges: Ranges) -> Found:
    """Compare answers with the truth."""
    true = box_sums(truth, ranges)
    full = true > 1e-6
    answers = series.answers_of(ranges)
    low, high = np.zeros((2, len(ranges)))
    for number, part in enumerate(parts):
        own = ranges.copy()
        own[:, 4:] = np.clip(own[:, 4:] - number * WEEK, 0, WEEK)
        some = np.flatnonzero(own[:, 4] < own[:, 5])
        if len(some):
            one = part.answers_of(own[some])
            low[some] += (one.value - one.low) ** 2
            high[some] += (one.high - one.value) ** 2
    independent = (answers.value - np.sqrt(low) <= true) & (true <= answers.value + np.sqrt(high))
    held = (answers.low <= true + 1e-6) & (true <= answers.high + 1e-6)
    return Found(
        float(held[full].mean()),
        float(independent[full].mean()),
        float(np.median((answers.high - answers.low)[full] / true[full])),
    )


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--mechanism", default="mosaic")
    parser.add_argument("--towns", type=int, default=20)
    parser.add_argument("--epsilons", default="1,3")
    given = parser.parse_args()
    print("| epsilon a week | period | cells | coverage, % | width | if independent, % |")
    print("|---|---|---|---|---|---|")
    for epsilon in map(float, given.epsilons.split(",")):
        found: dict[tuple[str, str], list[Found]] = {(period, size): [] for period in PERIODS for size in SIDES}
        for seed in range(given.towns):
            town = make_town(HOUSEHOLDS, grid=GRID, window=Window(START, HOUR, WEEKS * WEEK), seed=seed)
            truth = prefix_sums(town.cube(town.window), axes=(0, 1, 2))
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                publish(folder, town, given.mechanism, epsilon, seed)
                parts = [open_release(folder / f"{week_of(town, n).start:%Y-%m-%d}") for n in range(WEEKS)]
                series, rng = open_release(folder), np.random.default_rng(seed)
                for (period, size), seen in found.items():
                    ranges = draw(rng, SIDES[size], period)
                    seen.append(look(series, parts, truth, ranges))
        for (period, size), every in found.items():
            held = np.array([one.held for one in every])
            spread = 100 * held.std() / math.sqrt(len(held))
            print(
                f"| {epsilon:g} | {period} | {size} | {100 * held.mean():.1f} ± {spread:.1f} | "
                f"{np.mean([one.width for one in every]):.2f} | "
                f"{100 * np.mean([one.independent for one in every]):.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
