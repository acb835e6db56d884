"""The training window of STPT: sanitised series of the quadtree's levels, and the pattern made from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

import numpy as np

from gridveil.mechanisms.inference.space import QuadtreeLevel
from gridveil.mechanisms.stpt.parts import shrink
from gridveil.model.arrays import Floats, Ints
from gridveil.model.errors import UsageError
from gridveil.model.window import Window
from gridveil.trusted.kernel.session import Session

# Features of a step that need no data: the time of day.

DAILY_HOURS = (24, 12)


def make_harmonics(window: Window) -> Floats:
    """Return sines and cosines of the day and the half day at every step, axes (step, harmonic).

    A rhythm needs at least two steps to show: steps of a day or more have none. There is no weekday input: a
    training window of days has hardly seen one, and a network fed with unseen values goes astray.

    >>> from datetime import UTC, datetime, timedelta
    >>> make_harmonics(Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=6), 2)).round().tolist()
    [[0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 0.0, -1.0]]
    >>> make_harmonics(Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(days=1), 3)).shape
    (3, 0)
    """
    step = window.step.total_seconds() / 3600
    hours = window.start.timestamp() / 3600 % 24 + step * np.arange(window.steps)
    angles = [2 * np.pi * hours / period for period in DAILY_HOURS if 2 * step <= period]
    waves = [wave for angle in angles for wave in (np.sin(angle), np.cos(angle))]
    return np.stack(waves, axis=1) if waves else np.zeros((window.steps, 0))


@dataclass(frozen=True)
class Pattern:
    """Expected use of cell (x, y) at step t, Wh: `space[x, y] * time[t]`, all positive. Sanitised.

    How wrong it may be: `total_variance` of the total, Wh squared; beside that `shape_variance` of a single step,
    relative to the square of its use; errors of successive steps have the correlation `shape_memory`.
    """

    space: Floats
    time: Floats
    total_variance: float
    shape_variance: float
    shape_memory: float

    @property
    def total(self) -> float:
        """Expected use of the whole cube, Wh."""
        return float(self.space.sum() * self.time.sum())

    @property
    def cube(self) -> Floats:
        """The whole pattern, axes (x, y, t)."""
        return self.space[:, :, None] * self.time


# The training window: every depth of the quadtree is measured on a slice of time of its own.
#
# Each (cell, step) then enters one sum only, so all of it together costs the pattern's epsilon once. Noise is added
# to block *sums*; dividing them by a public number of cells afterwards is the paper's Theorem 6 without its need for
# the private number of households.

# How the training window is shared out: most to the root, whose tail seeds the forecast, and to the deepest level,
# which tells the cells apart. At depth 5 these are per cent.
ROOT_WEIGHT, FIRST_WEIGHT, MIDDLE_WEIGHT, DEEPEST_WEIGHT = 34, 10, 8, 32
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


def make_weighted_slices(levels: list[QuadtreeLevel], train_steps: int, lookback: int) -> list[Slice]:
    """Return the slices of the default: root last in time, only the top two levels step by step."""
    inner = [FIRST_WEIGHT, *[MIDDLE_WEIGHT] * len(levels)][: max(len(levels) - 2, 0)]
    weights = [ROOT_WEIGHT, *inner, DEEPEST_WEIGHT][: len(levels)]

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


def make_equal_slices(levels: list[QuadtreeLevel], train_steps: int, lookback: int) -> list[Slice]:
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


def make_labels(slices: list[Slice], train_steps: int) -> Ints:
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
    noisy = measure.sums(make_labels(slices, train_steps), epsilon, window=measure.window.before(train_steps))
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


# How much the map uses, and which share of it each cell has: estimated from the sanitised tree alone.

HARMONIC_SD = 0.25
"""Prior standard deviation of a daily harmonic, relative to the map's level."""
MISFIT = 0.1
"""How far a map total may lie off the harmonic curve, relative to the level."""
MIN_OF_LEVEL = 0.05
"""No hour of the map is believed to be below this fraction of its level."""


@dataclass(frozen=True)
class MapLevel:
    """The map's mean use of one step, Wh, and the variance of the noise in it, relative to its square."""

    mean: float
    noise: float


def fit_map_level(root: Series) -> MapLevel:
    """Return the mean of the root's sanitised series, at least as much as its own noise could hide."""
    steps = root.part.steps
    mean = max(float(root.sums.mean()), root.scale * (2 / steps) ** 0.5, 1.0)
    return MapLevel(mean, 2 * (root.scale / mean) ** 2 / steps)


def hindcast(series: list[Series], level: MapLevel, waves: Floats) -> list[float]:
    """Return the map's total over each slice, from a daily curve fitted to the totals of all slices.

    Slices lie at different hours, so their totals differ even if nothing changes; a slice's own noisy total, on the
    other hand, is too poor to divide by.
    """
    rows, totals, variances = [], [], []
    for each in series:
        basis = np.column_stack([np.ones(each.part.steps), waves[each.part.start : each.part.end]])
        rows.append(basis if each.part.stepwise else basis.sum(axis=0, keepdims=True))
        totals.append(each.sums.sum(axis=(1, 2)))
        misfit = MISFIT * level.mean * each.part.steps / each.part.rows
        variances.append(np.full(each.part.rows, 2 * each.scale**2 * each.part.level.blocks + misfit**2))
    design, target = np.concatenate(rows), np.concatenate(totals) / level.mean
    weights = level.mean**2 / np.concatenate(variances)
    prior = np.diag([0.0, *[HARMONIC_SD**-2] * waves.shape[1]])
    curve = np.linalg.solve(design.T * weights @ design + prior, design.T * weights @ target)
    return [
        level.mean * max(float((block @ curve).sum()), MIN_OF_LEVEL * each.part.steps)
        for block, each in zip(rows, series, strict=True)
    ]


def compute_block_shares(series: list[Series], totals: list[float]) -> list[Floats]:
    """Return each block's share of the map, for every level of the tree; the shares of a level add up to 1.

    Upward, a block's own share is combined with the sum of its children's by inverse variance; downward, children
    are shrunk towards an even split of their parent and raked to it.
    """
    shares = [each.sums.sum(axis=0) / total for each, total in zip(series, totals, strict=True)]
    noise = [2 * each.scale**2 * each.part.rows / total**2 for each, total in zip(series, totals, strict=True)]
    levels = [each.part.level for each in series]
    for depth in range(len(levels) - 2, 0, -1):
        children = noise[depth + 1] * levels[depth + 1].blocks / levels[depth].blocks
        own = children / (children + noise[depth])
        shares[depth] = own * shares[depth] + (1 - own) * levels[depth].gather(shares[depth + 1])
        noise[depth] = own * noise[depth]
    estimate = [np.ones((1, 1))]
    for depth in range(1, len(levels)):
        above, here = levels[depth - 1], levels[depth]
        expected = above.rake(here.cells, estimate[-1])
        estimate.append(above.rake(shrink(shares[depth], expected, noise[depth]), estimate[-1]))
    return estimate


def compute_cell_shares(deepest: QuadtreeLevel, shares: Floats) -> Floats:
    """Spread the shares of the deepest blocks evenly over their cells, axes (x, y)."""
    return deepest.scatter(shares / deepest.cells, (deepest.nx, deepest.ny))
