"""Trials of the paper's details: how well STPT's pattern fits, and how long each method takes."""

from __future__ import annotations

import time
import zlib
from dataclasses import dataclass, replace

import numpy as np

from gridveil.mechanisms.base import silent
from gridveil.mechanisms.inference.quadtree import depth_of_quarters, make_levels
from gridveil.mechanisms.registry import COMPARISON_ONLY, make
from gridveil.mechanisms.stpt import Stpt
from gridveil.mechanisms.stpt.series import make_equal_slices, make_weighted_slices, measure_series
from gridveil.model.arrays import WH_PER_KWH, Floats
from gridveil.research import nonprivate
from gridveil.research.compare.study import Record
from gridveil.research.compare.trial import Towns
from gridveil.research.datasets.dataset import PlacedDataset
from gridveil.research.nonprivate.stpt_leaky import StptLeaky
from gridveil.research.paper.towns import LONDON, clip_of, common_bound
from gridveil.simulate.sources import SeededLaplace
from gridveil.trusted.budget import PureDP
from gridveil.trusted.kernel.bound import Bound
from gridveil.trusted.kernel.kernel import Kernel

PLACEMENT = "uniform"

LEARNING = "learn the pattern"
"""The stage of STPT that the paper calls a one-time process."""


@dataclass(frozen=True)
class PatternTrial:
    """A pattern, learnt once. `per_point` is the epsilon for each of the training steps; `clip` is in Wh."""

    dataset: str
    placement: str
    method: str
    per_point: float
    depth: int
    clip: int
    repeat: int


@dataclass(frozen=True)
class RunPattern:
    """Learns patterns and scores them, in the units that the network predicts in."""

    towns: Towns

    def __call__(self, trial: PatternTrial) -> list[Record]:
        """Return the one record of a trial.

        mae, rmse: over all cells and steps. map_mae, map_rmse: of the mean over all cells, step by step. The unit is
        the clip, per cell; of the leaky pattern it is a household's own range, and only cells that it keeps count.
        flat_mae, flat_rmse: what a pattern scores that has the true mean everywhere and always.
        """
        placed = self.towns(trial.dataset, trial.placement, trial.repeat)
        made, truth = learn_leaky(trial, placed) if trial.method == "stpt-leaky" else learn_private(trial, placed)
        flat = np.full_like(truth, truth.mean())
        scores = {**_scores("", made, truth), **_scores("flat_", flat, truth)}
        over_time = tuple(range(truth.ndim - 1))
        scores |= _scores("map_", made.mean(axis=over_time), truth.mean(axis=over_time))
        facts = {"mechanism": trial.method, "dataset": trial.dataset, "placement": trial.placement}
        return [{**facts, "per_point": trial.per_point, "depth": trial.depth, "repeat": trial.repeat, **scores}]


def learn_private(trial: PatternTrial, placed: PlacedDataset) -> tuple[Floats, Floats]:
    """Return a pattern made of sanitised series only, and the clipped truth, in clips per cell (x, y, t)."""
    from gridveil.mechanisms.stpt import network as learn

    mechanism = make(trial.method, {"depth": trial.depth, "seed": trial.repeat})
    if not isinstance(mechanism, Stpt):
        msg = f"{trial.method} learns no pattern"
        raise TypeError(msg)
    window, steps = placed.dataset.window, placed.dataset.window.steps
    epsilon = round(trial.per_point * mechanism.train_steps, 9)
    kernel = Kernel(
        placed.source(),
        window,
        budget=PureDP(epsilon),
        bound=Bound(trial.clip, trial.clip * steps),
        noise=SeededLaplace(_seed(trial)),
    )
    tree = make_levels(placed.grid, min(mechanism.depth, depth_of_quarters(placed.grid)))
    slices = make_equal_slices if mechanism.forecaster == "plain" else make_weighted_slices
    parts = slices(tree, mechanism.train_steps, mechanism.lookback)
    series = measure_series(kernel.session(), parts, mechanism.train_steps, epsilon)
    training = learn.Training(mechanism.lookback, mechanism.epochs, mechanism.seed)
    if mechanism.forecaster == "plain":
        pattern = learn.learn_plain_pattern(series, trial.clip, steps, training, silent)
    else:
        pattern = learn.learn_refined_pattern(series, window, training, silent).cube / trial.clip
    return pattern, placed.truth(trial.clip) * (WH_PER_KWH / trial.clip)


def learn_leaky(trial: PatternTrial, placed: PlacedDataset) -> tuple[Floats, Floats]:
    """Return the authors' pattern, which was shown the raw steps before each, and what it predicts (cell, t)."""
    method = replace(StptLeaky(), depth=trial.depth)
    _, predicted, raw = method.predict(placed, trial.per_point * method.train_steps, _seed(trial))
    return predicted, raw


def _scores(prefix: str, made: Floats, truth: Floats) -> Record:
    off = made - truth
    return {f"{prefix}mae": float(np.abs(off).mean()), f"{prefix}rmse": float(np.sqrt(np.square(off).mean()))}


def _seed(trial: PatternTrial) -> int:
    return zlib.crc32(repr(trial).encode())


@dataclass(frozen=True)
class RuntimeTrial:
    """One method, timed once on London."""

    mechanism: str
    epsilon: float
    repeat: int


@dataclass(frozen=True)
class RunRuntime:
    """Times methods. To be run one at a time, in a process that does nothing else."""

    towns: Towns

    def __call__(self, trial: RuntimeTrial) -> list[Record]:
        """Return the one record of a trial. `learning` is until a pattern is learnt, for methods that learn one.

        Loading libraries is not timed. A baseline has no kernel and draws its noise with numpy.
        """
        placed = self.towns(LONDON, PLACEMENT, trial.repeat)
        bound, clip, learnt = common_bound(LONDON), clip_of(LONDON), 0.0
        _load_torch(trial.mechanism)
        started = time.perf_counter()
        if trial.mechanism in COMPARISON_ONLY:
            nonprivate.make(trial.mechanism).release(placed, trial.epsilon, bound, clip, trial.repeat)
        else:
            kernel = Kernel(placed.source(), placed.dataset.window, budget=PureDP(trial.epsilon), bound=bound)

            def tell(stage: str, done: float) -> None:
                nonlocal learnt
                if stage == LEARNING and done == 1.0:
                    learnt = time.perf_counter()

            make(trial.mechanism, {}).release(kernel.session(), tell)
        seconds = time.perf_counter() - started
        learning = learnt - started if learnt else None
        facts = {"mechanism": trial.mechanism, "epsilon": trial.epsilon, "repeat": trial.repeat}
        return [{**facts, "seconds": seconds, "learning": learning}]


def _load_torch(mechanism: str) -> None:
    if mechanism.startswith("stpt"):
        import torch  # noqa: F401  # loaded, not used: the method will find it
