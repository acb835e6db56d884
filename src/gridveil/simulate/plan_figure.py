"""An outlook as a picture: the typical error against epsilon, a line for each kind of place, and what is useful."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from gridveil.report.figures.axis import short
from gridveil.report.figures.style import COLOURS, INK, LINE, QUIET, spaced
from gridveil.simulate.plan_questions import places
from gridveil.simulate.plan_words import period
from gridveil.simulate.planning import USEFUL, Outlook

WIDTH, HEIGHT = 8.0, 5.0
MARKERS = ("o", "s", "^", "D")
POINTS, LINE_HEIGHT = 9, 1.5
ROOM = 1.25
"""Of the errors' axis beyond the curves and the useful level."""


class PlanCurve(NamedTuple):
    """A line of the picture."""

    name: str
    colour: str
    marker: str
    epsilons: list[float]
    errors: list[float]


def draw_outlook(outlook: Outlook) -> Figure:
    """Draw the errors of the map, a district, a street and a cell over a day against epsilon, on logarithmic paper."""
    figure = Figure(figsize=(WIDTH, HEIGHT), dpi=150, facecolor="white")
    axes = figure.add_axes((0.09, 0.12, 0.64, 0.68))
    grid, window = outlook.plan.grid, outlook.plan.window
    figure.text(0.03, 0.945, "What error to expect", color=INK, size=13, weight="bold")
    of = f"{grid.nx} x {grid.ny} cells, {window.steps:,} steps of {period(window.step)}, {outlook.plan.spec.mechanism}"
    figure.text(
        0.03, 0.895, f"Typical error over {period(outlook.basis)}, %, against epsilon: {of}", color=QUIET, size=9
    )
    where = f"Rehearsed on an invented town of {outlook.rehearsed:,} households; nobody's data were read"
    figure.text(0.03, 0.855, where, color=QUIET, size=9)
    curves = _curves(outlook)
    _draw(axes, curves)
    _mark(axes, outlook.epsilon, given=outlook.plan.spec.epsilon is not None)
    _label(axes, curves)
    return figure


def _curves(outlook: Outlook) -> list[PlanCurve]:
    found = []
    for (cells, name), colour, marker in zip(places(outlook.plan.grid).items(), COLOURS, MARKERS, strict=False):
        points = {e: error for e, error in outlook.curve(outlook.over_basis(cells)).items() if error > 0}
        if points:
            found.append(PlanCurve(name, colour, marker, list(points), list(points.values())))
    return found


def _draw(axes: Axes, curves: list[PlanCurve]) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    for curve in curves:
        axes.plot(curve.epsilons, curve.errors, color=curve.colour, marker=curve.marker, markersize=5, linewidth=2)
    errors = [USEFUL, *(error for curve in curves for error in curve.errors)]
    axes.set_ylim(min(errors) / ROOM, max(errors) * ROOM)
    epsilons = sorted({epsilon for curve in curves for epsilon in curve.epsilons})
    axes.set_xlim(epsilons[0] / ROOM, epsilons[-1] * ROOM)
    axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{short(value)} %"))
    axes.set_xlabel("epsilon (smaller: more private)", color=QUIET, size=9)
    axes.tick_params(colors=QUIET, length=0, labelsize=9)
    axes.grid(axis="y", color=LINE)
    axes.spines[:].set_visible(False)


def _mark(axes: Axes, epsilon: float, *, given: bool) -> None:
    """Shade where errors are useful, and mark the epsilon of the plan."""
    axes.axhspan(axes.get_ylim()[0], USEFUL, color="#f1f6fa", zorder=0)
    axes.axhline(USEFUL, color=INK, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1.5)
    # Curves fall to the right, so the corner is free.
    axes.text(0.01, 0.01, f"useful: at most {USEFUL:g} %", transform=axes.transAxes, va="bottom", color=INK, size=8)
    axes.axvline(epsilon, color=QUIET, linewidth=1, linestyle=":", zorder=1)
    axes.annotate(
        f"your epsilon: {epsilon:g}" if given else f"epsilon {epsilon:g}",
        xy=(epsilon, 1.0),
        xycoords=("data", "axes fraction"),
        xytext=(0, 2),
        textcoords="offset points",
        ha="center",
        va="bottom",
        color=QUIET,
        size=8,
    )


def _label(axes: Axes, curves: list[PlanCurve]) -> None:
    """Write each name at the end of its line, moved until none covers another."""
    curves = sorted(curves, key=lambda curve: curve.errors[-1])
    height = axes.bbox.height
    ends = axes.transData.transform([(curve.epsilons[-1], curve.errors[-1]) for curve in curves])[:, 1] - axes.bbox.y0
    gap = POINTS * LINE_HEIGHT * axes.figure.dpi / 72
    for curve, y in zip(curves, np.clip(spaced(ends, gap), 0, height), strict=True):
        axes.annotate(
            curve.name,
            xy=(1.0, y / height),
            xycoords="axes fraction",
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            color=curve.colour,
            size=POINTS,
            weight="bold",
            annotation_clip=False,
        )
