"""The highest cells as a table, with what their intervals say about the order."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from gridveil.geography.grid import Grid
from gridveil.release.export.table import to_lonlat
from gridveil.release.query.highest import High, highest, order_in_words
from gridveil.release.query.open import Release
from gridveil.report.ground import degrees
from gridveil.report.words import amount, interval

COUNT = 10
ALIKE = 1e-6


def told_apart(release: Release) -> list[High]:
    """Return the highest cells of the whole window; none where all that would be listed are the same."""
    ranked = highest(release, 0, release.window.steps, COUNT + 1)
    alike = len(ranked) > COUNT and ranked[0].value - ranked[-1].value <= ALIKE * abs(ranked[0].value)
    return [] if alike else ranked[:COUNT]


def table(ranked: list[High], grid: Grid) -> str:
    """Return the table, and what intervals say about its order."""
    if not ranked:
        return "<p>This release does not tell cells apart: the highest all have the same value.</p>"
    rows = "".join(
        f'<tr><td>{place}</td><th scope="row">x {cell.x}, y {cell.y}<small>{escape(where)}</small></th>'
        f"<td>{amount(cell.value)}<small>{interval(cell)}</small></td><td>{_places(cell)}</td></tr>"
        for place, (cell, where) in enumerate(zip(ranked, _centres(ranked, grid), strict=True), 1)
    )
    which = "The only cell." if len(ranked) == 1 else f"The {len(ranked)} cells that used most in the whole period."
    return (
        f"<p>{which} {escape(order_in_words(ranked))}</p>"
        '<div class="table"><table><thead><tr><th scope="col">#</th><th scope="col">Cell</th>'
        '<th scope="col">kWh<small>95 % interval</small></th><th scope="col">Possible places</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
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
