"""One publication rehearsed in memory on an invented town: range queries, and the errors of its answers."""

from __future__ import annotations

import re
import statistics
import zlib
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from gridveil.geography.grid import Grid
from gridveil.model.arrays import WH_PER_KWH, Floats, Ints, box_sums, prefix_sums
from gridveil.model.errors import UsageError
from gridveil.model.window import Window
from gridveil.publishing.plan import Plan
from gridveil.publishing.run import release_with_private_bound
from gridveil.simulate.sources import SeededLaplace
from gridveil.simulate.town import MAIN_FUSE, Town, draw_variation, make_town
from gridveil.trusted.budget import PureDP
from gridveil.trusted.kernel.kernel import Kernel
from gridveil.uncertainty.model import ErrorModel, boxes_of

# Range queries to compare releases by: random shapes, fixed shapes, and the draws of the paper's authors.

Shape = tuple[int, int, int]

WORKLOADS: dict[str, Shape | None] = {"random": None, "small": (1, 1, 1), "large": (10, 10, 10)}
"""The paper's three kinds of range queries: their sides (cells west-east, south-north, steps), or any."""

QUERIES = 300
"""Range queries per workload, as in the paper."""

AUTHORS: dict[str, int | None] = {"authors-random": None, "authors-small": 1, "authors-five": 5, "authors-large": 10}
"""The four kinds that the authors' code draws: the side that it fixes, west-east and south-north only."""

AUTHORS_QUERIES = 200
AUTHORS_SMALLEST_CUBE = 3


def expand_workloads(extra: list[str]) -> tuple[str, ...]:
    """Return the paper's workloads and others: fixed shapes, or `authors` for the four of the authors.

    >>> expand_workloads(["4x4x24"])
    ('random', 'small', 'large', '4x4x24')
    """
    names = list(WORKLOADS)
    for name in extra:
        if name == "authors":
            names += AUTHORS
        else:
            _sides(name)
            names.append(name)
    return tuple(dict.fromkeys(names))


def draw_workload(name: str, shape: tuple[int, ...], seed: int = 0, queries: int = QUERIES) -> Ints:
    """Draw the range queries of a workload inside a cube: (query, 6), half-open `x0, x1, y0, y1, t0, t1`.

    A random query's sides are uniform between 1 and the cube's, its place uniform; a fixed side that is longer
    than the cube's is cut to it. The authors' workloads have their own number of queries (see `_draw_authors`).
    """
    rng = np.random.default_rng(seed)
    limit = np.array(shape)
    if name in AUTHORS:
        return _draw_authors(rng, limit, AUTHORS[name])
    fixed = _sides(name)
    sides = rng.integers(1, limit, (queries, 3), endpoint=True) if fixed is None else np.minimum(fixed, limit)
    first = rng.integers(0, limit - sides, (queries, 3), endpoint=True)
    return np.stack([first, first + sides], axis=2).reshape(queries, 6)


def _sides(name: str) -> Shape | None:
    if name in WORKLOADS:
        return WORKLOADS[name]
    match = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)x([1-9]\d*)", name)
    if not match:
        known = ", ".join(WORKLOADS)
        msg = f"workload {name!r}: give cells x cells x steps, e.g. 4x4x24, or authors ({known} are always there)"
        raise UsageError(msg, code="workload-syntax")
    return int(match[1]), int(match[2]), int(match[3])


def _draw_authors(rng: np.random.Generator, limit: Ints, fixed: int | None) -> Ints:
    """Draw 200 queries as the authors' code does (github.com/ANRGUSC/pars, main_v7_STPT.py, read, not run).

    Random: on each axis two different ones of the `n + 1` edges. Fixed side `q`: on each axis two different numbers
    below `n - q`, `n` being the west-east side of the grid *on all three axes*; the lower one is where the query
    begins, west-east and south-north it is `q` long, but in time it ends at the higher one. So on a 32 x 32 grid
    "1x1x1", "5x5x5" and "10x10x10" queries are 1 to 30, 26 and 21 steps long, and none looks past that hour. The law is
    theirs, not their stream of random numbers. On other grids than theirs `n` is the cube's shortest side and `q` is
    cut so that two numbers are left: what they would have done there is not known. They score against a truth that
    is clipped, with one household per cell at most; here both truths are scored, as for all workloads.
    """
    n = int(limit.min())
    if n < AUTHORS_SMALLEST_CUBE:
        msg = f"the authors' queries need a cube of at least {AUTHORS_SMALLEST_CUBE} each way, not {tuple(limit)}"
        raise UsageError(msg, code="cube-too-small")
    side = 0 if fixed is None else min(fixed, n - 2)
    pool = limit + 1 if fixed is None else np.full(3, n - side)
    one = rng.integers(0, pool, (AUTHORS_QUERIES, 3))
    other = rng.integers(0, pool - 1, (AUTHORS_QUERIES, 3))
    other += other >= one  # different from the one, and uniform among the rest
    ends = np.sort(np.stack([one, other], axis=2), axis=2)
    if fixed is not None:
        ends[:, :2, 1] = ends[:, :2, 0] + side
    return ends.reshape(AUTHORS_QUERIES, 6)


# One publication rehearsed in memory on an invented town, and the errors of its answers.

# How far a release's answers to range queries are from the truth. Pure functions on arrays.

HALF_A_WATT_HOUR = 0.0005
"""In kWh: a truth below it is zero, apart from the rounding of prefix sums."""

FLOOR = 1.0
"""kWh: what `mre_floor` divides by where the truth is smaller."""

AUTHORS_BASE = 20.0
"""What the authors' code divides by where the truth is zero, in the unit of their readings."""


class RelativeError(NamedTuple):
    """Mean relative error in percent, and how many queries it leaves out because their truth is zero."""

    percent: float
    left_out: int


def range_sums(cube: Floats, ranges: Ints) -> Floats:
    """Return the sum of the cube (x, y, t) in every range (query, 6).

    >>> range_sums(np.ones((4, 4, 4)), np.array([[0, 2, 0, 3, 1, 4]]))
    array([18.])
    """
    return box_sums(prefix_sums(cube, axes=(0, 1, 2)), ranges)


def mre(truth: Floats, answers: Floats) -> RelativeError:
    """Return the mean of `|answer - truth| / truth` over the queries with a truth above zero: the paper's error.

    >>> mre(np.array([10.0, 20.0, 0.0]), np.array([12.0, 19.0, 7.0]))
    RelativeError(percent=12.5, left_out=1)
    """
    counted = truth > HALF_A_WATT_HOUR
    errors = np.abs(answers - truth)[counted] / truth[counted]
    percent = 100 * float(errors.mean()) if errors.size else float("nan")
    return RelativeError(percent, int(np.count_nonzero(~counted)))


def mre_floor(truth: Floats, answers: Floats, floor: float = FLOOR) -> float:
    """Return the mean of `|answer - truth| / max(truth, floor)` over all queries, in percent.

    >>> mre_floor(np.array([10.0, 0.5, 0.0]), np.array([12.0, 0.6, 0.3]))
    20.0
    """
    return 100 * float(np.mean(np.abs(answers - truth) / np.maximum(truth, floor)))


def mre_authors(truth: Floats, answers: Floats) -> RelativeError:
    """Return the mean relative error as the authors' code computes it: it divides by 20 where the truth is zero.

    `left_out` counts those queries; here they are in the mean, and almost free: an answer of 1 kWh where nothing was
    used is off by 5 %.

    >>> mre_authors(np.array([10.0, 20.0, 0.0]), np.array([12.0, 19.0, 7.0]))
    RelativeError(percent=20.0, left_out=1)
    """
    zero = truth <= HALF_A_WATT_HOUR
    errors = np.abs(answers - truth) / np.where(zero, AUTHORS_BASE, truth)
    return RelativeError(100 * float(errors.mean()), int(np.count_nonzero(zero)))


def wape(truth: Floats, answers: Floats) -> float:
    """Return the weighted absolute percentage error: all queries' absolute errors over all their truth.

    >>> wape(np.array([10.0, 20.0, 0.0]), np.array([12.0, 19.0, 3.0]))
    20.0
    """
    total = float(truth.sum())
    return 100 * float(np.abs(answers - truth).sum()) / total if total > HALF_A_WATT_HOUR else float("nan")


def mae(truth: Floats, answers: Floats) -> float:
    """Return the mean absolute error, kWh.

    >>> mae(np.array([10.0, 20.0]), np.array([12.0, 19.0]))
    1.5
    """
    return float(np.abs(answers - truth).mean())


def bias(truth: Floats, answers: Floats) -> float:
    """Return the mean signed error, kWh: below zero where a release is too low, as clipping makes it.

    >>> bias(np.array([10.0, 20.0]), np.array([12.0, 19.0]))
    0.5
    """
    return float((answers - truth).mean())


# One publication rehearsed in memory, on an invented town, and how far its answers are from the invented truth.

QUERIES_PER_SHAPE = 200
"""Random places at which queries of one shape are asked in one rehearsal."""

HOUR = timedelta(hours=1)
UNIT = Grid(0, 0, 1, 1, 1, 1)

MAX_READINGS = 2**24
"""Of an invented town: 134 MB, and some times that while it is invented."""


@dataclass(frozen=True)
class ErrorTally:
    """Of questions of one shape, kWh: the sum of true answers, of their errors, and of half-widths of 95 % intervals.

    Tallies of several rehearsals add up. Errors count by their energy: an empty corner of the map weighs little.
    `earlier` are the errors of rehearsals that were added before, percent.
    """

    truth: float = 0.0
    error: float = 0.0
    half_width: float = 0.0
    earlier: tuple[float, ...] = ()

    def __add__(self, other: ErrorTally) -> ErrorTally:
        """Return both together."""
        if not self.each:
            return other
        half_width = self.half_width + other.half_width
        return ErrorTally(self.truth + other.truth, self.error + other.error, half_width, self.each + other.each)

    @property
    def each(self) -> tuple[float, ...]:
        """The error of every rehearsal, percent: all its errors over all its truth."""
        return self.earlier or ((100 * self.error / self.truth,) if self.truth > 0 else ())

    @property
    def percent(self) -> float:
        """The typical error: the median over rehearsals. An outlier does not change it."""
        return statistics.median(self.each) if self.each else float("nan")

    @property
    def interval_percent(self) -> float:
        """Half the width of a typical 95 % interval."""
        return 100 * self.half_width / self.truth if self.truth > 0 else float("nan")


@dataclass(frozen=True)
class Rehearsal:
    """A release that was never written, and the truth of its town: prefix sums, kWh (x, y, t)."""

    truth: Floats
    values: Floats
    errors: ErrorModel

    def tally(self, shape: Shape, *, bars: bool = False, seed: int = 0) -> ErrorTally:
        """Ask questions of one shape at random places; `bars` asks for error bars too, which takes longer."""
        ranges = draw_ranges(shape, tuple(length - 1 for length in self.truth.shape), seed)
        true, answers = box_sums(self.truth, ranges), box_sums(self.values, ranges)
        half = 0.0
        if bars:
            _, low, high = self.errors.of_boxes(boxes_of(ranges), answers)
            half = float((high - low).sum()) / 2
        return ErrorTally(float(true.sum()), float(np.abs(answers - true).sum()), half)


def rehearse(plan: Plan, epsilon: float, households: int, seed: int = 0) -> Rehearsal:
    """Publish an invented town as planned, in memory and with seeded noise.

    Nothing of the publisher's data is touched. Other seeds have other towns, and other noise.
    """
    town = invent_town(plan, households, seed)
    kernel = Kernel(
        town.source(),
        plan.window,
        budget=PureDP(epsilon),
        bound=plan.spec.to_bound(),
        noise=SeededLaplace(zlib.crc32(repr((epsilon, plan.grid, plan.window, seed)).encode())),
    )
    if plan.spec.private_bound:
        estimate = release_with_private_bound(kernel, plan.mechanism)
    else:
        estimate = plan.mechanism.release(kernel.session())
    truth, values = (
        prefix_sums(cube, axes=(0, 1, 2)) for cube in (town.cube(plan.window), estimate.dense() / WH_PER_KWH)
    )
    errors = estimate.errors.to_release(estimate.cube.shape[::-1], plan.window.step / HOUR)
    return Rehearsal(truth, values, errors)


def max_households(plan: Plan) -> int:
    """Return the maximum number of households of a rehearsal, by memory."""
    window = plan.reading_window
    return max(1, MAX_READINGS // (window.steps * _parts(window)))


def invent_town(plan: Plan, households: int, seed: int) -> Town:
    """Return a town on the grid and in the steps of a plan; the same town on every grid."""
    window = plan.reading_window
    parts = _parts(window)
    fine = _town(households, Window(window.start, window.step / parts, window.steps * parts), seed)
    grid = plan.grid
    return Town(
        grid,
        window,
        x=grid.x0 + fine.x * (grid.x1 - grid.x0),
        y=grid.y0 + fine.y * (grid.y1 - grid.y0),
        consumption=fine.consumption.reshape(households, window.steps, parts).sum(axis=2),
    )


def draw_ranges(shape: Shape, cube: tuple[int, ...], seed: int = 0) -> Ints:
    """Return ranges of one shape at random places.

    >>> draw_ranges((2, 1, 3), (2, 1, 3))[0]
    array([0, 2, 0, 1, 0, 3])
    """
    free = np.array(cube, dtype=np.int64) - shape
    first = np.random.default_rng(seed).integers(0, free + 1, size=(QUERIES_PER_SHAPE, 3))
    return np.stack([first, first + shape], axis=-1).reshape(QUERIES_PER_SHAPE, 6)


def _parts(window: Window) -> int:
    """Return into how many parts a step is cut to be invented: habits are of hours, and a day is their sum."""
    parts = -(-window.step // HOUR)
    return parts if window.step % (parts * timedelta(seconds=1)) == timedelta(0) else 1


@lru_cache(maxsize=4)
def _town(households: int, window: Window, seed: int) -> Town:
    """Return a town on the unit square whose days differ as those of real ones do, kept for the next rehearsal."""
    town = make_town(households, grid=UNIT, window=window, seed=seed)
    factor = draw_variation(households, window, np.random.default_rng([seed, 1]))
    most = WH_PER_KWH * MAIN_FUSE * (window.step / HOUR)
    return replace(town, consumption=np.rint(np.minimum(town.consumption * factor, most)).astype(np.int64))
