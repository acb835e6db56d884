"""The training window: every depth of the quadtree is measured on a slice of time of its own.

Each (cell, step) then enters one sum only, so all of it together costs the pattern's epsilon once. Noise is added
to block *sums*; dividing them by a public number of cells afterwards is the paper's Theorem 6 without its need for
the private number of households.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

import numpy as np

from gridveil.mechanisms.inference.quadtree import QuadtreeLevel
from gridveil.model.errors import UsageError
from gridveil.model.units import Floats, Ints
from gridveil.trusted.kernel.session import Session

# How the training window is shared out: most to the root, whose tail seeds the forecast, and to the deepest level,
# which tells the cells apart. At depth 5 these are per cent.
ROOT, FIRST, BETWEEN, DEEPEST = 34, 10, 8, 32
STEPWISE_DEPTH = 1


@dataclass(frozen=True)
class Slice:
    """Steps `start` to `start + steps` of the training window, measured by the blocks of one level.

    `stepwise`: one sum per block and step; otherwise one sum per block over the whole slice, for the noise of one.
    """

    level: QuadtreeLevel
    start: int
    steps: int
    stepwise: bool

    @property
    def end(self) -> int:
        """The first step after the slice."""
        return self.start + self.steps

    @property
    def rows(self) -> int:
        """How many sums each block has."""
        return self.steps if self.stepwise else 1


@dataclass(frozen=True)
class Series:
    """Sanitised block sums of one slice, Wh, axes (row, block x, block y); each has Laplace noise of `scale`."""

    part: Slice
    sums: Floats
    scale: float


def weighted_slices(levels: list[QuadtreeLevel], train_steps: int, lookback: int) -> list[Slice]:
    """Return the slices of the default: root last in time, only the top two levels step by step."""
    inner = [FIRST, *[BETWEEN] * len(levels)][: max(len(levels) - 2, 0)]
    weights = [ROOT, *inner, DEEPEST][: len(levels)]

    def share_out(total: int) -> Ints:
        edges = np.rint(total * np.cumsum([0, *weights]) / sum(weights)).astype(np.int64)
        return np.diff(edges)

    def enough(total: int) -> bool:
        steps = share_out(total)
        return bool(steps[0] > lookback and steps.min() >= 1)

    _require(enough, train_steps, lookback)
    steps = share_out(train_steps)
    ends = train_steps - np.cumsum([0, *steps[:-1]])
    return [
        Slice(level, int(end - length), int(length), level.depth <= STEPWISE_DEPTH)
        for level, end, length in zip(levels, ends, steps, strict=True)
    ]


def equal_slices(levels: list[QuadtreeLevel], train_steps: int, lookback: int) -> list[Slice]:
    """Return the paper's slices: equally long, root first, every level step by step.

    The length is rounded up (the paper's T'_train), so the last slice is cut to what is left of the window.
    """

    def starts_of(total: int) -> list[int]:
        return [level.depth * -(-total // len(levels)) for level in levels]

    _require(lambda total: total - starts_of(total)[-1] > lookback, train_steps, lookback)
    starts, length = starts_of(train_steps), -(-train_steps // len(levels))
    return [
        Slice(level, start, min(length, train_steps - start), stepwise=True)
        for level, start in zip(levels, starts, strict=True)
    ]


def labels_of(slices: list[Slice], train_steps: int) -> Ints:
    """Return which sum each cell and step of the training window enters, axes (x, y, t)."""
    root = slices[0].level
    labels = np.full((root.nx, root.ny, train_steps), -1, dtype=np.int64)
    first = 0
    for part in slices:
        row = np.arange(part.steps) if part.stepwise else np.zeros(part.steps, dtype=np.int64)
        labels[:, :, part.start : part.end] = first + part.level.labels[:, :, None] + row * part.level.blocks
        first += part.rows * part.level.blocks
    return labels


def measure_series(measure: Session, slices: list[Slice], train_steps: int, epsilon: float) -> list[Series]:
    """Measure the block sums of all slices at once, for `epsilon` altogether."""
    noisy = measure.sums(labels_of(slices, train_steps), epsilon, window=measure.window.before(train_steps))
    series, first = [], 0
    for part in slices:
        last = first + part.rows * part.level.blocks
        sums = noisy.values[first:last].astype(np.float64).reshape(part.rows, *part.level.shape)
        series.append(Series(part, sums, float(noisy.scales[first])))
        first = last
    return series


def _require(enough: Callable[[int], bool], train_steps: int, lookback: int) -> None:
    if not enough(train_steps):
        least = next(filter(enough, count(train_steps + 1)))
        msg = (
            f"train_steps={train_steps} is too short for a slice of time at each depth of the quadtree and a lookback"
            f" of {lookback} steps: use at least {least} steps, or a smaller depth or lookback"
        )
        raise UsageError(msg, code="stpt-training-short")
