"""Sections "Where" and "The highest cells": maps on one colour scale, the size of cells, and a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from gridveil.geography.grid import Grid, find_cell_size
from gridveil.model.arrays import Floats
from gridveil.release.export.table import to_lonlat
from gridveil.release.query.highest import High, highest, order_in_words, values_at
from gridveil.release.query.open import Release
from gridveil.report.figures.chart import short
from gridveil.report.figures.maps import ColourScale, bar_uri, hatch_uri, map_uri
from gridveil.report.formatting import amount, interval, per
from gridveil.report.when import DayPart

LARGE, SMALL = 720, 360  # pixels each way, about
MAX_CELL_PIXELS = 96
SCALE_BAR_SHARE = 0.4
"""Maximum length of the scale bar, as a share of the map's width."""

KILOMETRE = 1000
TABLE_ROWS = 10
EQUAL = 1e-6
"""Relative difference up to which values are equal, apart from rounding."""

Uncertain = NDArray[np.bool_]


def where(release: Release, parts: Sequence[DayPart], ranked: Sequence[High]) -> dict[str, str]:
    """Return the fields of the page about where: maps, their scale, and what is uncertain."""
    grid, steps = release.grid, release.window.steps
    cells, ground = release.cells(0, steps), ground_of(grid)
    value = cells.value.astype(np.float64) / steps
    uncertain = cells.high - cells.low > np.abs(cells.value)  # as on the map of gridveil serve
    averages = values_at(release, [part.schedule for part in parts])
    scale = ColourScale.of(np.stack([value, *averages]))
    unit = f"kWh per {per(release.window.step)} in a cell"
    whole = _description(value, "the whole period", unit)
    large = draw_map(value, scale, ground, LARGE, whole, uncertain=uncertain, overlay=_overlay(ground, ranked))
    smalls = "".join(
        f"<figure><figcaption><b>{part.name}</b> {part.when}</figcaption>"
        + draw_map(
            plane,
            scale,
            ground,
            SMALL,
            _description(plane, f"{part.name.lower()}, {part.when}", unit),
            uncertain=uncertain,
        )
        + "</figure>"
        for part, plane in zip(parts, averages, strict=True)
    )
    return {
        "aspect": f"{ground.aspect:.5g}",
        "map": large,
        "parts": f'<div class="parts">{smalls}</div>' if smalls else "",
        "key": draw_scale(scale, f"{unit}, average", hatched=bool(uncertain.any()), outlined=bool(ranked)),
        "limits": escape(limits_in_words(grid)),
        "cell_size": escape(_cell_size(ground)),
        "uncertain": _uncertain(uncertain),
    }


def draw_map(
    kwh: Floats,
    scale: ColourScale,
    ground: Ground,
    pixels: int,
    description: str,
    *,
    uncertain: Uncertain | None = None,
    overlay: str = "",
) -> str:
    """Draw a map of about this many pixels, cells as wide and high as they are on the ground."""
    wide, high = min(1.0, ground.aspect), min(1.0, 1 / ground.aspect)
    ny, nx = kwh.shape
    cell = (_pixels(pixels * wide / nx), _pixels(pixels * high / ny))
    picture = map_uri(kwh, scale, uncertain=uncertain, cell=cell)
    return f'<div class="map"><img src="{picture}" alt="{escape(description)}">{overlay}</div>'


def _pixels(size: float) -> int:
    return max(1, min(MAX_CELL_PIXELS, round(size)))


def _overlay(ground: Ground, ranked: Sequence[High]) -> str:
    """Outline the highest cells, and draw the scale bar."""
    grid = ground.grid
    width, height = 100 / grid.nx, 100 / grid.ny
    cells = "".join(
        f'<span class="cell" style="left:{cell.x * width:.4g}%;bottom:{cell.y * height:.4g}%;'
        f'width:{width:.4g}%;height:{height:.4g}%"></span>'
        for cell in ranked
    )
    if not ground.metres:
        return cells
    part, words = ground.bar()
    return f'{cells}<span class="bar" style="width:{100 * part:.4g}%">{words}</span>'


def _description(kwh: Floats, what: str, unit: str) -> str:
    """Describe a map for readers who do not see it."""
    y, x = np.unravel_index(np.argmax(kwh), kwh.shape)
    return (
        f"Map of {what}, north up: {amount(float(kwh.mean()))} {unit} on average, "
        f"highest {amount(float(kwh.max()))} in cell x {x}, y {y}"
    )


def draw_scale(scale: ColourScale, unit: str, *, hatched: bool = False, outlined: bool = False) -> str:
    """Draw the colours of a map with their values, and explain its hatching and outlines."""
    ticks = "".join(
        f'<li style="left:{100 * at:g}%;transform:translateX(-{100 * at:g}%)">{short(kwh)}</li>'
        for at, kwh in scale.marks()
    )
    hatch = (
        f'<p class="hatch"><img src="{hatch_uri()}" alt="Diagonal grey lines"> hatched: uncertain, the 95 % interval '
        "over the whole period is wider than the value</p>"
        if hatched
        else ""
    )
    outline = '<p class="hatch"><span class="cell"></span> outlined: the highest cells, listed below</p>'
    return (
        f'<div class="scale"><p>{escape(unit)} (colours by square root)</p>'
        f'<img src="{bar_uri()}" alt="Pale is zero, the darkest colour {short(scale.top)}"><ol>{ticks}</ol>'
        f"{hatch}{outline if outlined else ''}</div>"
    )


def _uncertain(uncertain: Uncertain) -> str:
    """Return how many cells are uncertain, and what to do about it."""
    if not uncertain.any():
        return ""
    return (
        f"Hatched are {uncertain.sum():,} of {uncertain.size:,} cells: take many of them together to get a useful "
        "number."
    )


def _cell_size(ground: Ground) -> str:
    unit = "m" if ground.metres else "units"
    return f"{short(ground.width)} by {short(ground.height)} {unit}"


def rank_cells(release: Release) -> list[High]:
    """Return the highest cells of the whole window; none if all of them have the same value."""
    ranked = highest(release, 0, release.window.steps, TABLE_ROWS + 1)
    alike = len(ranked) > TABLE_ROWS and ranked[0].value - ranked[-1].value <= EQUAL * abs(ranked[0].value)
    return [] if alike else ranked[:TABLE_ROWS]


def highest_table(ranked: list[High], grid: Grid) -> str:
    """Return the table of the highest cells, and what their intervals say about the order."""
    if not ranked:
        return "<p>This release does not rank cells: the highest all have the same value.</p>"
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
    """Return where the centres of cells are."""
    x = np.array([grid.x0 + (cell.x + 0.5) * grid.cell_width for cell in ranked])
    y = np.array([grid.y0 + (cell.y + 0.5) * grid.cell_height for cell in ranked])
    if grid.crs == "local":
        return [f"centre {a:g}, {b:g}" for a, b in zip(x, y, strict=True)]
    return [degrees(float(a), float(b)) for a, b in zip(*to_lonlat(grid.crs, x, y), strict=True)]


@dataclass(frozen=True)
class Ground:
    """Size of the middle cell in metres, or in the grid's units where it has no coordinate system."""

    grid: Grid
    width: float
    height: float

    @property
    def aspect(self) -> float:
        """Width over height of the map as it lies on the ground."""
        return self.width * self.grid.nx / (self.height * self.grid.ny)

    @property
    def metres(self) -> bool:
        """Whether sizes are metres."""
        return self.grid.crs != "local"

    def bar(self) -> tuple[float, str]:
        """Return a scale bar: its part of the map's width, and its length in words."""
        across = self.width * self.grid.nx
        power = 10.0 ** np.floor(np.log10(across * SCALE_BAR_SHARE))
        length = max(digit * power for digit in (1, 2, 5) if digit * power <= across * SCALE_BAR_SHARE)
        words = f"{length / KILOMETRE:g} km" if length >= KILOMETRE else f"{length:g} m"
        return length / across, words


def ground_of(grid: Grid) -> Ground:
    """Return the size of the cell in the middle of a grid."""
    return Ground(grid, *find_cell_size(grid))


def limits_in_words(grid: Grid) -> str:
    """Return where the map lies."""
    if grid.crs == "local":
        return (
            f"x from {grid.x0:g} to {grid.x1:g}, y from {grid.y0:g} to {grid.y1:g}, in the publisher's own coordinates."
        )
    lon, lat = to_lonlat(grid.crs, np.array([grid.x0, grid.x1]), np.array([grid.y0, grid.y1]))
    corners = [degrees(float(a), float(b)) for a, b in zip(lon, lat, strict=True)]
    return f"South-west corner {corners[0]}, north-east corner {corners[1]} ({grid.crs})."


def degrees(lon: float, lat: float) -> str:
    """Return a place on earth.

    >>> degrees(-0.12837, 51.50372)
    '51.5037° N, 0.1284° W'
    """
    return f"{abs(lat):.4f}° {'N' if lat >= 0 else 'S'}, {abs(lon):.4f}° {'E' if lon >= 0 else 'W'}"
