"""The highest cells as a table, with what their intervals say about the order."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from gridveil.cube import Grid
from gridveil.release.export.places import to_lonlat
from gridveil.release.highest import High
from gridveil.report.ground import degrees
from gridveil.report.words import amount, interval

COUNT = 10


def table(ranked: Sequence[High], grid: Grid) -> str:
    """Return the rows of the table."""
    return "".join(
        f'<tr><td>{place}</td><th scope="row">x {cell.x}, y {cell.y}<small>{escape(where)}</small></th>'
        f"<td>{amount(cell.value)}</td><td>{interval(cell)}</td><td>{_places(cell)}</td></tr>"
        for place, (cell, where) in enumerate(zip(ranked, _centres(ranked, grid), strict=True), 1)
    )


def _places(cell: High) -> str:
    first, last = cell.place
    return f"{first}" if first == last else f"{first} to {last:,}"


def _centres(ranked: Sequence[High], grid: Grid) -> list[str]:
    """Say where the cells' centres are."""
    x = np.array([grid.x0 + (cell.x + 0.5) * grid.cell_width for cell in ranked])
    y = np.array([grid.y0 + (cell.y + 0.5) * grid.cell_height for cell in ranked])
    if grid.crs == "local":
        return [f"centre {a:g}, {b:g}" for a, b in zip(x, y, strict=True)]
    return [degrees(float(a), float(b)) for a, b in zip(*to_lonlat(grid.crs, x, y), strict=True)]
