"""The look of all figures: the paper's methods in colour, others grey, those that promise less in italics."""

from __future__ import annotations

import io
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from PIL import Image

from gridveil.mechanisms.base import COMPARISON_ONLY
from gridveil.report.figures.chart import GREY, INK, LINE, QUIET, short
from gridveil.research.compare.compare import all_methods
from gridveil.research.compare.figure import STAMP
from gridveil.research.paper.tables import format_repeats

MANY_DECADES = 60
PNG_COLOURS = 128
"""Enough for lines and letters, a quarter of the size."""

WORKLOADS = {"random": "random queries", "small": "1x1x1 queries", "large": "10x10x10 queries"}


class MethodStyle(NamedTuple):
    """Colour, line and width of a method."""

    colour: str
    line: str = "-"
    width: float = 1.9


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
"""The paper's method in three versions, and its benchmarks. The colour-blind can distinguish them by colour or line."""
PAPER_COLOURS = {name: style.colour for name, style in PAPER.items()}


def style_of(method: str) -> MethodStyle:
    """Return how a method is drawn."""
    return PAPER.get(method, MethodStyle(GREY, ":" if method in COMPARISON_ONLY else "-", 1.0))


def order_methods() -> list[str]:
    """Return all methods: the paper's first, then the others, then those that promise less."""
    methods = all_methods()
    paper = [name for name in PAPER if name in methods and name not in COMPARISON_ONLY]
    others = [name for name in methods if name not in PAPER and name not in COMPARISON_ONLY]
    return [*paper, *others, *COMPARISON_ONLY]


def format_mean(table: pd.DataFrame) -> str:
    """Return which numbers of a table are drawn: means over how many repeats."""
    words = format_repeats(table)
    return words if words == "1 repeat" else f"mean over {words}"


def name_colour(method: str) -> str:
    """Return the colour of a method's name."""
    return PAPER[method].colour if method in PAPER else QUIET


def start_figure(width: float, height: float, title: str, words: str) -> Figure:
    """Return an empty figure with a title, a line on what is drawn, and the stamp; axes go below 0.85 inches."""
    figure = Figure(figsize=(width, height), dpi=100, facecolor="white")
    left = 0.3 / width
    figure.text(left, 1 - 0.30 / height, title, color=INK, size=13, weight="bold")
    figure.text(left, 1 - 0.52 / height, words, color=QUIET, size=9)
    figure.text(1 - left, 1 - 0.30 / height, STAMP, color="#b00020", size=9, weight="bold", ha="right")
    return figure


def strip_axes(axes: Axes) -> None:
    """Take everything off axes that is not data."""
    axes.tick_params(colors=QUIET, length=0, labelsize=8)
    axes.spines[:].set_visible(False)


def set_logarithmic(axes: Axes, which: str) -> None:
    """Make an axis logarithmic, with round numbers along it."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    (axes.set_xscale if which == "x" else axes.set_yscale)("log")
    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    axis.set_major_locator(LogLocator(subs=(1.0,) if high > MANY_DECADES * low else (1.0, 2.0, 5.0)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    axes.grid(axis=which, color=LINE)  # type: ignore[arg-type]  # x or y


def save_figure(figure: Figure, path: Path) -> None:
    """Write a figure as PNG and SVG, the same for the same numbers."""
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png")
    # By octree: the other ways give up the colours of thin lines, which are few pixels and all that matters.
    few = Image.open(drawn).convert("RGB").quantize(PNG_COLOURS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    few.save(path.with_suffix(".png"), optimize=True)
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "gridveil"}):
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
