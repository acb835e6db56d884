"""The queries that a plan predicts: places and periods in words, other grids, and crossings of a level."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise

from gridveil.geography.grid import Grid, metres_per_unit
from gridveil.model.window import Window
from gridveil.publishing.plan import Plan
from gridveil.simulate.rehearse import ErrorTally, Rehearsal, Shape

# Curves through a few noisy points: they fall, and may cross a level.


def fit_falling(values: Sequence[float]) -> list[float]:
    """Return the values nearest to these that never rise (least squares): rises are replaced by their mean.

    >>> fit_falling([9.0, 4.0, 6.0, 1.0])
    [9.0, 5.0, 5.0, 1.0]
    """
    blocks: list[tuple[float, int]] = []
    for value in values:
        mean, count = value, 1
        while blocks and blocks[-1][0] < mean:
            before, many = blocks.pop()
            mean, count = (before * many + mean * count) / (many + count), many + count
        blocks.append((mean, count))
    return [mean for mean, count in blocks for _ in range(count)]


def find_crossing(curve: Mapping[float, float], level: float) -> float | None:
    """Return where a falling curve reaches a level, interpolated between points on logarithmic scales, or None.

    >>> find_crossing({1.0: 40.0, 4.0: 10.0}, 20.0)
    2.0
    >>> find_crossing({1.0: 40.0, 4.0: 30.0}, 20.0)
    """
    points = sorted(curve.items())
    if points and points[0][1] <= level:
        return points[0][0]
    for (left, high), (right, low) in pairwise(points):
        if low <= level < high:
            part = 1.0 if low <= 0 else math.log(high / level) / math.log(high / low)
            return float(left * (right / left) ** part)
    return None


# Other grids and steps for the same plan, and the errors of their cells.

Cells = tuple[int, int]

HOUR = timedelta(hours=1)
ROUND = (HOUR, 3 * HOUR, 6 * HOUR, 24 * HOUR)
"""Steps that are tried in addition to the plan's own, where whole numbers of them fill the window."""

MAX_STEPS = 1000
"""Steps finer than the plan's are not tried if there would be more of them."""

MAX_SIDE = 256
"""Cells a side of the finest grid that is tried, unless the plan's own is finer."""


@dataclass
class GridSize:
    """A grid that was rehearsed at its finest step, and the error of one of its cells over each step.

    of_blocks: another grid was rehearsed in its place, of which a cell here is a block.
    """

    cells: Cells
    tallies: dict[timedelta, ErrorTally] = field(default_factory=dict)
    of_blocks: bool = False

    def add(self, rehearsal: Rehearsal, steps: list[timedelta], seed: int = 0, block: Cells = (1, 1)) -> None:
        """Count in a rehearsal in the first of these steps, on this grid, or on one of which a cell here is a block."""
        for step in steps:
            tally = rehearsal.tally((*block, step // steps[0]), seed=seed)
            self.tallies[step] = self.tallies.get(step, ErrorTally()) + tally

    def percent(self, step: timedelta) -> float:
        """Return the typical error of one cell over a step."""
        return self.tallies[step].percent


def list_steps(plan: Plan, basis: timedelta) -> list[timedelta]:
    """Return the plan's step, the basis, and the round ones of which whole numbers fill the window, finest first."""
    own, whole = plan.window.step, plan.window.steps * plan.window.step
    fitting = [
        step
        for step in ROUND
        if whole % step == timedelta(0) and (step % own == timedelta(0) or own % step == timedelta(0))
        if step >= own or whole // step <= MAX_STEPS
    ]
    finest = min([own, *fitting])
    return sorted({own, basis, *(step for step in fitting if step % finest == timedelta(0))})


def list_coarser(cells: Cells) -> list[Cells]:
    """Return the grids with half as many cells each way, again and again, down to one cell.

    >>> list_coarser((5, 7))
    [(3, 4), (2, 2), (1, 1)]
    """
    found = []
    while cells != (1, 1):
        cells = (max(1, (cells[0] + 1) // 2), max(1, (cells[1] + 1) // 2))
        found.append(cells)
    return found


def list_finer(cells: Cells) -> list[Cells]:
    """Return the grids with twice as many cells each way, again and again.

    >>> list_finer((32, 20))
    [(64, 40), (128, 80), (256, 160)]
    """
    found = []
    while 2 * max(cells) <= MAX_SIDE:
        cells = (2 * cells[0], 2 * cells[1])
        found.append(cells)
    return found


def change_grid(plan: Plan, cells: Cells, step: timedelta) -> Plan:
    """Return the same plan on another grid of the same extent, in other steps of the same window."""
    spec, grid, window = plan.spec, plan.grid, plan.window
    ratio = step / window.step
    return Plan.of(
        spec.model_copy(
            update={
                "extent": (grid.x0, grid.y0, grid.x1, grid.y1),
                "grid": cells,
                "cell_size": None,
                "start": window.start,
                "step": step // timedelta(seconds=1),
                "steps": window.steps * window.step // step,
                "bound_step": None if spec.bound_step is None else spec.bound_step * ratio,
            }
        )
    )


# Typical queries in plain words: the whole map, a district, a street, a cell; a step, a day, all.

DISTRICT = 4
"""A district is this part of the map each way."""

STREET_CELLS = 2
STREET_METRES = (20.0, 500.0)
"""A block of two by two cells is called a street if it is about as long as one."""

DAY = timedelta(days=1)


@dataclass(frozen=True)
class PlanQuery:
    """A kind of query: where, for how long, and how many cells and steps that is."""

    place: str
    period: str
    shape: Shape


def list_queries(grid: Grid, window: Window) -> list[PlanQuery]:
    """Return the kinds of queries that a grid and a window have room for, largest first."""
    return [
        PlanQuery(place, period, (*cells, steps))
        for cells, place in name_places(grid).items()
        for steps, period in name_periods(window).items()
    ]


def name_places(grid: Grid) -> dict[tuple[int, int], str]:
    """Return the names of places by their cells; what is as large as something larger has the larger one's name.

    >>> name_places(Grid(0, 0, 8000, 8000, nx=32, ny=32))
    {(32, 32): 'whole map', (8, 8): 'district (8 x 8 cells)', (2, 2): 'street (2 x 2 cells)', (1, 1): 'one cell'}
    >>> name_places(Grid(0, 0, 8000, 8000, nx=1, ny=1))
    {(1, 1): 'whole map'}
    """
    width, height = max(1, grid.nx // DISTRICT), max(1, grid.ny // DISTRICT)
    across, up = metres_per_unit(grid.crs, grid.y0, grid.y1)
    block = STREET_CELLS * max(grid.cell_width * across, grid.cell_height * up)
    found = {(grid.nx, grid.ny): "whole map"}
    if (width, height) != (1, 1):
        found.setdefault((width, height), f"district ({width} x {height} cells)")
    if min(width, height) >= STREET_CELLS:
        low, high = STREET_METRES
        size = f"{STREET_CELLS} x {STREET_CELLS} cells"
        found.setdefault((STREET_CELLS, STREET_CELLS), f"street ({size})" if low <= block <= high else size)
    found.setdefault((1, 1), "one cell")
    return found


def name_periods(window: Window) -> dict[int, str]:
    """Return the names of periods by their steps.

    >>> from datetime import UTC, datetime
    >>> name_periods(Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=6), 20))
    {20: 'all 5 days', 4: 'a day', 1: '6 h'}
    """
    found = {window.steps: f"all {format_length(window.steps * window.step)}"}
    if DAY % window.step == timedelta(0):
        steps = DAY // window.step
        if steps < window.steps:
            found[steps] = "a day"
    found.setdefault(1, "a day" if window.step == DAY else format_length(window.step))
    return found


def choose_basis(window: Window) -> timedelta:
    """Return the period over which cells are compared: a day, or what comes nearest to it."""
    whole = window.steps * window.step
    if window.step >= DAY or whole <= DAY:
        return min(whole, max(window.step, DAY))
    return DAY if DAY % window.step == timedelta(0) else window.step


def format_length(length: timedelta) -> str:
    """Return a length of time in the largest unit that divides it.

    >>> [format_length(timedelta(hours=hours)) for hours in (0.25, 1, 36, 48)]
    ['15 min', '1 h', '36 h', '2 days']
    """
    seconds = round(length.total_seconds())
    for size, name in ((86_400, "days"), (3600, "h"), (60, "min")):
        if seconds % size == 0 and (name != "days" or seconds > size):
            return f"{seconds // size:,} {name}"
    return f"{seconds:,} s"
