"""The figures on STPT in detail: its pattern, its buckets, run times, and what the leak is worth."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from gridveil.mechanisms.registry import COMPARISON_ONLY
from gridveil.report.figures.style import LINE
from gridveil.research.compare.scoring import Record
from gridveil.research.paper.comparison import SETTING
from gridveil.research.paper.detail_findings import bucket_errors, seconds_of
from gridveil.research.paper.experiments import PAPER_PER_POINT
from gridveil.research.paper.figures import INK, QUIET, in_order, over
from gridveil.research.paper.leak import LEAK_NAMES
from gridveil.research.paper.numbers import Lines, by_mechanism, select
from gridveil.research.paper.repeats import counted
from gridveil.research.paper.style import WORKLOADS, ink, label_ends, logarithmic, look, plain, sheet
from gridveil.research.paper.towns import title
from gridveil.simulate.workloads import AUTHORS

Series = dict[str, list[tuple[float, float, float]]]
"""Points of a method's line: where, mean and standard deviation."""

MEASURES = {"mae": "MAE", "rmse": "RMSE"}
UNITS = "in clips per cell (stpt-leaky: in a household's own range); dashed: a constant at the true mean"
PANEL = 3.0
LEAK_MARKERS = ("D", "s", "o", "o", "X", "^")
BESIDE = 0.1
"""Of a column: so far apart stand the methods of one data set."""


def draw_budget(rows: list[Record]) -> Figure | None:
    """Draw the pattern's error against the budget per training point: the paper's figures a and b."""
    usual = {"stpt": 5, "stpt-paper": 3, "stpt-leaky": 2}
    kept = [row for row in rows if row["depth"] == usual[row["mechanism"]]]
    return _draw_pattern(kept, "per_point", "Pattern against its budget", "epsilon per training point")


def draw_depth(rows: list[Record]) -> Figure | None:
    """Draw the pattern's error against the depth of the quadtree: the paper's figures e and f."""
    kept = [row for row in rows if row["per_point"] == PAPER_PER_POINT]
    return _draw_pattern(kept, "depth", "Pattern against the depth of the quadtree", "depth")


def _draw_pattern(rows: list[Record], key: str, heading: str, across: str) -> Figure | None:
    datasets = list(dict.fromkeys(row["dataset"] for row in rows))
    if not datasets:
        return None
    words = f"{UNITS}; {counted(row['repeats'] for row in rows)}"
    figure, axes_of = _grid([(name, measure) for name in datasets for measure in MEASURES], heading, words)
    for (dataset, measure), axes in axes_of.items():
        here = [row for row in rows if row["dataset"] == dataset]
        series: Series = {}
        for row in sorted(here, key=lambda row: float(row[key])):
            series.setdefault(row["mechanism"], []).append((row[key], row[measure], row[f"{measure}_sd"] or 0.0))
        axes.set_title(f"{title(dataset)}: {MEASURES[measure]}", color=INK, size=10, loc="left")
        for name in series:
            flat = next(row[f"flat_{measure}"] for row in here if row["mechanism"] == name)
            axes.axhline(flat, color=look(name).colour, linewidth=0.9, linestyle="--", alpha=0.6, zorder=1)
        _draw_series(axes, series, across, log=key == "per_point")
        axes.set_ylim(bottom=0)
        label_ends(axes, {name: points[-1][:2] for name, points in series.items()})
    return figure


def draw_buckets(lines: Lines) -> Figure | None:
    """Draw error against the number of buckets: the paper's figure c."""
    datasets = list(dict.fromkeys(case.dataset for case in lines))
    if not datasets:
        return None
    words = f"MRE, %, paper's clip as bound, clipped truth, {over(lines)}; stpt with partition=quantized"
    figure, axes_of = _grid([(name, w) for name in datasets for w in WORKLOADS], "Error against buckets k", words)
    for (dataset, workload), axes in axes_of.items():
        series: Series = {
            method: [(k, error, 0.0) for k, error in bucket_errors(lines, dataset, method, workload).items()]
            for method in ("stpt-paper", "stpt")
        }
        series = {name: points for name, points in series.items() if points}
        axes.set_title(f"{title(dataset)}: {WORKLOADS[workload]}", color=INK, size=10, loc="left")
        _draw_series(axes, series, "buckets k", log=True)
        axes.set_ylim(bottom=0)
        label_ends(axes, {name: points[-1][:2] for name, points in series.items()})
    return figure


def draw_runtime(records: list[Record]) -> Figure | None:
    """Draw the median run time of every method: the paper's figure d."""
    times = seconds_of(records)
    if not times:
        return None
    names = [name for name in reversed(in_order()) if name in times]
    height = 1.35 + 0.2 * len(names)
    words = "seconds on London, 32 x 32 x 120, real noise (italics: no kernel, no real noise); one at a time, median"
    figure = sheet(8.5, height, "Run time", words)
    axes = figure.add_axes((1.2 / 8.5, 0.4 / height, 6.4 / 8.5, 1 - 1.25 / height))
    axes.barh(range(len(names)), [times[name] for name in names], color=[look(name).colour for name in names])
    axes.set_yticks(range(len(names)), names)
    plain(axes)
    logarithmic(axes, "x")
    for number, name in enumerate(names):
        axes.text(times[name] * 1.06, number, f"{times[name]:.2f}", color=QUIET, size=8, va="center")
    for name, label in zip(names, axes.get_yticklabels(), strict=True):
        label.set(color=ink(name), fontstyle="italic" if name in COMPARISON_ONLY else "normal")
    axes.set_axisbelow(True)
    return figure


def draw_leak(lines: Lines, epsilon: float) -> Figure | None:
    """Draw the authors' code beside honest methods, by the authors' scoring and by ours."""
    here = select(lines, epsilon=epsilon)
    datasets = list(dict.fromkeys(case.dataset for case in here))
    if not datasets:
        return None
    words = f"MRE, %, epsilon {epsilon:g}, at most one household a cell, paper's clip, clipped truth, {over(here)}"
    workloads = [*AUTHORS, *WORKLOADS]
    figure, axes_of = _grid([("", w) for w in workloads], "What reading raw data is worth", words, columns=3)
    for (_, workload), axes in axes_of.items():
        axes.set_title(workload.replace("authors-", "authors' scoring: "), color=INK, size=10, loc="left")
        for place, (name, words) in enumerate(LEAK_NAMES.items()):
            points = [
                (number, by_mechanism(lines, dataset=d, workload=workload, epsilon=epsilon, **SETTING).get(name))
                for number, d in enumerate(datasets)
            ]
            known = np.array([(x + BESIDE * (place - 2.5), y) for x, y in points if y is not None])
            if len(known):
                colour = ink(name.partition(" ")[0])
                axes.plot(*known.T, LEAK_MARKERS[place], markersize=7, color=colour, label=words)
        axes.set_xticks(range(len(datasets)), [title(name).replace(" (stand-in)", "") for name in datasets])
        axes.set_xlim(-0.5, len(datasets) - 0.5)
        plain(axes)
        logarithmic(axes, "y")
    first = next(iter(axes_of.values()))
    handles, labels = first.get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=len(labels), frameon=False, fontsize=9)
    return figure


def _grid(
    keys: Sequence[tuple[str, str]], heading: str, words: str, columns: int | None = None
) -> tuple[Figure, dict[tuple[str, str], Axes]]:
    """Return a figure with axes for each key; rows are as long as keys with the same first part."""
    columns = columns or sum(key[0] == keys[0][0] for key in keys)
    rows = -(-len(keys) // columns)
    width, height = 3.6 * columns + 1.6, PANEL * rows + 1.5
    figure = sheet(width, height, heading, words)
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


def _draw_series(axes: Axes, series: Series, across: str, *, log: bool) -> None:
    for name, points in series.items():
        where, mean, spread = np.array(points).T
        style = look(name)
        axes.plot(
            where, mean, color=style.colour, linestyle=style.line, linewidth=style.width, marker="o", markersize=4
        )
        axes.fill_between(where, mean - spread, mean + spread, color=style.colour, alpha=0.15, linewidth=0)
    ticks = sorted({where for points in series.values() for where, _, _ in points})
    if log:
        axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.margins(x=0.03)
    axes.set_xlabel(across, color=QUIET, size=9)
    axes.grid(axis="y", color=LINE)
    plain(axes)
