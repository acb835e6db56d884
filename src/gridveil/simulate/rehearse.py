"""One publication rehearsed in memory, on an invented town, and how far its answers are from the invented truth."""

from __future__ import annotations

import statistics
import zlib
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import lru_cache

import numpy as np

from gridveil.geography.grid import Grid
from gridveil.model.estimate import Estimate, NoisyParts, Posterior, Replicates
from gridveil.model.prefix import box_sums, prefix_sums
from gridveil.model.units import WH_PER_KWH, Floats, Ints
from gridveil.model.window import Window
from gridveil.publishing.bounded import release_with_private_bound
from gridveil.publishing.plan import Plan
from gridveil.simulate.sources import SeededLaplace
from gridveil.simulate.town import MAIN_FUSE, Town, make_town
from gridveil.simulate.unrest import unrest
from gridveil.trusted.budget import PureDP
from gridveil.trusted.kernel.kernel import Kernel
from gridveil.uncertainty.error_model import ErrorModel, Parts, ReplicateErrors
from gridveil.uncertainty.linear_noise import Factors
from gridveil.uncertainty.posterior import Draws

PLACES = 200
"""Where a question of one shape is asked, at random, in one rehearsal."""

HOUR = timedelta(hours=1)
UNIT = Grid(0, 0, 1, 1, 1, 1)

MOST_READINGS = 2**24
"""Of an invented town: 134 MB, and some times that while it is invented."""

Shape = tuple[int, int, int]
"""Of a question: cells west-east and south-north, and steps."""


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
        """The typical error: that of the middle rehearsal. One that went wrong says little of the others."""
        return statistics.median(self.each) if self.each else float("nan")

    @property
    def interval_percent(self) -> float:
        """Half the width of a typical 95 % interval."""
        return 100 * self.half_width / self.truth if self.truth > 0 else float("nan")


@dataclass(frozen=True)
class Rehearsal:
    """A release that was never written, beside what is true in its town: prefix sums, kWh (x, y, t)."""

    truth: Floats
    values: Floats
    errors: ErrorModel

    def tally(self, shape: Shape, *, bars: bool = False, seed: int = 0) -> ErrorTally:
        """Ask questions of one shape at random places; `bars` asks for error bars too, which takes longer."""
        ranges = draw_ranges(shape, tuple(length - 1 for length in self.truth.shape), seed)
        true, answers = box_sums(self.truth, ranges), box_sums(self.values, ranges)
        half = 0.0
        if bars:
            _, low, high = self.errors.bars(ranges, answers)
            half = float((high - low).sum()) / 2
        return ErrorTally(float(true.sum()), float(np.abs(answers - true).sum()), half)


def rehearse(plan: Plan, epsilon: float, households: int, seed: int = 0) -> Rehearsal:
    """Publish an invented town of so many households as planned, in memory and with seeded noise.

    Nothing of the publisher's data is touched. Other seeds have other towns, and other noise.
    """
    town = invent(plan, households, seed)
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
    return Rehearsal(truth, values, _error_model(estimate, plan.window.step))


def most_households(plan: Plan) -> int:
    """Return how many households a rehearsal has room for."""
    window = plan.reading_window
    return max(1, MOST_READINGS // (window.steps * _parts(window)))


def invent(plan: Plan, households: int, seed: int) -> Town:
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
    first = np.random.default_rng(seed).integers(0, free + 1, size=(PLACES, 3))
    return np.stack([first, first + shape], axis=-1).reshape(PLACES, 6)


def _parts(window: Window) -> int:
    """Return into how many parts a step is cut to be invented: habits are of hours, and a day is their sum."""
    parts = -(-window.step // HOUR)
    return parts if window.step % (parts * timedelta(seconds=1)) == timedelta(0) else 1


@lru_cache(maxsize=4)
def _town(households: int, window: Window, seed: int) -> Town:
    """Return a town on the unit square whose days differ as those of real ones do, kept for the next rehearsal."""
    town = make_town(households, grid=UNIT, window=window, seed=seed)
    factor = unrest(households, window, np.random.default_rng([seed, 1]))
    most = WH_PER_KWH * MAIN_FUSE * (window.step / HOUR)
    return replace(town, consumption=np.rint(np.minimum(town.consumption * factor, most)).astype(np.int64))


def _error_model(estimate: Estimate, step: timedelta) -> ErrorModel:
    """Return an estimate's error model as a release would hold it."""
    errors, shape = estimate.errors, estimate.cube.shape[::-1]
    if isinstance(errors, Posterior):
        return Draws.of(errors, shape, step / HOUR)
    if isinstance(errors, NoisyParts):
        return Parts.of(errors, shape)
    return ReplicateErrors.of(errors, shape) if isinstance(errors, Replicates) else Factors.of(errors, shape)
