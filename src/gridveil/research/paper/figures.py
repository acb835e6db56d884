"""The comparison figures: the paper's panels at its epsilon, and every method's error against epsilon."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from gridveil.mechanisms.registry import COMPARISON_ONLY
from gridveil.research.compare.question import all_methods
from gridveil.research.paper.numbers import Lines, by_mechanism, select
from gridveil.research.paper.repeats import repeats_of
from gridveil.research.paper.style import PAPER, WORKLOADS, ink, label_ends, logarithmic, look, plain, sheet
from gridveil.research.paper.towns import title

INK, QUIET, STRIPE = "#1a1a1a", "#666666", "#f4f4f4"


def in_order() -> list[str]:
    """Return all methods: the paper's first, then the others, then those that promise less."""
    methods = all_methods()
    paper = [name for name in PAPER if name in methods and name not in COMPARISON_ONLY]
    others = [name for name in methods if name not in PAPER and name not in COMPARISON_ONLY]
    return [*paper, *others, *COMPARISON_ONLY]


def over(lines: Lines) -> str:
    """Return what numbers are drawn: means over how many repeats."""
    words = repeats_of(lines)
    return words if words == "1 repeat" else f"mean over {words}"


def draw_panels(lines: Lines, epsilon: float, datasets: Sequence[str], setting: str) -> Figure:
    """Draw the paper's twelve panels: a row for each data set, a column for each workload, both placements."""
    methods = in_order()
    row = 0.145 * len(methods) + 0.55
    width, height = 12.6, 1.1 + row * len(datasets) + 0.3
    figure = sheet(
        width,
        height,
        f"The paper's comparison panels at epsilon {epsilon:g}",
        f"MRE, %, {setting}, {over(select(lines, epsilon=epsilon))}; dots: uniform, rings: normal placement; "
        "italics: promises less",
    )
    grid = figure.add_gridspec(
        len(datasets),
        len(WORKLOADS),
        left=1.25 / width,
        right=1 - 0.3 / width,
        top=1 - 1.0 / height,
        bottom=0.4 / height,
        wspace=0.06,
        hspace=0.5 / row,
    )
    for number, dataset in enumerate(datasets):
        for column, workload in enumerate(WORKLOADS):
            axes = figure.add_subplot(grid[number, column])
            axes.set_title(f"{title(dataset)}, {WORKLOADS[workload]}", color=INK, size=10, loc="left")
            here = select(lines, dataset=dataset, workload=workload, epsilon=epsilon)
            _draw_dots(axes, here, methods, named=column == 0)
    return figure


def _draw_dots(axes: Axes, lines: Lines, methods: list[str], *, named: bool) -> None:
    places = {name: len(methods) - 1 - number for number, name in enumerate(methods)}
    for place in range(1, len(methods), 2):
        axes.axhspan(place - 0.5, place + 0.5, color=STRIPE, linewidth=0, zorder=0)
    for placement in ("normal", "uniform"):
        for name, error in by_mechanism(lines, placement=placement).items():
            filled = placement == "uniform"
            axes.plot(
                error,
                places[name],
                "o",
                color=ink(name),
                markerfacecolor=ink(name) if filled else "none",
                markersize=5.5 if name in PAPER else 4.5,
                zorder=3,
            )
    axes.set_ylim(-0.7, len(methods) - 0.3)
    axes.set_yticks(list(places.values()), list(places) if named else [""] * len(places))
    plain(axes)
    logarithmic(axes, "x")
    for name, label in zip(places, axes.get_yticklabels(), strict=True):
        label.set(color=ink(name), fontsize=8, fontweight="bold" if name in PAPER else "normal")
        label.set_fontstyle("italic" if name in COMPARISON_ONLY else "normal")


def draw_curves(lines: Lines, rows: Sequence[tuple[str, str]], heading: str, setting: str) -> Figure:
    """Draw error against epsilon: a row for each (data set, placement), a column for each workload."""
    row, width = 4.3, 15.0
    height = 0.9 + row * len(rows) + 0.1
    words = f"MRE, %, {setting}, {over(lines)}; colour: the paper's methods; dotted, italics: promises less"
    figure = sheet(width, height, heading, words)
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
        for column, workload in enumerate(WORKLOADS):
            axes = figure.add_subplot(grid[number, column])
            axes.set_title(f"{title(dataset)}, {placement}: {WORKLOADS[workload]}", color=INK, size=10, loc="left")
            _draw_lines(axes, select(lines, dataset=dataset, placement=placement, workload=workload))
            if number == len(rows) - 1:
                axes.set_xlabel("epsilon", color=QUIET, size=9)
    return figure


def _draw_lines(axes: Axes, lines: Lines) -> None:
    epsilons = sorted({case.epsilon for case in lines})
    ends = {}
    axes.set_xscale("log")
    axes.set_yscale("log")
    for name in in_order():
        found = [(eps, by_mechanism(lines, mechanism=name, epsilon=eps).get(name)) for eps in epsilons]
        points = np.array([(eps, error) for eps, error in found if error])
        if not len(points):
            continue
        style = look(name)
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
    plain(axes)
    axes.margins(x=0.02)
    logarithmic(axes, "y")
    axes.set_xticks(epsilons, [f"{epsilon:g}" for epsilon in epsilons])
    axes.xaxis.set_minor_locator(NullLocator())
    label_ends(axes, ends)
