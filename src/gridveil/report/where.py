"""Maps: the whole window, and parts of the day, on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from gridveil.model.arrays import Floats
from gridveil.release.query.highest import High, values_at
from gridveil.release.query.open import Release
from gridveil.report.figures.axis import short
from gridveil.report.figures.maps import ColourScale, bar_uri, hatch_uri, map_uri
from gridveil.report.ground import Ground, ground_of, limits_in_words
from gridveil.report.parts import DayPart
from gridveil.report.words import amount, per

LARGE, SMALL = 720, 360  # pixels each way, about
MOST_PER_CELL = 96
Uncertain = NDArray[np.bool_]


def where(release: Release, parts: Sequence[DayPart], ranked: Sequence[High]) -> dict[str, str]:
    """Return the fields of the page about where: maps, their key, and what is uncertain."""
    grid, steps = release.grid, release.window.steps
    cells, ground = release.cells(0, steps), ground_of(grid)
    value = cells.value.astype(np.float64).T / steps
    uncertain = (cells.high - cells.low > np.abs(cells.value)).T  # as on the map of gridveil serve
    averages = [plane.T for plane in values_at(release, [part.schedule for part in parts])]
    scale = ColourScale.of(np.stack([value, *averages]))
    unit = f"kWh per {per(release.window.step)} in a cell"
    large = _map(
        value, scale, uncertain, ground, LARGE, _told(value, "the whole period", unit), _overlay(ground, ranked)
    )
    smalls = "".join(
        f"<figure><figcaption><b>{part.name}</b> {part.when}</figcaption>"
        + _map(plane, scale, uncertain, ground, SMALL, _told(plane, f"{part.name.lower()}, {part.when}", unit))
        + "</figure>"
        for part, plane in zip(parts, averages, strict=True)
    )
    return {
        "aspect": f"{ground.aspect:.5g}",
        "map": large,
        "parts": f'<div class="parts">{smalls}</div>' if smalls else "",
        "key": _key(scale, unit, hatched=bool(uncertain.any()), outlined=bool(ranked)),
        "limits": escape(limits_in_words(grid)),
        "cell_size": escape(_cell_size(ground)),
        "uncertain": _uncertain(uncertain),
    }


def _map(
    kwh: Floats, scale: ColourScale, uncertain: Uncertain, ground: Ground, pixels: int, told: str, overlay: str = ""
) -> str:
    """Draw a map in about so many pixels, cells as wide and high as they are on the ground."""
    wide, high = min(1.0, ground.aspect), min(1.0, 1 / ground.aspect)
    nx, ny = kwh.shape
    cell = (_pixels(pixels * wide / nx), _pixels(pixels * high / ny))
    picture = map_uri(kwh, scale, uncertain=uncertain, cell=cell)
    return f'<div class="map"><img src="{picture}" alt="{escape(told)}">{overlay}</div>'


def _pixels(wanted: float) -> int:
    return max(1, min(MOST_PER_CELL, round(wanted)))


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


def _told(kwh: Floats, what: str, unit: str) -> str:
    """Tell in words what a map shows."""
    x, y = np.unravel_index(np.argmax(kwh), kwh.shape)
    return (
        f"Map of {what}, north up: {amount(float(kwh.mean()))} {unit} on average, "
        f"highest {amount(float(kwh.max()))} in cell x {x}, y {y}"
    )


def _key(scale: ColourScale, unit: str, *, hatched: bool, outlined: bool) -> str:
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
        f'<div class="scale"><p>{escape(unit)}, average (colours by square root)</p>'
        f'<img src="{bar_uri()}" alt="Pale is zero, the darkest colour {short(scale.top)}"><ol>{ticks}</ol>'
        f"{hatch}{outline if outlined else ''}</div>"
    )


def _uncertain(uncertain: Uncertain) -> str:
    """Say how many cells are uncertain, and what to do about it."""
    if not uncertain.any():
        return ""
    return (
        f"Hatched are {uncertain.sum():,} of {uncertain.size:,} cells: take many of them together to get a number "
        "worth having."
    )


def _cell_size(ground: Ground) -> str:
    unit = "m" if ground.metres else "units"
    return f"{short(ground.width)} by {short(ground.height)} {unit}"
