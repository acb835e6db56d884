"""One trial: a method, on one data set, once. What it makes is scored and thrown away; nothing of it is private."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from gridveil.mechanisms.registry import COMPARISON_ONLY, make, train_steps
from gridveil.model.arrays import WH_PER_KWH, Floats
from gridveil.model.errors import UsageError
from gridveil.publishing.statement import release_with_private_bound
from gridveil.research import nonprivate as yardsticks
from gridveil.research.compare.scoring import Record, Scorer
from gridveil.research.datasets.dataset import Placed
from gridveil.simulate.sources import SeededLaplace
from gridveil.simulate.workloads import QUERIES, WORKLOADS
from gridveil.trusted.budget import PureDP
from gridveil.trusted.kernel.bound import Bound
from gridveil.trusted.kernel.kernel import Kernel

AUTO = "auto"
"""The name of a bound that a trial chooses privately; `Trial.bound` then is what the steps add up to."""

PROMISE = "epsilon-differential privacy of whole households"
"""What every registered mechanism promises, with real noise; the others' promises are in the registry."""

Towns = Callable[[str, str, int], Placed]
"""Finds a data set by name, placed by a placement and a seed, in whatever process it is called."""


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
        return int(getattr(yardsticks.make(name), "train_steps", 0))
    return train_steps(make(name, dict(parameters)))


def release(trial: Trial, placed: Placed) -> tuple[Floats, Bound]:
    """Return what the method of a trial makes of the data, kWh (x, y, t), with seeded noise, and the bound it used.

    A registered mechanism runs as in a publication, in a session of a kernel; a yardstick looks at the data itself. Of
    several bounds on the window that were chosen privately, the largest is returned.
    """
    if steps_before(trial.mechanism, trial.parameters) > placed.dataset.train_steps:
        msg = f"{trial.mechanism} learns from more steps before the window than {placed.dataset.name} has"
        raise UsageError(msg, code="training-too-long")
    seed = trial.noise_seed()
    if trial.mechanism in COMPARISON_ONLY:
        cube = yardsticks.make(trial.mechanism).release(placed, trial.epsilon, trial.bound, trial.clip, seed)
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
def _prepared(run: RunTrial, dataset: str, placement: str, clip: int, repeat: int) -> tuple[Placed, Scorer]:
    """Return what all trials of a repeat share, made once per process."""
    placed = run.towns(dataset, placement, repeat)
    return placed, Scorer.of(placed, clip=clip, workloads=run.workloads, seed=repeat, queries=run.queries)
