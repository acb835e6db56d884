"""Trials of the paper's details, and the data and public bounds of its experiments."""

from __future__ import annotations

import hashlib
import time
import zlib
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from gridveil.mechanisms.base import COMPARISON_ONLY, make, silent
from gridveil.mechanisms.inference.space import depth_of_quarters, make_levels
from gridveil.mechanisms.stpt import Stpt
from gridveil.mechanisms.stpt.series import make_equal_slices, make_weighted_slices, measure_series
from gridveil.model.arrays import WH_PER_KWH, Floats
from gridveil.research import nonprivate
from gridveil.research.compare.bounds import own_bound
from gridveil.research.compare.study import Record
from gridveil.research.compare.trial import Towns
from gridveil.research.datasets.catalogue import open_dataset
from gridveil.research.datasets.dataset import Dataset, PlacedDataset, place_dataset
from gridveil.research.datasets.london import read_density
from gridveil.research.datasets.synthetic import CLIPS
from gridveil.research.nonprivate.stpt_leaky import StptLeaky
from gridveil.simulate.sources import SeededLaplace
from gridveil.trusted.budget import Bound, PureDP
from gridveil.trusted.kernel.kernel import Kernel

# The data of the paper's experiments: where processes find them, and the public bounds they are measured under.

LONDON = "lcl"
STANDINS = tuple(CLIPS)
GRID = (32, 32)
STEPS = 120

LONDON_CLIP = 1_140
"""Wh per hour, for London: mean and standard deviation of readings added up, as the paper's factors are."""
GENEROUS_STEP = 20_000
"""Wh: a step bound that hardly any hour of any household reaches."""
LONDON_COMMON = Bound(GENEROUS_STEP, LONDON_CLIP * STEPS)
"""The window bound that the clip would allow, without cutting single hours: as much noise, less energy cut away."""
LONDON_TUNED_FROM = Bound(GENEROUS_STEP, 192_000)
"""What the factors of own bounds were tuned from, on other hours of London households."""


def title(dataset: str) -> str:
    """Return a data set's name for readers, who must not take a stand-in for what it stands for."""
    return "London" if dataset == LONDON else f"{dataset} (stand-in)"


def clip_of(dataset: str) -> int:
    """Return the public clip of a reading, Wh: of the stand-ins it is the paper's."""
    return LONDON_CLIP if dataset == LONDON else CLIPS[dataset]


def plain_clip(dataset: str) -> Bound:
    """Return the paper's kind of bound: every step is cut at the clip, and nothing else."""
    return Bound(clip_of(dataset), clip_of(dataset) * STEPS)


def common_bound(dataset: str) -> Bound:
    """Return the bound that all methods share on a data set."""
    return LONDON_COMMON if dataset == LONDON else plain_clip(dataset)


@cache
def method_bound(dataset: str, mechanism: str, epsilon: float) -> Bound:
    """Return a method's own bound on a data set; for a baseline, which ignores bounds, the common one.

    Factors tuned on London hours are applied to what the paper's clip allows in a window, with a generous step bound.
    """
    if mechanism in COMPARISON_ONLY:
        return common_bound(dataset)
    tuned_from = LONDON_TUNED_FROM if dataset == LONDON else Bound(GENEROUS_STEP, clip_of(dataset) * STEPS)
    return own_bound(mechanism, epsilon, tuned_from, STEPS)


@dataclass(frozen=True)
class PaperTowns:
    """Finds a data set, placed: stand-ins by name, London in the packaged sample or a file.

    points, weight: the table and its column that the placement `density` draws from.
    """

    lcl: str | None = None
    points: str | None = None
    weight: str = "weight"

    def __call__(self, dataset: str, placement: str, seed: int) -> PlacedDataset:
        """Return the same households for every seed, elsewhere."""
        points = read_density(self.points or "", self.weight) if placement == "density" else None
        return place_dataset(_open(dataset, self.lcl), placement, GRID, seed, points)

    def dataset(self, name: str) -> Dataset:
        """Return a data set without places."""
        return _open(name, self.lcl)

    def about(self) -> dict[str, Any]:
        """Return digests of the data: trials of other data are not mixed in."""
        digest = hashlib.sha256(self.dataset(LONDON).readings.tobytes()).hexdigest()
        points = hashlib.sha256(Path(self.points).read_bytes()).hexdigest() if self.points else None
        return {"lcl": digest, "points": points, "weight": self.weight if points else None}


@lru_cache(maxsize=len(STANDINS) + 1)
def _open(name: str, lcl: str | None) -> Dataset:
    return open_dataset(name, Path(lcl) if lcl else None)


# Trials of the paper's details: how well STPT's pattern fits, and how long each method takes.

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
