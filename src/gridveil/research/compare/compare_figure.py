"""A comparison as a picture: error against epsilon, a panel for each workload, the best few methods in colour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from gridveil.mechanisms.registry import COMPARISON_ONLY
from gridveil.model.arrays import Floats
from gridveil.report.figures.axis import short
from gridveil.report.figures.style import COLOURS, GREY, INK, LINE, QUIET, spaced
from gridveil.research.compare.scoring import Record
from gridveil.research.compare.summary import ComparedCase, MeanSpread, kwh, ranking, summarise
from gridveil.research.compare.trial import AUTO

LABEL_POINTS = 7.5
LINE_HEIGHT = 1.3
ROOM = 1.2
"""A panel is so many times as high as the column of names beside it."""

PANEL_WIDTH, PANELS_IN_A_ROW = 4.8, 3
HEAD, BETWEEN, LEFT, RIGHT = 0.7, 0.8, 0.6, 1.2
"""Inches: above the panels, between their rows, and at the sides."""

MANY_DECADES = 300
"""Where the highest error is so many times the lowest, ticks at powers of ten are enough."""


STAMP = "NOT PRIVATE: computed from true values"


class ErrorCurve(NamedTuple):
    """A method's mean error at each epsilon."""

    name: str
    epsilons: Floats
    errors: Floats


def draw_comparison(records: Sequence[Record], title: str) -> Figure:
    """Draw WAPE against the raw truth, as `publish` would do; dotted: methods that promise less.

    Under bounds chosen privately, if the comparison has them, or else under the common bound.
    """
    bound = AUTO if any(record["bound"] == AUTO for record in records) else "common"
    records = [record for record in records if record["bound"] == bound]
    spreads = summarise(records)
    colours = dict(zip(ranking(spreads), COLOURS, strict=False))
    workloads = list(dict.fromkeys(record["workload"] for record in records))
    methods = len({case.mechanism for case in spreads})
    columns = min(len(workloads), PANELS_IN_A_ROW)
    rows = -(-len(workloads) // columns)
    panel_height = max(3.0, methods * LABEL_POINTS * LINE_HEIGHT / 72 * ROOM) + BETWEEN
    width, height = PANEL_WIDTH * columns, panel_height * rows + HEAD
    figure = Figure(figsize=(width, height), dpi=150, facecolor="white")
    grid = figure.add_gridspec(
        rows,
        columns,
        left=LEFT / width,
        right=1 - RIGHT / width,
        top=1 - (HEAD + 0.3) / height,
        bottom=0.5 / height,
        wspace=0.55,
        hspace=BETWEEN / (panel_height - BETWEEN),
    )
    figure.text(LEFT / width, 1 - 0.3 / height, title, color=INK, size=13, weight="bold")
    step, window = records[0]["bound_step"], records[0]["bound_window"]
    under = {
        AUTO: "all under bounds chosen privately and paid for, as `publish` does when none is given",
        "common": "all under the common bound, as `publish` would use it: "
        f"{kwh(step)} kWh a step, {kwh(window)} kWh in all",
    }
    words = f"error (WAPE, %, raw truth, mean over repeats) against epsilon; {under[bound]}"
    figure.text(LEFT / width, 1 - 0.55 / height, words, color=QUIET, size=9)
    figure.text(1 - 0.2 / width, 1 - 0.3 / height, STAMP, color="#b00020", size=11, weight="bold", ha="right")
    for number, workload in enumerate(workloads):
        axes = figure.add_subplot(grid[divmod(number, columns)])
        axes.set_title(workload, color=INK, size=11, loc="left")
        _draw_panel(axes, _curves(spreads, workload), colours)
    return figure


def _curves(spreads: dict[ComparedCase, MeanSpread], workload: str) -> list[ErrorCurve]:
    found: dict[str, list[tuple[float, float]]] = {}
    for case, spread in spreads.items():
        if case.workload == workload and spread.mean > 0:
            found.setdefault(case.mechanism, []).append((case.epsilon, spread.mean))
    return [ErrorCurve(name, *np.array(sorted(points)).T) for name, points in found.items()]


def _draw_panel(axes: Axes, curves: list[ErrorCurve], colours: dict[str, str]) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    for curve in curves:
        colour = colours.get(curve.name, GREY)
        axes.plot(
            curve.epsilons,
            curve.errors,
            color=colour,
            linewidth=2.2 if curve.name in colours else 1,
            linestyle=":" if curve.name in COMPARISON_ONLY else "-",
            marker="o",
            markersize=4 if curve.name in colours else 2,
            zorder=3 if curve.name in colours else 2,
        )
    epsilons = sorted({float(epsilon) for curve in curves for epsilon in curve.epsilons})
    axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axes.xaxis.set_minor_locator(NullLocator())
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0,) if high > MANY_DECADES * low else (1.0, 2.0, 5.0)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    axes.set_xlabel("epsilon", color=QUIET, size=9)
    axes.tick_params(colors=QUIET, length=0, labelsize=8)
    axes.grid(axis="y", color=LINE)
    axes.spines[:].set_visible(False)
    _label(axes, curves, colours)


def _label(axes: Axes, curves: list[ErrorCurve], colours: dict[str, str]) -> None:
    """Write each name at the end of its line, moved up or down until none covers another."""
    curves = sorted(curves, key=lambda curve: float(curve.errors[-1]))
    if not curves:
        return
    pixels = axes.transData.transform([(curve.epsilons[-1], curve.errors[-1]) for curve in curves])
    dots = axes.figure.dpi / 72  # of one point
    height = axes.bbox.height
    wanted = pixels[:, 1] - axes.bbox.y0
    gap = LABEL_POINTS * LINE_HEIGHT * dots
    gaps = gap * np.arange(len(curves))
    # Those that would be beyond the panel's edges come in, and push only the names that they meet.
    at = gaps + np.clip(spaced(wanted, gap) - gaps, 0, max(0.0, height - gaps[-1]))
    for curve, y, end in zip(curves, at, wanted, strict=True):
        colour = colours.get(curve.name, QUIET)
        axes.annotate(
            curve.name,
            xy=(1.0, end / height),
            xycoords="axes fraction",
            xytext=(1.13, y / height),
            textcoords="axes fraction",
            color=colour,
            size=LABEL_POINTS,
            weight="bold" if curve.name in colours else "normal",
            style="italic" if curve.name in COMPARISON_ONLY else "normal",
            va="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": colours.get(curve.name, GREY),
                "linewidth": 0.5,
                "relpos": (0.0, 0.5),
                "shrinkB": 0,
            },
        )
