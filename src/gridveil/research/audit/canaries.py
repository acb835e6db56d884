"""Pairs of worlds that differ in one household, the canary, which lives and uses energy where it shows most."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from gridveil.geography.grid import Grid
from gridveil.model.arrays import Ints
from gridveil.model.window import Window
from gridveil.trusted.budget import Bound
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable
from gridveil.trusted.kernel.kernel import Source
from gridveil.trusted.kernel.transforms import Haar
from gridveil.trusted.source.ingest import ingest

Cell = tuple[int, int]

SIDE, STEPS, TRAIN = 4, 8, 24
"""Cells along each side, published steps, and steps before them for mechanisms that train: whole windows."""
GRID = Grid(0, 0, SIDE, SIDE, SIDE, SIDE)
WINDOW = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), STEPS)
LARGEST = 8000
"""The window bound, Wh."""
EXCESS = 10
"""The canary's readings are so many times what the bound lets through: that it is bounded is part of the test."""
CROWD, FAR, NEAR = (1, 1), (3, 3), (0, 0)
ONE_STEP = (1,)
"""Where a canary uses too much in one step only: odd, as is worst for Fourier, and one that FAST samples."""

TOWN: dict[Cell, int] = {CROWD: 3, (0, 1): 2, (1, 0): 1, (2, 2): 1}
"""How many households live where: in one quarter of the map, but for one of them."""
QUARTER: dict[Cell, int] = {CROWD: 3, (0, 1): 2, (1, 0): 1, NEAR: 1}
"""A town in one quarter, so that whoever lives in another has every part of it that is not the whole map alone."""


@dataclass(frozen=True)
class Worlds:
    """Neighbours that differ in the canary only, and the public facts of both.

    bound: of the published window; with `private_bound` what its steps add up to, a lower one being chosen privately.
    cell, steps: where the canary lives, and the steps in which it uses more than the step bound.
    """

    name: str
    with_canary: Source
    without: Source
    grid: Grid
    window: Window
    bound: Bound
    cell: Cell
    steps: tuple[int, ...]
    private_bound: bool = False

    @property
    def step(self) -> int:
        """The first step in which the canary uses most."""
        return self.steps[0]

    @property
    def series(self) -> Ints:
        """What is left of the canary under the bound: its steps are alike, so that scaling shares the window out."""
        series = np.zeros(self.window.steps, dtype=np.int64)
        series[list(self.steps)] = min(self.bound.step, self.bound.window // len(self.steps))
        return series


@dataclass(frozen=True)
class Canary:
    """A canary and the town it lives in: its cell, the steps of a window in which it uses too much, and the bound."""

    name: str
    cell: Cell
    steps: tuple[int, ...]
    bound: Bound
    town: tuple[tuple[Cell, int], ...] = tuple(TOWN.items())
    private_bound: bool = False


def list_canaries() -> list[Canary]:
    """Return all canaries.

    A household loses most at a corner of what the bound allows: some steps full, the others empty (the loss is convex).
    All but the last two use up the window bound by full steps, so that either bound hides that the other is missing.
    One of the last two is limited by the step bound alone, the other needs the window bound after the step bound.
    """
    half = Bound(LARGEST * 2 // STEPS, LARGEST)
    every, first_half, quarter = tuple(range(STEPS)), tuple(range(STEPS // 2)), tuple(QUARTER.items())
    return [
        Canary("all in one step", CROWD, ONE_STEP, Bound(LARGEST, LARGEST)),
        Canary("every step full", CROWD, every, Bound(LARGEST // STEPS, LARGEST)),
        Canary("half of the steps full", CROWD, first_half, half),
        Canary("worst for a tree of time", CROWD, worst_of_tree(len(first_half)), half),
        Canary("in an empty cell", (3, 0), ONE_STEP, Bound(LARGEST, LARGEST)),
        Canary("alone in its quarter", FAR, first_half, half, quarter),
        Canary("private bound", CROWD, every, Bound(LARGEST // STEPS, LARGEST), private_bound=True),
        Canary("one step over its bound", CROWD, ONE_STEP, Bound(LARGEST // STEPS, LARGEST)),
        Canary("over both bounds", CROWD, every, half),
    ]


def make_worlds(canary: Canary, *, train_steps: int = 0) -> Worlds:
    """Return the worlds with and without a canary, `train_steps` (a multiple of `STEPS`) before the window included.

    Both go through the real ingest once; what the kernel asks of them is computed once and cached.
    """
    return Worlds(
        canary.name,
        _ingest_world(canary, train_steps, present=True),
        _ingest_world(canary, train_steps, present=False),
        GRID,
        WINDOW,
        canary.bound,
        canary.cell,
        canary.steps,
        canary.private_bound,
    )


def worst_of_tree(full: int) -> tuple[int, ...]:
    """Return the steps, `full` of them, that move Haar coefficients most: the corner that the tree recursion finds.

    All are tried. The recursion's answer depends on the levels' weights; this one is best under equal noise (Privelet),
    and among the best for an orthonormal transform.
    """
    rows, scales = Haar(exponent=0.0).rows(STEPS), Haar(exponent=0.5).relative(STEPS)

    def moved(steps: tuple[int, ...]) -> tuple[float, float]:
        changes = np.abs(rows[:, list(steps)].sum(axis=1))
        return float(changes.sum()), float((changes / scales).sum())

    return max(combinations(range(STEPS), full), key=moved)


class CachedSource:
    """A source that asks another each question once, and caches the answer."""

    def __init__(self, source: Source) -> None:
        self.grid, self.window = source.grid, source.window
        self._cube_once = cache(source.bounded_cube)
        count = source.count_totals

        @cache
        def count_once(window: Window, step_bound: int, edges: tuple[int, ...]) -> Ints:
            return count(window, step_bound, np.array(edges, dtype=np.int64))

        self._count_once = count_once

    def bounded_cube(self, window: Window, bound: Bound, rows: slice | None = None) -> Ints:
        """Return the cube of a window under a bound, or some of its rows along x: worlds are small."""
        cube = self._cube_once(window, bound)
        return cube if rows is None else cube[rows]

    def count_totals(self, window: Window, step_bound: int, edges: Ints) -> Ints:
        """Return the histogram of window totals."""
        return self._count_once(window, step_bound, tuple(edges.tolist()))


def _ingest_world(canary: Canary, train_steps: int, *, present: bool) -> Source:
    """Write the tables of a world, and return what the real ingest makes of them."""
    homes, rows = _town(canary, train_steps)
    if present:
        own = {"household": "canary", "x": canary.cell[0] + 0.5, "y": canary.cell[1] + 0.5}
        homes, rows = [*homes, own], [*rows, *_canary_rows(canary, train_steps)]
    with tempfile.TemporaryDirectory(prefix="gridveil-") as folder:
        readings, households = Path(folder) / "readings.parquet", Path(folder) / "households.parquet"
        _write(readings, rows)
        _write(households, homes)
        source, _ = ingest(ReadingsTable(str(readings)), HouseholdsTable(str(households)), GRID, _read(train_steps))
        return CachedSource(source)


def _read(train_steps: int) -> Window:
    """Return all steps that are read: those of training, and the published ones."""
    return Window(WINDOW.start - train_steps * WINDOW.step, WINDOW.step, train_steps + STEPS)


def _town(canary: Canary, train_steps: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the households beside the canary, and readings that differ by household and step, all far below bounds."""
    cells = [cell for cell, count in canary.town for _ in range(count)]
    names = [f"household-{number}" for number in range(len(cells))]
    homes = [{"household": name, "x": x + 0.25, "y": y + 0.25} for name, (x, y) in zip(names, cells, strict=True)]
    rows = [
        {"household": name, "timestamp": time, "kwh": (100 + 10 * number + 5 * (step % STEPS)) / 1000}
        for number, name in enumerate(names)
        for step, time in enumerate(_read(train_steps).times())
    ]
    return homes, rows


def _canary_rows(canary: Canary, train_steps: int) -> list[dict[str, Any]]:
    """Return the canary's readings: far above the step bound in its steps of every window, nothing in the others."""
    kwh = EXCESS * canary.bound.step / 1000
    return [
        {"household": "canary", "timestamp": time, "kwh": kwh if step % STEPS in canary.steps else 0.0}
        for step, time in enumerate(_read(train_steps).times())
    ]


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {
        "household": pa.string(),
        "timestamp": pa.timestamp("us", "UTC"),
        "kwh": pa.float64(),
        "x": pa.float64(),
        "y": pa.float64(),
    }
    pq.write_table(pa.Table.from_pylist(rows, pa.schema([(name, kinds[name]) for name in rows[0]])), path)
