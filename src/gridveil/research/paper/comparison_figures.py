"""The comparison figures: the paper's panels at its epsilon, and every method's error against epsilon."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from gridveil.mechanisms.base import COMPARISON_ONLY
from gridveil.report.figures.chart import INK, QUIET
from gridveil.research.compare.figure import label_ends
from gridveil.research.paper.experiments import PAPER_EPSILON, PAPER_PLACEMENTS
from gridveil.research.paper.style import (
    PAPER,
    PAPER_COLOURS,
    WORKLOADS,
    format_mean,
    name_colour,
    order_methods,
    set_logarithmic,
    start_figure,
    strip_axes,
    style_of,
)
from gridveil.research.paper.tables import PAPER_SETTING, Tables, has_own_bounds, select
from gridveil.research.paper.trials import STANDINS, title

STRIPE = "#f4f4f4"
PAPER_WORDS = "paper's clip as bound, clipped truth"
BOUND_WORDS = {"own": "each method under its own bound", "common": "all methods under the common bound"}


def draw_comparisons(tables: Tables) -> Iterator[tuple[str, Figure]]:
    """Yield the figures that can be drawn by now, by name: `panels`, `curves-<placement>` and `london`."""
    if "panels" in tables:
        panels = select(tables["panels"], **PAPER_SETTING)
        if len(at_paper := select(panels, epsilon=PAPER_EPSILON)):
            yield "panels", _draw_panels(at_paper)
        for placement in PAPER_PLACEMENTS:
            curves = _with_curves(select(panels, placement=placement))
            if len(curves):
                heading = f"Stand-ins, {placement} placement: error against epsilon"
                yield f"curves-{placement}", _draw_curves(curves, heading, PAPER_WORDS)
    if "london" in tables:
        bound = "own" if has_own_bounds(tables["london"]) else "common"
        curves = _with_curves(select(tables["london"], bound=bound, truth="raw"))
        if len(curves):
            heading = "London, measured households: error against epsilon"
            yield "london", _draw_curves(curves, heading, f"{BOUND_WORDS[bound]}, raw truth")


def _with_curves(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of data sets and placements with a curve: those with two epsilons at least."""
    epsilons = table.groupby(["dataset", "placement"], sort=False)["epsilon"].transform("nunique")
    return table[epsilons > 1]


def _draw_panels(table: pd.DataFrame) -> Figure:
    """Draw the paper's twelve panels: a row for each data set, a column for each workload, both placements."""
    methods = order_methods()
    row = 0.145 * len(methods) + 0.55
    width, height = 12.6, 1.1 + row * len(STANDINS) + 0.3
    figure = start_figure(
        width,
        height,
        f"The paper's comparison panels at epsilon {PAPER_EPSILON:g}",
        f"MRE, %, {PAPER_WORDS}, {format_mean(table)}; dots: uniform, rings: normal placement; italics: promises less",
    )
    grid = figure.add_gridspec(
        len(STANDINS),
        len(WORKLOADS),
        left=1.25 / width,
        right=1 - 0.3 / width,
        top=1 - 1.0 / height,
        bottom=0.4 / height,
        wspace=0.06,
        hspace=0.5 / row,
    )
    for number, dataset in enumerate(STANDINS):
        for column, (workload, words) in enumerate(WORKLOADS.items()):
            axes = figure.add_subplot(grid[number, column])
            axes.set_title(f"{title(dataset)}, {words}", color=INK, size=10, loc="left")
            _draw_dots(axes, select(table, dataset=dataset, workload=workload), methods, named=column == 0)
    return figure


def _draw_dots(axes: Axes, table: pd.DataFrame, methods: list[str], *, named: bool) -> None:
    places = {name: len(methods) - 1 - number for number, name in enumerate(methods)}
    for place in range(1, len(methods), 2):
        axes.axhspan(place - 0.5, place + 0.5, color=STRIPE, linewidth=0, zorder=0)
    for placement in ("normal", "uniform"):
        here = select(table, placement=placement).dropna(subset="mre")
        for name, error in zip(here["mechanism"], here["mre"], strict=True):
            axes.plot(
                error,
                places[name],
                "o",
                color=name_colour(name),
                markerfacecolor=name_colour(name) if placement == "uniform" else "none",
                markersize=5.5 if name in PAPER else 4.5,
                zorder=3,
            )
    axes.set_ylim(-0.7, len(methods) - 0.3)
    axes.set_yticks(list(places.values()), list(places) if named else [""] * len(places))
    strip_axes(axes)
    set_logarithmic(axes, "x")
    for name, label in zip(places, axes.get_yticklabels(), strict=True):
        label.set(color=name_colour(name), fontsize=8, fontweight="bold" if name in PAPER else "normal")
        label.set_fontstyle("italic" if name in COMPARISON_ONLY else "normal")


def _draw_curves(table: pd.DataFrame, heading: str, setting: str) -> Figure:
    """Draw error against epsilon: a row for each data set and placement, a column for each workload."""
    rows = table[["dataset", "placement"]].drop_duplicates().to_numpy().tolist()
    row, width = 4.3, 15.0
    height = 0.9 + row * len(rows) + 0.1
    words = f"MRE, %, {setting}, {format_mean(table)}; colour: the paper's methods; dotted, italics: promises less"
    figure = start_figure(width, height, heading, words)
    grid = figure.add_gridspec(
        len(rows),
        len(WORKLOADS),
        left=0.6 / width,
        right=1 - 1.25 / width,
        top=1 - 1.05 / height,
        bottom=0.45 / height,
        wspace=0.52,
        hspace=0.22,
    )
    for number, (dataset, placement) in enumerate(rows):
        for column, (workload, what) in enumerate(WORKLOADS.items()):
            axes = figure.add_subplot(grid[number, column])
            axes.set_title(f"{title(dataset)}, {placement}: {what}", color=INK, size=10, loc="left")
            _draw_lines(axes, select(table, dataset=dataset, placement=placement, workload=workload))
            if number == len(rows) - 1:
                axes.set_xlabel("epsilon", color=QUIET, size=9)
    return figure


def _draw_lines(axes: Axes, table: pd.DataFrame) -> None:
    epsilons = sorted(table["epsilon"].unique())
    ends = {}
    axes.set_xscale("log")
    axes.set_yscale("log")
    for name in order_methods():
        # An error of zero has no place on a logarithmic axis.
        points = select(table, mechanism=name).query("mre > 0").sort_values("epsilon")[["epsilon", "mre"]].to_numpy()
        if not len(points):
            continue
        style = style_of(name)
        axes.plot(
            *points.T,
            color=style.colour,
            linestyle=style.line,
            linewidth=style.width,
            marker="o",
            markersize=3.5 if name in PAPER else 1.8,
            zorder=3 if name in PAPER else 2,
        )
        ends[name] = (float(points[-1, 0]), float(points[-1, 1]))
    strip_axes(axes)
    axes.margins(x=0.02)
    set_logarithmic(axes, "y")
    axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axes.xaxis.set_minor_locator(NullLocator())
    label_ends(axes, ends, PAPER_COLOURS)
