"""A line chart as inline SVG, and the colours, formats and round numbers that all figures share."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from gridveil.model.arrays import Floats
from gridveil.model.errors import UsageError
from gridveil.model.window import Window

if TYPE_CHECKING:
    from matplotlib.figure import Figure


# Round numbers and times to write along axes.

MAX_TIMES = 7
MAX_LEVELS = 5
INTERVALS = [timedelta(hours=hours) for hours in (1, 3, 6, 12, 24, 48, 7 * 24, 14 * 24, 28 * 24)]
MONTHS = (2, 3, 6, 12, 24, 60, 120)
MONTHLY_FROM = timedelta(days=28 * MAX_TIMES)


def short(kwh: float) -> str:
    """Return a number with three significant digits.

    >>> short(4063.7), short(15.36), short(0)
    ('4,060', '15.4', '0')
    """
    return f"{float(f'{kwh:.3g}'):,.10g}"


def round_levels(bottom: float, top: float) -> list[float]:
    """Return at most six round numbers in a span.

    >>> round_levels(-3, 97)
    [0.0, 20.0, 40.0, 60.0, 80.0]
    """
    rough = (top - bottom) / MAX_LEVELS
    power = 10.0 ** math.floor(math.log10(rough))
    every = next(power * digit for digit in (1, 2, 2.5, 5, 10) if power * digit >= rough * (1 - 1e-9))
    return [every * number for number in range(math.ceil(bottom / every), math.floor(top / every) + 1)]


def round_times(window: Window) -> list[tuple[float, str]]:
    """Return the positions of round times, in steps from the window's start, with their names.

    >>> from datetime import UTC
    >>> round_times(Window(datetime(2013, 2, 4, 18, tzinfo=UTC), timedelta(hours=1), 48))
    [(6.0, 'Tue 5'), (18.0, '12:00'), (30.0, 'Wed 6'), (42.0, '12:00')]
    >>> round_times(Window(datetime(2013, 12, 9, tzinfo=UTC), timedelta(days=1), 300))[:2]
    [(23.0, 'Jan 2014'), (82.0, 'Mar 2014')]
    """
    first, length = window.start, window.steps * window.step
    if length > MONTHLY_FROM:
        return [((time - first) / window.step, f"{time:%b %Y}") for time in _months(first, window.end)]
    every = next((interval for interval in INTERVALS if length / interval <= MAX_TIMES), INTERVALS[-1])
    midnight = first.replace(hour=0, minute=0, second=0)
    times = [midnight + number * every for number in range(int((first - midnight + length) / every) + 1)]
    weeks = every >= timedelta(days=7)
    return [((time - first) / window.step, _name(time, weeks=weeks)) for time in times if first <= time < window.end]


def _months(first: datetime, end: datetime) -> list[datetime]:
    """Return beginnings of months, a round number of them apart."""
    months = [12 * year + month for year in range(first.year, end.year + 1) for month in range(12)]
    for every in MONTHS:
        starts = [first.replace(year=m // 12, month=m % 12 + 1, day=1, hour=0, minute=0, second=0) for m in months]
        times = [time for m, time in zip(months, starts, strict=True) if m % every == 0 and first <= time < end]
        if len(times) <= MAX_TIMES:
            break
    return times


def _name(time: datetime, *, weeks: bool) -> str:
    if weeks:
        return f"{time.day} {time:%b}"
    return f"{time:%H:%M}" if time.hour or time.minute else f"{time:%a} {time.day}"


# Colours, formats and labels that all figures share.

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00")
"""Of the best methods, best first; distinct for the colour-blind, and dark enough for text."""


INK, QUIET, GREY, LINE = "#1a1a1a", "#666666", "#b5b5b5", "#e6e6e6"

FORMATS = ("png", "svg", "pdf")


def check_format(path: Path) -> str:
    """Return the format that a figure's name asks for; refuse names that ask for another."""
    name = path.suffix.lower().removeprefix(".")
    if name not in FORMATS:
        msg = f"--figure {path}: give a name that ends in {', '.join(f'.{known}' for known in FORMATS)}"
        raise UsageError(msg, code="figure-format")
    return name


def as_file(figure: Figure, kind: str = "png", description: str | None = None) -> bytes:
    """Return a figure as the bytes of a file of one of the formats. description: for readers who do not see it."""
    file = io.BytesIO()
    figure.savefig(file, format=kind, metadata=None if description is None else {"Title": description})
    return file.getvalue()


def spaced(wanted: Floats, gap: float) -> Floats:
    """Return ascending positions at least `gap` apart, as near to the wanted ascending ones as can be.

    Least squares: take the gaps out, replace what is then out of order by its mean, put them back in.

    >>> spaced(np.array([0.0, 1.0, 10.0]), 3.0)
    array([-1.,  2., 10.])
    """
    gaps = gap * np.arange(len(wanted))
    blocks: list[list[float]] = []
    for value in wanted - gaps:
        blocks.append([float(value)])
        while len(blocks) > 1 and np.mean(blocks[-2]) > np.mean(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    means = [np.full(len(block), np.mean(block)) for block in blocks]
    return np.asarray(np.concatenate(means) + gaps, dtype=np.float64)


# A line chart as inline SVG: drawn by hand, so that the page's style sheet gives it fonts and colours.

LEFT, TOP, FOOT, RIGHT = 46, 22, 26, 4
LETTER, GAP = 7, 6  # width of a digit at the left, and space after the number


@dataclass(frozen=True)
class ChartLine:
    """A line, and its band if it has one, in kWh; the style sheet knows them by their names."""

    kwh: Floats
    style: str
    band: tuple[Floats, Floats] | None = None


def line_chart(
    lines: Sequence[ChartLine],
    *,
    at: Floats,
    marks: Sequence[tuple[float, str]],
    span: tuple[float, float],
    unit: str,
    description: str,
    size: tuple[int, int] = (400, 220),
) -> str:
    """Draw lines over their bands. What lies outside the span of kWh is cut off.

    at: the points' places from left to right, 0 to 1. marks: such places and what to write below them.
    """
    bottom, top = span
    levels = round_levels(bottom, top)
    left = max(LEFT, GAP + LETTER * max(len(short(kwh)) for kwh in levels))
    width, height = size[0] - left - RIGHT, size[1] - TOP - FOOT

    def points(kwh: Floats) -> list[str]:
        y = (top - kwh) / (top - bottom) * height
        return [f"{a:.1f},{b:.1f}" for a, b in zip(at * width, y.clip(-height, 2 * height), strict=True)]

    bands = [
        f'<path class="band {line.style}" d="M{" ".join(points(line.band[0]) + points(line.band[1])[::-1])}Z"/>'
        for line in lines
        if line.band is not None
    ]
    return "\n".join(
        [
            f'<svg viewBox="0 0 {size[0]} {size[1]}" role="img" aria-label="{escape(description)}">',
            f'<text x="{left}" y="12">{escape(unit)}</text>',
            *(_level(kwh, TOP + (top - kwh) / (top - bottom) * height, (left, left + width)) for kwh in levels),
            *(_mark(left + place * width, TOP + height, name) for place, name in marks),
            f'<svg x="{left}" y="{TOP}" width="{width}" height="{height}">',
            *bands,
            *(f'<path class="{line.style}" d="M{" ".join(points(line.kwh))}"/>' for line in lines),
            "</svg>",
            "</svg>",
        ]
    )


def _level(kwh: float, y: float, ends: tuple[float, float]) -> str:
    return (
        f'<line class="{"level" if kwh else "zero"}" x1="{ends[0]}" x2="{ends[1]}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text class="kwh" x="{ends[0] - GAP}" y="{y + 4:.1f}">{short(kwh)}</text>'
    )


def _mark(x: float, foot: float, name: str) -> str:
    return (
        f'<line class="level" x1="{x:.1f}" x2="{x:.1f}" y1="{foot}" y2="{foot + 6}"/>'
        f'<text x="{x:.1f}" y="{foot + 20}">{escape(name)}</text>'
    )
