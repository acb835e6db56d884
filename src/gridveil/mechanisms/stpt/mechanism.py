"""STPT: learn a pattern from a sanitised quadtree, partition by it, publish noisy sums of the parts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from gridveil.mechanisms.base import Progress, silent
from gridveil.mechanisms.inference.quadtree import depth_of_quarters, levels
from gridveil.mechanisms.stpt.blocks import measure_blocks
from gridveil.mechanisms.stpt.distribute import distribute
from gridveil.mechanisms.stpt.parts import Calibration, Spread, release_parts
from gridveil.mechanisms.stpt.quantize import Quantizer, quantize
from gridveil.mechanisms.stpt.replicates import replicate
from gridveil.mechanisms.stpt.series import equal_slices, measure_series, weighted_slices
from gridveil.model.errors import MissingExtraError, UsageError
from gridveil.model.estimate import Estimate
from gridveil.model.units import Floats
from gridveil.model.values import Product
from gridveil.trusted.kernel.session import Session

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
            from gridveil.mechanisms.stpt import learn
        except ModuleNotFoundError as error:
            raise MissingExtraError(what="stpt", extra="stpt") from error
        steps, training = measure.window.steps, learn.Training(self.lookback, self.epochs, self.seed)
        epsilon_pattern = measure.epsilon * (self.epsilon_pattern / (self.epsilon_pattern + self.epsilon_sanitize))
        epsilon_sanitize = measure.epsilon - epsilon_pattern
        tree = levels(measure.grid, min(self.depth, depth_of_quarters(measure.grid)))

        if self.forecaster == "plain":
            slices = equal_slices(tree, self.train_steps, self.lookback)
            series = measure_series(measure, slices, self.train_steps, epsilon_pattern)
            unit = min(measure.bound.step, measure.bound.window / steps)
            cube = learn.plain_pattern(series, unit, steps, training, progress)
            return self._release_parts(measure, cube, epsilon_sanitize)

        slices = weighted_slices(tree, self.train_steps, self.lookback)
        series = measure_series(measure, slices, self.train_steps, epsilon_pattern)
        pattern = learn.refined_pattern(series, measure.window, training, progress)
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
