"""What people ask of a release, in plain words: the whole map, a district, a street, a cell; a step, a day, all."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from gridveil.geography.crs import metres_per_unit
from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.simulate.rehearse import Shape

DISTRICT = 4
"""A district is this part of the map each way."""

STREET_CELLS = 2
STREET_METRES = (20.0, 500.0)
"""A block of two by two cells is called a street if it is about as long as one."""

DAY = timedelta(days=1)


@dataclass(frozen=True)
class PlanQuestion:
    """A kind of question: where, for how long, and how many cells and steps that is."""

    place: str
    period: str
    shape: Shape


def questions(grid: Grid, window: Window) -> list[PlanQuestion]:
    """Return the kinds of questions that a grid and a window have room for, largest first."""
    return [
        PlanQuestion(place, period, (*cells, steps))
        for cells, place in places(grid).items()
        for steps, period in periods(window).items()
    ]


def places(grid: Grid) -> dict[tuple[int, int], str]:
    """Return the names of places by their cells; what is as large as something larger has the larger one's name.

    >>> places(Grid(0, 0, 8000, 8000, nx=32, ny=32))
    {(32, 32): 'whole map', (8, 8): 'district (8 x 8 cells)', (2, 2): 'street (2 x 2 cells)', (1, 1): 'one cell'}
    >>> places(Grid(0, 0, 8000, 8000, nx=1, ny=1))
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


def periods(window: Window) -> dict[int, str]:
    """Return the names of periods by their steps.

    >>> from datetime import UTC, datetime
    >>> periods(Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=6), 20))
    {20: 'all 5 days', 4: 'a day', 1: '6 h'}
    """
    found = {window.steps: f"all {span(window.steps * window.step)}"}
    if DAY % window.step == timedelta(0):
        steps = DAY // window.step
        if steps < window.steps:
            found[steps] = "a day"
    found.setdefault(1, "a day" if window.step == DAY else span(window.step))
    return found


def basis_of(window: Window) -> timedelta:
    """Return the period by which cells are judged: a day, or what comes nearest to it."""
    whole = window.steps * window.step
    if window.step >= DAY or whole <= DAY:
        return min(whole, max(window.step, DAY))
    return DAY if DAY % window.step == timedelta(0) else window.step


def span(length: timedelta) -> str:
    """Return a length of time as people say it.

    >>> [span(timedelta(hours=hours)) for hours in (0.25, 1, 36, 48)]
    ['15 min', '1 h', '36 h', '2 days']
    """
    seconds = round(length.total_seconds())
    for size, name in ((86_400, "days"), (3600, "h"), (60, "min")):
        if seconds % size == 0 and (name != "days" or seconds > size):
            return f"{seconds // size:,} {name}"
    return f"{seconds:,} s"
