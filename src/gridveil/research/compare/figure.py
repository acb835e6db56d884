"""A comparison as a picture: error against epsilon, a panel for each workload, the best few methods in colour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from gridveil.mechanisms.base import COMPARISON_ONLY
from gridveil.report.figures.chart import COLOURS, GREY, INK, LINE, QUIET, short, spaced
from gridveil.research.compare.results import kwh, make_frame, rank_methods, summarise
from gridveil.research.compare.study import Record
from gridveil.research.compare.trial import AUTO

LABEL_POINTS = 7.5
LINE_HEIGHT = 1.25
ROOM = 1.2
"""A panel is so many times as high as the column of names beside it."""

PANEL_WIDTH, PANELS_IN_A_ROW = 4.8, 3
HEAD, BETWEEN, LEFT, RIGHT = 0.7, 0.8, 0.6, 1.2
"""Inches: above the panels, between their rows, and at the sides."""

MANY_DECADES = 300
"""Where the highest error is so many times the lowest, ticks at powers of ten are enough."""

STAMP = "NOT PRIVATE: computed from true values"


def draw_comparison(records: Sequence[Record], title: str) -> Figure:
    """Draw WAPE against the raw truth, as `publish` would do; dotted: methods that promise less.

    Under bounds chosen privately, if the comparison has them, or else under the common bound.
    """
    bound = AUTO if any(record["bound"] == AUTO for record in records) else "common"
    records = [record for record in records if record["bound"] == bound]
    spreads = summarise(make_frame(records))
    colours = dict(zip(rank_methods(spreads), COLOURS, strict=False))
    workloads = list(dict.fromkeys(record["workload"] for record in records))
    methods = spreads.index.get_level_values("method").nunique()
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
        # An error of zero has no place on a logarithmic axis.
        here = spreads.query("workload == @workload and mean > 0").reset_index()
        _draw_panel(axes, here.sort_values("epsilon", kind="stable"), colours)
    return figure


def _draw_panel(axes: Axes, points: pd.DataFrame, colours: Mapping[str, str]) -> None:
    axes.set_xscale("log")
    axes.set_yscale("log")
    ends = {}
    for name in points["method"].unique():
        curve = points[points["method"] == name]
        axes.plot(
            curve["epsilon"],
            curve["mean"],
            color=colours.get(name, GREY),
            linewidth=2.2 if name in colours else 1,
            linestyle=":" if name in COMPARISON_ONLY else "-",
            marker="o",
            markersize=4 if name in colours else 2,
            zorder=3 if name in colours else 2,
        )
        ends[name] = (float(curve["epsilon"].iloc[-1]), float(curve["mean"].iloc[-1]))
    epsilons = sorted(points["epsilon"].unique())
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
    label_ends(axes, ends, colours)


def label_ends(axes: Axes, ends: Mapping[str, tuple[float, float]], colours: Mapping[str, str]) -> None:
    """Write names at the right of the axes, near the height of their lines' ends, none over another or above them.

    Names with a colour of their own are bold, those of methods that promise less in italics.
    """
    if not ends:
        return
    names = sorted(ends, key=lambda name: ends[name][1])
    pixels = axes.transData.transform([ends[name] for name in names])
    height = axes.bbox.height
    wanted = pixels[:, 1] - axes.bbox.y0
    gap = min(LABEL_POINTS * LINE_HEIGHT * axes.figure.dpi / 72, height / max(len(names) - 1, 1))
    below = gap * np.arange(len(names))
    at = np.clip(spaced(wanted, gap), below, height - below[::-1])
    for name, y, end in zip(names, at, wanted, strict=True):
        axes.annotate(
            name,
            xy=(1.0, end / height),
            xycoords="axes fraction",
            xytext=(1.1, y / height),
            textcoords="axes fraction",
            color=colours.get(name, QUIET),
            size=LABEL_POINTS,
            weight="bold" if name in colours else "normal",
            style="italic" if name in COMPARISON_ONLY else "normal",
            va="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": colours.get(name, GREY),
                "linewidth": 0.5,
                "shrinkA": 1,
                "shrinkB": 0,
                "relpos": (0, 0.5),
            },
        )
