"""Attack the utilities' count rules and gridveil's releases: who can be told to be in the data, and by how much.

python benchmarks/attacks.py STUDY.jsonl [--workers 2]    run, or go on where a stopped run was: an hour of one core
python benchmarks/attacks_report.py STUDY.jsonl           make attacks.json, the pictures, the tables of docs/attacks.md

Everything is on the demo's invented town, so that a fresh clone can repeat it. The noise is the real one, without a
seed: a second run gives other numbers, within the intervals.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from gridveil.cli import show
from gridveil.geography.grid import Grid
from gridveil.model.arrays import Floats, Ints
from gridveil.model.window import Window
from gridveil.research.audit.attacks import Likeness, Publication, Suspect, find_exposed, replay_publication
from gridveil.research.audit.bound import Rate, estimate_rate
from gridveil.research.compare.study import count_trials, run_study
from gridveil.research.datasets.dataset import Dataset, PlacedDataset
from gridveil.research.nonprivate.count_rule import CountRule
from gridveil.simulate.sources import ArraySource
from gridveil.simulate.town import DEMO_WINDOW, Town, make_town
from gridveil.trusted.budget import Bound
from gridveil.trusted.kernel.noise import ExactNoise

HOUSEHOLDS, SIDE = 5000, 16
GRID = Grid(0, 0, 8000, 8000, nx=SIDE, ny=SIDE)
WINDOW: Window = DEMO_WINDOW
FUSE = 23_000
"""Wh of an hour, the step bound when none is stated."""
STATED = 150_000
BOUNDS = {"stated": Bound(STATED, STATED), "private": Bound(FUSE, FUSE * WINDOW.steps)}
"""Wh: 150 kWh of a household in all, however few hours it falls in; or none, below which one is chosen privately."""
EPSILONS = (0.1, 1.0, 3.0, 5.0, 10.0, 30.0)
DRAWS = 100_000
"""Noisy numbers that an attack on transcripts draws in each world, about."""
MIN_RUNS, MAX_RUNS = 2_000, 50_000
PLANS = 2
"""Real runs whose questions are asked again and again."""
CHUNK = 50
RUNS = {"absent": 200, "ordinary": 100, "canary": 100}
"""Real publications for the attacker who has the released values only."""
VALUES_EPSILONS = (10.0,)
PAIRS = 8


@dataclass(frozen=True)
class Membership:
    """The best attack on so many releases together: the likelihood ratio of all that the kernel answered."""

    mechanism: str
    epsilon: float
    bounds: str
    target: str
    releases: int = 1


@dataclass(frozen=True)
class Values:
    """Some real publications in one of three worlds, and how a realistic attacker scores them."""

    epsilon: float
    world: str
    chunk: int


@dataclass(frozen=True)
class Difference:
    """Pairs of releases, with the household and without: the difference at its cell."""

    mechanism: str
    epsilon: float


Trial = Membership | Values | Difference


def trials() -> Iterator[Trial]:
    for releases, epsilon in product((2, 12), EPSILONS):
        yield Membership("identity", epsilon, "stated", "canary", releases)
    for mechanism, epsilon in product(("mosaic", "identity"), EPSILONS):
        for bounds, target in product(BOUNDS, ("canary", "ordinary")):
            yield Membership(mechanism, epsilon, bounds, target)
    yield from (Difference(*which) for which in product(("mosaic", "identity"), EPSILONS))
    for epsilon, (world, runs) in product(VALUES_EPSILONS, RUNS.items()):
        yield from (Values(epsilon, world, chunk) for chunk in range(runs // CHUNK))


@cache
def town() -> Town:
    return make_town(HOUSEHOLDS, grid=GRID, window=WINDOW)


@cache
def placed() -> PlacedDataset:
    return PlacedDataset(Dataset("town", "the demo's invented town", WINDOW, 0, town().consumption), GRID, town().cells)


@cache
def ordinary() -> int:
    """Return the household with the most usual total among those whose cell of 21 to 40 the 15/15 rule publishes."""
    cells, used = town().cells, town().consumption.sum(axis=1)
    count = np.zeros((SIDE, SIDE), dtype=np.int64)
    np.add.at(count, (cells[:, 0], cells[:, 1]), 1)
    members = count[cells[:, 0], cells[:, 1]]
    among = find_exposed(placed(), CountRule()).by_difference & (members > 20) & (members <= 40)
    return int(np.argmin(np.where(among, np.abs(used - np.median(used)), np.inf)))


def canary(bounds: str) -> Ints:
    """Return the worst household for a bound, Wh (t,): as much as is allowed, in as few hours as is allowed."""
    curve = np.zeros(WINDOW.steps, dtype=np.int64)
    if bounds == "stated":
        curve[18] = STATED
    else:
        curve[12:24] = FUSE  # 276 kWh in all: more than most bounds leave of it
    return curve


def absent() -> ArraySource:
    return town().source().without(ordinary())


def present(target: str, bounds: str) -> ArraySource:
    if target == "ordinary":
        return town().source()
    others = absent()
    cell = town().cells[ordinary()][None]
    readings = np.vstack([others.readings, canary(bounds)])
    return ArraySource(others.grid, others.window, np.vstack([others.cells, cell]), readings)


def suspect(target: str) -> Suspect:
    x, y = (int(number) for number in town().cells[ordinary()])
    curve = town().consumption[ordinary()] if target == "ordinary" else canary("private")
    others = absent()
    here = (others.cells == (x, y)).all(axis=1)
    return Suspect((x, y), curve / 1000, others.readings[here].sum(axis=0) / 1000)


def run(trial: Trial) -> list[dict[str, Any]]:
    how: dict[type, Callable[[Any], list[dict[str, Any]]]] = {
        Membership: attack_transcripts,
        Values: attack_values,
        Difference: subtract,
    }
    return how[type(trial)](trial)


def attack_transcripts(trial: Membership) -> list[dict[str, Any]]:
    publication = Publication(trial.mechanism, trial.epsilon, WINDOW, BOUNDS[trial.bounds])
    worlds = present(trial.target, trial.bounds), absent()
    plans = 1 if trial.mechanism == "identity" and trial.bounds == "stated" else PLANS
    pairs = [replay_publication(publication, *worlds, present=bool(number % 2)) for number in range(plans)]
    most = max(pair.moved for pair in pairs) * trial.releases
    runs = min(MAX_RUNS, max(MIN_RUNS, DRAWS // most)) // plans
    random = np.random.default_rng(0)

    def ratios(*, there: bool) -> Floats:
        several = [pair.draw(runs * trial.releases, ExactNoise(), present=there) for pair in pairs]
        summed = np.concatenate([one.reshape(runs, trial.releases).sum(axis=1) for one in several])
        return random.permutation(summed)

    found = estimate_rate(ratios(there=True), ratios(there=False), seed=0)
    largest = trial.releases * max(pair.loss for pair in pairs)
    return [
        {"attack": "transcript", **vars(trial), **as_facts(found, trial.epsilon * trial.releases), "largest": largest}
    ]


def as_facts(rate: Rate, epsilon: float) -> dict[str, Any]:
    return {**vars(rate), "exceeds": rate.exceeds(epsilon, 1e-6)}


def attack_values(trial: Values) -> list[dict[str, Any]]:
    publication = Publication("mosaic", trial.epsilon, WINDOW, BOUNDS["private"])
    source = absent() if trial.world == "absent" else present(trial.world, "private")
    suspects = {name: suspect(name) for name in ("ordinary", "canary")}
    records = []
    for _ in range(CHUNK):
        values = publication.release(source)
        scores = {name: (of.matched(values), of.total(values)) for name, of in suspects.items()}
        records.append({"attack": "values", "epsilon": trial.epsilon, "world": trial.world, **scores})
    return records


def subtract(trial: Difference) -> list[dict[str, Any]]:
    publication = Publication(trial.mechanism, trial.epsilon, WINDOW, BOUNDS["private"])
    of = suspect("ordinary")
    records: list[dict[str, Any]] = []
    for _ in range(PAIRS):
        after, before = (publication.release(source)[of.cell] for source in (town().source(), absent()))
        like = Likeness.of(after - before, of.curve)
        records.append({"attack": "difference", **vars(trial), **vars(like), "kwh": (after - before).round(4).tolist()})
    return records


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", type=Path)
    parser.add_argument("--workers", type=int)
    given = parser.parse_args()
    about = {"study": "attacks on an invented town", "households": HOUSEHOLDS, "cells": SIDE, "steps": WINDOW.steps}
    with show.bars() as tell:
        study = run_study(
            list(trials()), run, given.study, count_trials(tell, "attacks"), about=about, workers=given.workers
        )
    for trial, reason in study.failures.items():
        print(trial, reason)


if __name__ == "__main__":
    main()
