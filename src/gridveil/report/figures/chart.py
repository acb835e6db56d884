"""A line chart as inline SVG: drawn by hand, so that the page's style sheet gives it fonts and colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from gridveil.model.arrays import Floats
from gridveil.report.figures.axis import round_levels, short

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
