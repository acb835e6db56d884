"""STPT: learn a pattern from a sanitised quadtree, partition by it, publish noisy sums of the parts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from gridveil.mechanisms.base import Progress, silent
from gridveil.mechanisms.inference.space import depth_of_quarters, make_levels
from gridveil.mechanisms.stpt.blocks import BlockSums, distribute, measure_blocks, sum_runs
from gridveil.mechanisms.stpt.parts import MIN_FRACTION, Calibration, Quantizer, Spread, quantize, release_parts
from gridveil.mechanisms.stpt.series import Pattern, make_equal_slices, make_weighted_slices, measure_series
from gridveil.model.arrays import Floats, Product
from gridveil.model.errors import MissingExtraError, UsageError
from gridveil.trusted.kernel.session import Session
from gridveil.uncertainty import Estimate, RegionSums, Replicates

# Replicates of the block partition: the estimate with all uncertain inputs redrawn. Post-processing.

REPLICATES = 40
LARGEST_CELL_VARIANCE = 20.0
"""Of a cell's relative deviation from the pattern: a cell in twenty holding everything."""


def replicate(sums: BlockSums, pattern: Pattern, space: Floats, time: Floats, seed: int) -> Replicates:
    """Return estimates from redrawn noise around the estimate's own sums, and from redrawn patterns.

    Noise alone would make the error bars of a shrunk estimate far too short, for it leaves out what shrinking hides.
    If an expectation with variance `t` and a measurement with variance `v` are both redrawn and weighted as before
    (`v / (t + v)` and `t / (t + v)`), the result has variance `t v / (t + v)`: that of the posterior.
    """
    random = np.random.default_rng(seed)
    of_time = sum_runs(space.sum() * time, sums.run) if sums.run else sums.time
    of_space = sums.level.gather(space)
    times = _redraw_times(pattern, random)
    spread = _estimate_cell_variance(sums, pattern, float(space.sum()))
    drawn = [
        distribute(
            replace(
                sums,
                time=of_time + random.laplace(0.0, sums.time_scale, of_time.shape),
                space=of_space + random.laplace(0.0, sums.space_scale, of_space.shape),
            ),
            replace(pattern, space=_redraw_space(pattern.space, spread, random), time=other),
        )
        for other in times
    ]
    measured = RegionSums(sums.level.labels, sums.space.ravel(), sums.space_scale)
    return Replicates(np.stack([each[0] for each in drawn]), np.stack([each[1] for each in drawn]), measured)


def _redraw_times(pattern: Pattern, random: np.random.Generator) -> Floats:
    """Return profiles that might as well have been forecast, axes (replicate, step)."""
    error = random.normal(size=(REPLICATES, len(pattern.time)))
    for step in range(1, len(pattern.time)):
        fresh = (1 - pattern.shape_memory**2) ** 0.5
        error[:, step] = pattern.shape_memory * error[:, step - 1] + fresh * error[:, step]
    shapes = pattern.time * np.exp(pattern.shape_variance**0.5 * error)
    relative_sd = pattern.total_variance**0.5 / pattern.total
    totals = np.maximum(1 + relative_sd * random.normal(size=REPLICATES), MIN_FRACTION)
    return np.asarray(shapes * (totals * pattern.time.sum() / shapes.sum(axis=1))[:, None], dtype=np.float64)


def _estimate_cell_variance(sums: BlockSums, pattern: Pattern, total: float) -> float:
    """Return the variance of a cell's relative deviation from the pattern, as far as the blocks tell.

    Cells that deviate independently deviate more than the blocks they make up, by as much as a block has cells.
    """
    expected = sums.level.gather(pattern.space) * (total / pattern.space.sum())
    excess = float(np.sum((sums.space - expected) ** 2 - 2 * sums.space_scale**2))
    of_blocks = max(excess, 0.0) / float(np.sum(expected**2))
    return min(of_blocks * pattern.space.size / sums.level.blocks, LARGEST_CELL_VARIANCE)


def _redraw_space(space: Floats, variance: float, random: np.random.Generator) -> Floats:
    """Return levels of cells that might as well have been expected, with the same sum."""
    if variance == 0:
        return space
    other = space * np.maximum(random.gamma(1 / variance, variance, space.shape), MIN_FRACTION)
    return np.asarray(other * (space.sum() / other.sum()), dtype=np.float64)


AtLeastOne = Annotated[int, Field(ge=1)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


@dataclass(frozen=True)
class Stpt:
    """Learn what to expect from the steps before the window, then measure sums that this makes worth measuring.

    epsilon_pattern, epsilon_sanitize: the ratio in which the budget is split between the two; only their ratio counts.
    train_steps, depth, lookback, epochs: of the quadtree's training window and the forecaster. `depth` is limited to
        what the grid's shorter side allows.
    forecaster: "refined" knows the time of day and the level of each series; "plain" is the paper's.
    partition: "blocks" measures blocks of time and blocks of space; "quantized" is the paper's k-quantization.
    buckets, quantizer, calibration, spread: of the quantized partition. "theorem8" splits the budget as the paper
        does; "joint" counts what one household can really change, which is several times less noise.
    seed: of network initialisation and error bars. It protects nothing.
    """

    epsilon_pattern: Positive = 1.0
    epsilon_sanitize: Positive = 2.0
    train_steps: AtLeastOne = 100
    depth: Annotated[int, Field(ge=0)] = 5
    lookback: AtLeastOne = 6
    epochs: AtLeastOne = 20
    forecaster: Literal["refined", "plain"] = "refined"
    partition: Literal["blocks", "quantized"] = "blocks"
    buckets: AtLeastOne = 50
    quantizer: Quantizer = "kmeans"
    calibration: Calibration = "joint"
    spread: Spread = "proportional"
    seed: Annotated[int, Field(ge=0)] = 0

    def __post_init__(self) -> None:
        """Refuse blocks without the pattern they rest on."""
        if self.partition == "blocks" and self.forecaster == "plain":
            msg = "partition 'blocks' needs levels of cells and a profile of time: use forecaster 'refined'"
            raise UsageError(msg, code="stpt-blocks-forecaster")

    def release(self, measure: Session, progress: Progress = silent) -> Estimate:
        """Spend the pattern's part of the budget on the training window, and the rest on the published one."""
        try:
            from gridveil.mechanisms.stpt import network as learn
        except ModuleNotFoundError as error:
            raise MissingExtraError(what="stpt", extra="stpt") from error
        steps, training = measure.window.steps, learn.Training(self.lookback, self.epochs, self.seed)
        epsilon_pattern = measure.epsilon * (self.epsilon_pattern / (self.epsilon_pattern + self.epsilon_sanitize))
        epsilon_sanitize = measure.epsilon - epsilon_pattern
        tree = make_levels(measure.grid, min(self.depth, depth_of_quarters(measure.grid)))

        if self.forecaster == "plain":
            slices = make_equal_slices(tree, self.train_steps, self.lookback)
            series = measure_series(measure, slices, self.train_steps, epsilon_pattern)
            unit = min(measure.bound.step, measure.bound.window / steps)
            cube = learn.learn_plain_pattern(series, unit, steps, training, progress)
            return self._release_parts(measure, cube, epsilon_sanitize)

        slices = make_weighted_slices(tree, self.train_steps, self.lookback)
        series = measure_series(measure, slices, self.train_steps, epsilon_pattern)
        pattern = learn.learn_refined_pattern(series, measure.window, training, progress)
        if self.partition == "quantized":
            return self._release_parts(measure, pattern.cube, epsilon_sanitize)

        sums = measure_blocks(measure, pattern, epsilon_sanitize)
        space, time = distribute(sums, pattern)
        errors = replicate(sums, pattern, space, time, self.seed)
        details = {"time_blocks": sums.time.size, "space_blocks": sums.space.size, "space_depth": sums.level.depth}
        return Estimate(Product.of(space, time), errors, details)

    def _release_parts(self, measure: Session, pattern: Floats, epsilon: float) -> Estimate:
        labels = quantize(pattern, self.buckets, self.quantizer)
        return release_parts(measure, pattern, labels, epsilon, self.calibration, self.spread)


STPT_PAPER: dict[str, Any] = {
    "depth": 3,
    "forecaster": "plain",
    "partition": "quantized",
    "quantizer": "equal-width",
    "calibration": "theorem8",
    "spread": "uniform",
}
"""The paper to the letter, as far as it is private: the pattern is rolled out from sanitised values.

The paper gives no number of buckets and warns of too many; under Theorem 8 every part adds noise to all others. The
default of 50 stands: 150, as in the authors' code, was no better on London data at epsilon 30 and worse at 3. A medium
depth is the paper's advice. Meant for a plain clip (window bound = step bound x steps), as the paper's is: under a
tighter window bound Theorem 8 charges nearly all of it to every part.
"""
