"""Other grids and steps for the same plan: what one of their cells would be worth."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta

from gridveil.publishing.plan import Plan
from gridveil.simulate.rehearse import ErrorTally, Rehearsal

Cells = tuple[int, int]

HOUR = timedelta(hours=1)
ROUND = (HOUR, 3 * HOUR, 6 * HOUR, 24 * HOUR)
"""Steps that are tried beside the plan's own, where whole numbers of them fill the window."""

MOST_STEPS = 1000
"""Steps finer than the plan's are not tried if there would be more of them."""

MOST_SIDE = 256
"""Cells a side of the finest grid that is tried, unless the plan's own is finer."""


@dataclass
class GridSize:
    """A grid that was rehearsed at its finest step, and what one of its cells is worth over each step.

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


def steps_that_fit(plan: Plan, basis: timedelta) -> list[timedelta]:
    """Return the plan's step, the basis, and the round ones of which whole numbers fill the window, finest first."""
    own, whole = plan.window.step, plan.window.steps * plan.window.step
    fitting = [
        step
        for step in ROUND
        if whole % step == timedelta(0) and (step % own == timedelta(0) or own % step == timedelta(0))
        if step >= own or whole // step <= MOST_STEPS
    ]
    finest = min([own, *fitting])
    return sorted({own, basis, *(step for step in fitting if step % finest == timedelta(0))})


def coarser(cells: Cells) -> list[Cells]:
    """Return the grids with half as many cells each way, again and again, down to one cell.

    >>> coarser((5, 7))
    [(3, 4), (2, 2), (1, 1)]
    """
    found = []
    while cells != (1, 1):
        cells = (max(1, (cells[0] + 1) // 2), max(1, (cells[1] + 1) // 2))
        found.append(cells)
    return found


def finer(cells: Cells) -> list[Cells]:
    """Return the grids with twice as many cells each way, again and again.

    >>> finer((32, 20))
    [(64, 40), (128, 80), (256, 160)]
    """
    found = []
    while 2 * max(cells) <= MOST_SIDE:
        cells = (2 * cells[0], 2 * cells[1])
        found.append(cells)
    return found


def variant(plan: Plan, cells: Cells, step: timedelta) -> Plan:
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
