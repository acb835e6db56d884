"""A line chart as inline SVG: drawn by hand, so that the page's style sheet gives it fonts and colours."""

from __future__ import annotations

from html import escape

import numpy as np
from matplotlib.ticker import MaxNLocator

from gridveil.cube import Window
from gridveil.estimate import Floats
from gridveil.evaluate.axis import round_times, short
from gridveil.evaluate.comparison import Curve

WIDTH, HEIGHT = 400, 220
LEFT, TOP = 46, 22
PLOT_WIDTH, PLOT_HEIGHT = 350, 172


def line_chart(curve: Curve, window: Window, *, span: tuple[float, float], unit: str, description: str) -> str:
    """Draw truth, answer and 95 % band of a curve. What lies outside the span of kWh is cut off."""
    bottom, top = span
    x = (np.arange(window.steps) + 0.5) * PLOT_WIDTH / window.steps

    def height(kwh: Floats) -> Floats:
        return (top - kwh) / (top - bottom) * PLOT_HEIGHT

    levels = np.array([kwh for kwh in MaxNLocator(4).tick_values(bottom, top) if bottom <= kwh <= top])
    return "\n".join(
        [
            f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(description)}">',
            f'<text x="{LEFT}" y="12">{escape(unit)}</text>',
            *(_level(kwh, TOP + y) for kwh, y in zip(levels, height(levels), strict=True)),
            *(_time(LEFT + step / window.steps * PLOT_WIDTH, name) for step, name in round_times(window)),
            f'<svg x="{LEFT}" y="{TOP}" width="{PLOT_WIDTH}" height="{PLOT_HEIGHT}">',
            f'<path class="band" d="M{_points(x, height(curve.low))}L{_points(x[::-1], height(curve.high)[::-1])}Z"/>',
            f'<path class="released" d="M{_points(x, height(curve.answer))}"/>',
            f'<path class="truth" d="M{_points(x, height(curve.truth))}"/>',
            "</svg>",
            "</svg>",
        ]
    )


def _points(x: Floats, y: Floats) -> str:
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))


def _level(kwh: float, y: float) -> str:
    return (
        f'<line class="{"level" if kwh else "zero"}" x1="{LEFT}" x2="{LEFT + PLOT_WIDTH}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text class="kwh" x="{LEFT - 6}" y="{y + 4:.1f}">{short(kwh)}</text>'
    )


def _time(x: float, name: str) -> str:
    foot = TOP + PLOT_HEIGHT
    return (
        f'<line class="level" x1="{x:.1f}" x2="{x:.1f}" y1="{foot}" y2="{foot + 6}"/>'
        f'<text x="{x:.1f}" y="{foot + 20}">{name}</text>'
    )
