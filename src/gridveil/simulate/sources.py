"""Sources in memory, seeded noise and tapes, for rehearsals and tests: nothing made with them is private."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gridveil.geography.grid import Grid
from gridveil.model.arrays import Ints
from gridveil.model.window import Window
from gridveil.trusted.budget import Bound, PureDP
from gridveil.trusted.kernel.kernel import Kernel
from gridveil.trusted.kernel.staircase import Staircase


@dataclass(frozen=True)
class ArraySource:
    """A source from arrays: `cells` (household, 2) and `readings` (household, step), integer Wh.

    Written apart from the ingested source, so that the two can be tested against each other.
    """

    grid: Grid
    window: Window
    cells: Ints
    readings: Ints

    def bounded_cube(self, window: Window, bound: Bound, rows: slice | None = None) -> Ints:
        """Return the cube of a window under a bound, or some of its rows along x."""
        bounded = self.bounded(window, bound)
        cube = np.zeros((self.grid.nx, self.grid.ny, window.steps), dtype=np.int64)
        np.add.at(cube, (self.cells[:, 0], self.cells[:, 1]), bounded)
        return cube if rows is None else cube[rows]

    def count_totals(self, window: Window, step_bound: int, edges: Ints) -> Ints:
        """Return the histogram of window totals."""
        totals = np.minimum(self._part(window), step_bound).sum(axis=1)
        bins = np.searchsorted(edges, totals, side="right") - 1
        return np.bincount(bins[bins >= 0], minlength=len(edges)).astype(np.int64)

    def bounded(self, window: Window, bound: Bound) -> Ints:
        """Return every household's bounded contribution (household, step)."""
        capped = np.minimum(self._part(window), bound.step)
        totals = capped.sum(axis=1, keepdims=True)
        return np.where(totals > bound.window, capped * bound.window // np.maximum(totals, 1), capped)

    def without(self, household: int) -> ArraySource:
        """Return the neighbour that lacks one household."""
        keep = np.arange(len(self.cells)) != household
        return ArraySource(self.grid, self.window, self.cells[keep], self.readings[keep])

    def _part(self, window: Window) -> Ints:
        first = (window.start - self.window.start) // self.window.step
        return self.readings[:, first : first + window.steps]


@dataclass(frozen=True)
class Nobody:
    """A source without households, for any window."""

    grid: Grid
    window: Window

    def bounded_cube(self, window: Window, bound: Bound, rows: slice | None = None) -> Ints:
        """Return an empty cube, or some of its rows along x."""
        del bound
        nx = self.grid.nx if rows is None else len(range(self.grid.nx)[rows])
        return np.zeros((nx, self.grid.ny, window.steps), dtype=np.int64)

    def count_totals(self, window: Window, step_bound: int, edges: Ints) -> Ints:
        """Return that there is nobody in any bin."""
        del window, step_bound
        return np.zeros(len(edges), dtype=np.int64)


@dataclass(frozen=True)
class InventedSource:
    """A source of an invented cube of any size, made slab by slab when it is asked for.

    asked: the rows of the cube that it was asked for, `None` for all of them.
    """

    grid: Grid
    window: Window
    asked: list[slice | None] = field(default_factory=list)

    def bounded_cube(self, window: Window, bound: Bound, rows: slice | None = None) -> Ints:
        """Return the cube, or some of its rows along x: a pattern, no two cells alike, within the bound."""
        self.asked.append(rows)
        x = np.arange(self.grid.nx)[rows or slice(None)]
        cells = 7919 * (x[:, None] * self.grid.ny + np.arange(self.grid.ny))
        values = cells[:, :, None] + 104_729 * np.arange(window.steps)
        values %= min(bound.step, bound.window // window.steps) + 1
        return values

    def count_totals(self, window: Window, step_bound: int, edges: Ints) -> Ints:
        """Return one household for each cell, in the first bin."""
        del window, step_bound
        counts = np.zeros(len(edges), dtype=np.int64)
        counts[0] = self.grid.cells
        return counts


class SeededLaplace:
    """Repeatable noise, Laplace or staircase, from a public seed: protects nothing."""

    def __init__(self, seed: int) -> None:
        self._random = np.random.default_rng(seed)

    def add(self, values: Ints, scales: NDArray[np.float64]) -> Ints:
        """Return the values with rounded Laplace noise."""
        return values + np.rint(self._random.laplace(0.0, scales)).astype(np.int64)

    def add_staircase(self, values: Ints, staircase: Staircase) -> Ints:
        """Return the values with staircase noise."""
        odds, size = staircase.outer_odds, values.shape
        shell = self._random.geometric(-np.expm1(-staircase.epsilon), size) - 1
        place = self._random.integers(2 * staircase.delta, size=size)
        beyond = shell * staircase.delta + staircase.inner + place // 2
        middle = self._random.integers(1 - staircase.inner, staircase.inner, size)
        outer = self._random.random(size) < odds / (1 + odds)
        return np.asarray(values + np.where(outer, np.where(place % 2, -beyond, beyond), middle), dtype=np.int64)


@dataclass
class Tape:
    """Remembers every noisy answer, and gives them out again whatever the true values are.

    `Tape.record(seed)` records. `tape.replay()` stands for noise that was shifted by the difference of the true
    answers: the noisy answers coincide. It fails if there are more questions than those recorded, or others (in number
    of answers or noise); `check_played()` fails if there were fewer.

    With every answer goes its noise: the scales, which are positive, or a zero and the three numbers of a staircase.
    """

    answers: list[tuple[Ints, NDArray[np.float64]]] = field(default_factory=list)
    _inner: SeededLaplace | None = None
    _left: Iterator[tuple[Ints, NDArray[np.float64]]] | None = None

    @classmethod
    def record(cls, seed: int) -> Tape:
        """Return an empty tape that draws seeded noise."""
        return cls(_inner=SeededLaplace(seed))

    def replay(self) -> Tape:
        """Return a tape that answers with what this one recorded."""
        return Tape(answers=self.answers, _left=iter(self.answers))

    def add(self, values: Ints, scales: NDArray[np.float64]) -> Ints:
        """Record fresh noisy answers, or repeat the recorded ones."""
        fresh = None if self._inner is None else self._inner.add(values, scales)
        return self._answer(fresh, values.shape, scales)

    def add_staircase(self, values: Ints, staircase: Staircase) -> Ints:
        """Record or repeat answers with staircase noise."""
        fresh = None if self._inner is None else self._inner.add_staircase(values, staircase)
        return self._answer(fresh, values.shape, np.array([0.0, staircase.delta, staircase.inner, staircase.epsilon]))

    def _answer(self, fresh: Ints | None, shape: tuple[int, ...], noise: NDArray[np.float64]) -> Ints:
        if fresh is not None:
            self.answers.append((fresh, noise))
            return fresh
        if self._left is None:
            msg = "an empty tape cannot be played"
            raise RuntimeError(msg)
        recorded, expected = next(self._left, (None, None))
        if recorded is None or expected is None:
            msg = "there are more questions than the tape has answers to"
            raise RuntimeError(msg)
        np.testing.assert_array_equal(noise, expected)
        np.testing.assert_array_equal(shape, recorded.shape)
        return recorded.copy()

    def check_played(self) -> None:
        """Fail if not all that was recorded has been asked for again."""
        if self._left is None or next(self._left, None) is not None:
            msg = "not all of the tape has been played"
            raise RuntimeError(msg)


def kernel_without_data(tape: Tape, grid: Grid, window: Window, *, epsilon: float | str, bound: Bound) -> Kernel:
    """Return a kernel on a town without households that plays a tape: all it can answer is what was recorded."""
    return Kernel(Nobody(grid, window), window, budget=PureDP(epsilon), bound=bound, noise=tape.replay())


def kernel_on(
    readings: ArrayLike,
    window: Window,
    *,
    epsilon: float | str,
    bound: Bound,
    seed: int | None = 0,
    train_steps: int = 0,
) -> Kernel:
    """Return a kernel on an (x, y, t) cube of readings, one household per cell; `seed=None` draws real noise.

    The first `train_steps` of the readings come before the window.
    """
    cube = np.asarray(readings, dtype=np.int64)
    nx, ny, steps = cube.shape
    cells = np.stack(np.meshgrid(np.arange(nx), np.arange(ny), indexing="ij"), axis=-1).reshape(-1, 2)
    whole = Window(window.before(train_steps).start if train_steps else window.start, window.step, steps)
    source = ArraySource(Grid(0, 0, nx, ny, nx, ny), whole, cells, cube.reshape(-1, steps))
    noise = None if seed is None else SeededLaplace(seed)
    return Kernel(source, window, budget=PureDP(epsilon), bound=bound, noise=noise)
