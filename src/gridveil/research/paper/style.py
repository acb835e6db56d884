"""How methods look in all figures: the paper's own in colour, the others grey, those that promise less in italics."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from gridveil.mechanisms.registry import COMPARISON_ONLY
from gridveil.report.figures.axis import short
from gridveil.report.figures.style import GREY, INK, LINE, QUIET, spaced
from gridveil.research.compare.compare_figure import STAMP

POINTS = 7.5
LINE_HEIGHT = 1.25
MANY_DECADES = 60

WORKLOADS = {"random": "random queries", "small": "1x1x1 queries", "large": "10x10x10 queries"}


class MethodStyle(NamedTuple):
    """Colour, line and width of a method."""

    colour: str
    line: str = "-"
    width: float = 1.9
    marker: str = "o"


PAPER = {
    "stpt": MethodStyle("#0072b2", width=2.6),
    "stpt-paper": MethodStyle("#56a8dd", width=2.2),
    "stpt-leaky": MethodStyle("#c1121f", ":", 2.0),
    "identity": MethodStyle("#1a1a1a"),
    "fourier": MethodStyle("#d55e00"),
    "fourier-20": MethodStyle("#d55e00", "--"),
    "wavelet": MethodStyle("#00875f"),
    "wavelet-20": MethodStyle("#00875f", "--"),
    "fast": MethodStyle("#a3529a"),
}
"""The paper's method in three versions, and its benchmarks. Told apart by the colour-blind, or by their lines."""


def look(method: str) -> MethodStyle:
    """Return how a method is drawn."""
    return PAPER.get(method, MethodStyle(GREY, ":" if method in COMPARISON_ONLY else "-", 1.0))


def ink(method: str) -> str:
    """Return the colour of a method's name."""
    return PAPER[method].colour if method in PAPER else QUIET


def sheet(width: float, height: float, title: str, words: str) -> Figure:
    """Return an empty figure with a title, a line on what is drawn, and the stamp; axes go below 0.85 inches."""
    figure = Figure(figsize=(width, height), dpi=100, facecolor="white")
    left = 0.3 / width
    figure.text(left, 1 - 0.30 / height, title, color=INK, size=13, weight="bold")
    figure.text(left, 1 - 0.52 / height, words, color=QUIET, size=9)
    figure.text(1 - left, 1 - 0.30 / height, STAMP, color="#b00020", size=9, weight="bold", ha="right")
    return figure


def plain(axes: Axes) -> None:
    """Take everything off axes that is not data."""
    axes.tick_params(colors=QUIET, length=0, labelsize=8)
    axes.spines[:].set_visible(False)


def logarithmic(axes: Axes, which: str) -> None:
    """Make an axis logarithmic, with round numbers along it."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    axis.set_major_locator(LogLocator(subs=(1.0,) if high > MANY_DECADES * low else (1.0, 2.0, 5.0)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    axes.grid(axis=which, color=LINE)  # type: ignore[arg-type]  # x or y


def label_ends(axes: Axes, ends: dict[str, tuple[float, float]]) -> None:
    """Write names at the right of the axes, near the height of their lines' ends, none over another or above them."""
    if not ends:
        return
    names = sorted(ends, key=lambda name: ends[name][1])
    pixels = axes.transData.transform([ends[name] for name in names])
    height = axes.bbox.height
    wanted = pixels[:, 1] - axes.bbox.y0
    gap = min(POINTS * LINE_HEIGHT * axes.figure.dpi / 72, height / max(len(names) - 1, 1))
    below = gap * np.arange(len(names))
    at = np.clip(spaced(wanted, gap), below, height - below[::-1])
    for name, y, end in zip(names, at, wanted, strict=True):
        axes.annotate(
            name,
            xy=(1.0, end / height),
            xycoords="axes fraction",
            xytext=(1.1, y / height),
            textcoords="axes fraction",
            color=ink(name),
            size=POINTS,
            weight="bold" if name in PAPER else "normal",
            style="italic" if name in COMPARISON_ONLY else "normal",
            va="center",
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": look(name).colour,
                "linewidth": 0.5,
                "shrinkA": 1,
                "shrinkB": 0,
                "relpos": (0, 0.5),
            },
        )
