"""One trial: a method on one data set, run once and scored against the truth. Nothing of it is private."""

from __future__ import annotations

import math
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from gridveil.mechanisms.base import COMPARISON_ONLY, make, train_steps
from gridveil.model.arrays import WH_PER_KWH, Floats, Ints, box_sums, prefix_sums
from gridveil.model.errors import UsageError
from gridveil.publishing.run import release_with_private_bound
from gridveil.research import nonprivate
from gridveil.research.compare.study import Record
from gridveil.research.datasets.dataset import PlacedDataset
from gridveil.simulate.rehearse import (
    AUTHORS,
    QUERIES,
    WORKLOADS,
    bias,
    draw_workload,
    mae,
    mre,
    mre_authors,
    mre_floor,
    wape,
)
from gridveil.simulate.sources import SeededLaplace
from gridveil.trusted.budget import Bound, PureDP
from gridveil.trusted.kernel.kernel import Kernel

TRUTHS = ("raw", "clipped")
"""What was consumed, and the same with every reading cut at a public clip: the paper scores against the second."""

AUTO = "auto"
"""The name of a bound that a trial chooses privately; `Trial.bound` then is what the steps add up to."""

PROMISE = "epsilon-differential privacy of whole households"
"""What every registered mechanism promises, with real noise; the others' promises are in the registry."""

Towns = Callable[[str, str, int], PlacedDataset]
"""Finds a data set by name, placed by a placement and a seed, in whatever process it is called."""


@dataclass(frozen=True)
class Scorer:
    """The queries of each workload, and their true answers by truth and workload, kWh."""

    ranges: dict[str, Ints]
    truths: dict[tuple[str, str], Floats]

    @classmethod
    def of(
        cls, placed: PlacedDataset, *, clip: int, workloads: tuple[str, ...], seed: int = 0, queries: int = QUERIES
    ) -> Scorer:
        """Draw the queries and answer them truthfully. `clip` in Wh cuts single readings."""
        cubes = {"raw": placed.truth(), "clipped": placed.truth(clip)}
        ranges = {name: draw_workload(name, cubes["raw"].shape, seed, queries) for name in workloads}
        truths: dict[tuple[str, str], Floats] = {}
        for kind, cube in cubes.items():
            prefix = prefix_sums(cube, axes=(0, 1, 2))
            truths |= {(kind, name): box_sums(prefix, asked) for name, asked in ranges.items()}
        return cls(ranges, truths)

    def score(self, cube: Floats) -> list[Record]:
        """Return the errors of a cube, kWh (x, y, t): one record per workload and truth.

        Where the cube is NaN nothing was published: it is taken for zero, as a reader who adds up a table with gaps
        would, and `suppressed` counts the queries that touch such a place. An error that is not defined (all truths are
        zero) is `None`.
        """
        gaps = np.isnan(cube)
        prefix = prefix_sums(np.where(gaps, 0.0, cube), axes=(0, 1, 2))
        gap_prefix = prefix_sums(gaps.astype(np.float64), axes=(0, 1, 2)) if gaps.any() else None
        records = []
        for name, asked in self.ranges.items():
            answers = box_sums(prefix, asked)
            suppressed = 0 if gap_prefix is None else int(np.count_nonzero(box_sums(gap_prefix, asked) > 0.5))  # noqa: PLR2004  # a count, but for rounding
            for kind in TRUTHS:
                errors = _errors(self.truths[kind, name], answers, authors=name in AUTHORS)
                records.append({"workload": name, "truth": kind, **errors, "suppressed": suppressed})
        return records


def _errors(truth: Floats, answers: Floats, *, authors: bool) -> Record:
    relative = mre_authors(truth, answers) if authors else mre(truth, answers)
    measured = {
        "mre": relative.percent,
        "mre_floor": mre_floor(truth, answers),
        "wape": wape(truth, answers),
        "mae": mae(truth, answers),
        "bias": bias(truth, answers),
    }
    defined = {name: value if math.isfinite(value) else None for name, value in measured.items()}
    return {**defined, "zero_truths": relative.left_out, "queries": len(truth)}


@dataclass(frozen=True)
class Trial:
    """A trial in names and numbers: small, hashable, and enough to repeat it exactly in another process.

    bound, clip: Wh. `bound_names` says what the bound is to the comparison ("common", "own", or both at once), or that
    it is chosen privately, below the one given ("auto").
    repeat: the seed of the placement, of the queries and, with the other fields, of the noise; methods of one repeat
    are compared on the same places and queries.
    """

    dataset: str
    placement: str
    mechanism: str
    epsilon: float
    bound: Bound
    clip: int
    repeat: int
    parameters: tuple[tuple[str, Any], ...] = ()
    bound_names: tuple[str, ...] = ("common",)

    def noise_seed(self) -> int:
        """Return a seed that differs between trials, and not between processes or runs."""
        return zlib.crc32(repr(self).encode())


@dataclass(frozen=True)
class RunTrial:
    """Runs trials. It goes to other processes, so `towns` must be something that pickles."""

    towns: Towns
    workloads: tuple[str, ...] = tuple(WORKLOADS)
    queries: int = QUERIES

    def __call__(self, trial: Trial) -> list[Record]:
        """Return the records of a trial: one per name of its bound, workload and truth."""
        placed, scorer = _prepared(self, trial.dataset, trial.placement, trial.clip, trial.repeat)
        started = time.perf_counter()
        cube, bound = release(trial, placed)
        facts = {
            "mechanism": trial.mechanism,
            "parameters": dict(trial.parameters),
            "promise": promise(trial.mechanism),
            "stamp": "NOT PRIVATE",  # true values were looked at, and seeded noise protects nothing
            "dataset": trial.dataset,
            "placement": trial.placement,
            "epsilon": trial.epsilon,
            "bound_step": bound.step / WH_PER_KWH,
            "bound_window": bound.window / WH_PER_KWH,
            "clip": trial.clip / WH_PER_KWH,
            "repeat": trial.repeat,
            "seconds": time.perf_counter() - started,
        }
        scores = scorer.score(cube)
        return [{**facts, "bound": name, **score} for name in trial.bound_names for score in scores]


def promise(name: str) -> str:
    """Return what a method promises, in words."""
    return COMPARISON_ONLY[name].promise if name in COMPARISON_ONLY else PROMISE


def steps_before(name: str, parameters: tuple[tuple[str, Any], ...] = ()) -> int:
    """Return how many steps before the window a method reads."""
    if name in COMPARISON_ONLY:
        return int(getattr(nonprivate.make(name), "train_steps", 0))
    return train_steps(make(name, dict(parameters)))


def release(trial: Trial, placed: PlacedDataset) -> tuple[Floats, Bound]:
    """Return what the method of a trial makes of the data, kWh (x, y, t), with seeded noise, and the bound it used.

    A registered mechanism runs as in a publication, in a session of a kernel; a baseline reads the data itself. Of
    several bounds on the window that were chosen privately, the largest is returned.
    """
    if steps_before(trial.mechanism, trial.parameters) > placed.dataset.train_steps:
        msg = f"{trial.mechanism} learns from more steps before the window than {placed.dataset.name} has"
        raise UsageError(msg, code="training-too-long")
    seed = trial.noise_seed()
    if trial.mechanism in COMPARISON_ONLY:
        cube = nonprivate.make(trial.mechanism).release(placed, trial.epsilon, trial.bound, trial.clip, seed)
        return cube, trial.bound
    window = placed.dataset.window
    kernel = Kernel(placed.source(), window, budget=PureDP(trial.epsilon), bound=trial.bound, noise=SeededLaplace(seed))
    mechanism = make(trial.mechanism, dict(trial.parameters))
    if AUTO not in trial.bound_names:
        return mechanism.release(kernel.session()).dense() / WH_PER_KWH, trial.bound
    estimate = release_with_private_bound(kernel, mechanism, error_bars=False)
    used = [record.bound for record in kernel.records if record.bound is not None and record.window == window]
    return estimate.dense() / WH_PER_KWH, max(used, key=lambda bound: bound.window, default=trial.bound)


@lru_cache(maxsize=4)
def _prepared(run: RunTrial, dataset: str, placement: str, clip: int, repeat: int) -> tuple[PlacedDataset, Scorer]:
    """Return what all trials of a repeat share, made once per process."""
    placed = run.towns(dataset, placement, repeat)
    return placed, Scorer.of(placed, clip=clip, workloads=run.workloads, seed=repeat, queries=run.queries)
