"""The figures on STPT in detail: its pattern, its buckets, run times, and what the leak is worth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from gridveil.mechanisms.base import COMPARISON_ONLY
from gridveil.report.figures.chart import INK, LINE, QUIET
from gridveil.research.compare.figure import label_ends
from gridveil.research.paper.experiments import (
    AUTHORS_SETTINGS,
    LEAK_METHODS,
    PAPER_EPSILON,
    PAPER_PER_POINT,
    PATTERN_DEPTHS,
)
from gridveil.research.paper.style import (
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
from gridveil.research.paper.tables import PAPER_SETTING, Tables, format_parameters, format_repeats, select
from gridveil.research.paper.trials import title
from gridveil.simulate.rehearse import AUTHORS

MEASURES = {"mae": "MAE", "rmse": "RMSE"}
UNITS = "in clips per cell (stpt-leaky: in a household's own range); dashed: a constant at the true mean"
PANEL = 3.0
LEAK_NAMES = {(name, ""): name for name in LEAK_METHODS} | {
    ("stpt-paper", format_parameters(dict(AUTHORS_SETTINGS))): "stpt-paper, authors' settings"
}
"""By mechanism and parameters. The last has the settings of the authors' code, without its leak."""
LEAK_MARKERS = ("D", "s", "o", "o", "X", "^")
LEAK_GAP = 0.1
"""Of a column: the distance between the methods of one data set."""


def draw_details(tables: Tables) -> Iterator[tuple[str, Figure]]:
    """Yield the figures that can be drawn by now, by name, as the paper's figures a to f, and `leak`."""
    if "pattern" in tables:
        pattern = tables["pattern"]
        at_depth = pattern[pattern["depth"] == pattern["mechanism"].map(PATTERN_DEPTHS)]
        if len(at_depth):
            yield (
                "pattern-budget",
                _draw_pattern(at_depth, "per_point", "Pattern against its budget", "epsilon per training point"),
            )
        at_budget = select(pattern, per_point=PAPER_PER_POINT)
        if len(at_budget):
            heading = "Pattern against the depth of the quadtree"
            yield "pattern-depth", _draw_pattern(at_budget, "depth", heading, "depth")
    if "buckets" in tables:
        yield "buckets", _draw_buckets(tables["buckets"])
    if "runtime" in tables:
        yield "runtime", _draw_runtime(tables["runtime"])
    if "leak" in tables and len(leak := select(tables["leak"], epsilon=PAPER_EPSILON)):
        yield "leak", _draw_leak(leak)


def _draw_pattern(table: pd.DataFrame, key: str, heading: str, across: str) -> Figure:
    """Draw the pattern's error against one setting: a row for each data set, MAE and RMSE."""
    datasets = table["dataset"].unique()
    words = f"{UNITS}; {format_repeats(table)}"
    figure, axes_of = _grid([(name, measure) for name in datasets for measure in MEASURES], heading, words)
    for (dataset, measure), axes in axes_of.items():
        here = select(table, dataset=dataset).sort_values(key, kind="stable")
        axes.set_title(f"{title(dataset)}: {MEASURES[measure]}", color=INK, size=10, loc="left")
        for name in here["mechanism"].unique():
            flat = select(table, dataset=dataset, mechanism=name)[f"flat_{measure}"].iloc[0]
            axes.axhline(flat, color=style_of(name).colour, linewidth=0.9, linestyle="--", alpha=0.6, zorder=1)
        series = here[["mechanism", key, measure, f"{measure}_sd"]].set_axis(["mechanism", "x", "y", "sd"], axis=1)
        _draw_series(axes, series, across, log=key == "per_point")
    return figure


def _draw_buckets(table: pd.DataFrame) -> Figure:
    """Draw error against the number of buckets: the paper's figure c."""
    words = f"MRE, %, paper's clip as bound, clipped truth, {format_mean(table)}; stpt with partition=quantized"
    keys = [(name, workload) for name in table["dataset"].unique() for workload in WORKLOADS]
    figure, axes_of = _grid(keys, "Error against buckets k", words)
    buckets = table["parameters"].str.extract(r"buckets=(\d+)$")[0].astype(int)
    points = table.assign(x=buckets, y=table["mre"], sd=0.0).dropna(subset="y")
    for (dataset, workload), axes in axes_of.items():
        here = select(points, dataset=dataset, workload=workload, **PAPER_SETTING).sort_values("x", kind="stable")
        axes.set_title(f"{title(dataset)}: {WORKLOADS[workload]}", color=INK, size=10, loc="left")
        _draw_series(axes, here, "buckets k", log=True)
    return figure


def _draw_runtime(table: pd.DataFrame) -> Figure:
    """Draw the median run time of every method: the paper's figure d."""
    times = table.set_index("mechanism")["seconds_median"]
    names = [name for name in reversed(order_methods()) if name in times]
    height = 1.35 + 0.2 * len(names)
    words = "seconds on London, 32 x 32 x 120, real noise (italics: no kernel, no real noise); one at a time, median"
    figure = start_figure(8.5, height, "Run time", words)
    axes = figure.add_axes((1.2 / 8.5, 0.4 / height, 6.4 / 8.5, 1 - 1.25 / height))
    axes.barh(range(len(names)), times[names], color=[style_of(name).colour for name in names])
    axes.set_yticks(range(len(names)), names)
    strip_axes(axes)
    set_logarithmic(axes, "x")
    for number, (name, label) in enumerate(zip(names, axes.get_yticklabels(), strict=True)):
        axes.text(times[name] * 1.06, number, f"{times[name]:.2f}", color=QUIET, size=8, va="center")
        label.set(color=name_colour(name), fontstyle="italic" if name in COMPARISON_ONLY else "normal")
    axes.set_axisbelow(True)
    return figure


def _draw_leak(table: pd.DataFrame) -> Figure:
    """Draw the authors' code beside honest methods, by the authors' scoring and by ours."""
    datasets = list(table["dataset"].unique())
    words = (
        f"MRE, %, epsilon {PAPER_EPSILON:g}, at most one household a cell, paper's clip, clipped truth, "
        f"{format_mean(table)}"
    )
    workloads = [*AUTHORS, *WORKLOADS]
    figure, axes_of = _grid([("", w) for w in workloads], "What reading raw data is worth", words, columns=3)
    for (_, workload), axes in axes_of.items():
        axes.set_title(workload.replace("authors-", "authors' scoring: "), color=INK, size=10, loc="left")
        for place, ((mechanism, parameters), words) in enumerate(LEAK_NAMES.items()):
            here = select(table, workload=workload, mechanism=mechanism, parameters=parameters, **PAPER_SETTING)
            errors = here.set_index("dataset")["mre"].reindex(datasets).to_numpy()
            where = [number + LEAK_GAP * (place - 2.5) for number in range(len(datasets))]
            axes.plot(where, errors, LEAK_MARKERS[place], markersize=7, color=name_colour(mechanism), label=words)
        axes.set_xticks(range(len(datasets)), [title(name).replace(" (stand-in)", "") for name in datasets])
        axes.set_xlim(-0.5, len(datasets) - 0.5)
        strip_axes(axes)
        set_logarithmic(axes, "y")
    handles, labels = next(iter(axes_of.values())).get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=len(labels), frameon=False, fontsize=9)
    return figure


def _grid(
    keys: Sequence[tuple[str, str]], heading: str, words: str, columns: int | None = None
) -> tuple[Figure, dict[tuple[str, str], Axes]]:
    """Return a figure with axes for each key; rows are as long as keys with the same first part."""
    columns = columns or sum(key[0] == keys[0][0] for key in keys)
    rows = -(-len(keys) // columns)
    width, height = 3.6 * columns + 1.6, PANEL * rows + 1.5
    figure = start_figure(width, height, heading, words)
    grid = figure.add_gridspec(
        rows,
        columns,
        left=0.6 / width,
        right=1 - 1.1 / width,
        top=1 - 1.0 / height,
        bottom=0.7 / height,
        wspace=0.45,
        hspace=0.45,
    )
    return figure, {key: figure.add_subplot(grid[divmod(number, columns)]) for number, key in enumerate(keys)}


def _draw_series(axes: Axes, points: pd.DataFrame, across: str, *, log: bool) -> None:
    """Draw a line for each mechanism: `y` against `x`, with `sd` around it, in the order of the points."""
    ends = {}
    for name in points["mechanism"].unique():
        line = select(points, mechanism=name)
        style, spread = style_of(name), line["sd"].fillna(0.0)
        axes.plot(
            line["x"],
            line["y"],
            color=style.colour,
            linestyle=style.line,
            linewidth=style.width,
            marker="o",
            markersize=4,
        )
        axes.fill_between(
            line["x"], line["y"] - spread, line["y"] + spread, color=style.colour, alpha=0.15, linewidth=0
        )
        ends[name] = (float(line["x"].iloc[-1]), float(line["y"].iloc[-1]))
    ticks = sorted(points["x"].unique())
    if log:
        axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.margins(x=0.03)
    axes.set_xlabel(across, color=QUIET, size=9)
    axes.grid(axis="y", color=LINE)
    strip_axes(axes)
    axes.set_ylim(bottom=0)
    label_ends(axes, ends, PAPER_COLOURS)
