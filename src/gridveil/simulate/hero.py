"""The demo's picture: maps of the truth and of what was released, and the town's curve below."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from gridveil.model.arrays import Floats
from gridveil.report.figures.axis import round_times, short
from gridveil.report.figures.maps import ColourScale
from gridveil.simulate.comparison import Comparison

NIGHT, INK, QUIET, LINE = "#101116", "#f2f1ee", "#a9abb5", "#33353d"
RELEASED = "#56b4e9"
COLOURS = "inferno"
"""As `gridveil.report.figures.maps` has them."""
LEFT, RIGHT = 0.06, 0.93


def draw_hero(comparison: Comparison, epsilon: float) -> Figure:
    """Draw maps of the window's totals above the whole town's curve as the first release tells it."""
    totals = {name: cube.sum(2) for name, cube in comparison.cubes().items()}
    scale = ColourScale.of(totals["truth"])
    figure = Figure(figsize=(12, 8), dpi=150, facecolor=NIGHT)
    maps = figure.add_gridspec(1, len(totals), left=LEFT, right=RIGHT, top=0.83, bottom=0.4, wspace=0.06)
    curve = figure.add_gridspec(1, 1, left=LEFT, right=RIGHT, top=0.31, bottom=0.06)
    figure.text(LEFT, 0.93, "A town's electricity, every household behind a veil", color=INK, size=24, weight="bold")
    facts = f"invented town   ·   {comparison.grid.nx} by {comparison.grid.ny} cells, {comparison.window.steps} steps"
    figure.text(LEFT, 0.893, f"{facts}   ·   ε = {epsilon:g} for each household", color=QUIET, size=13)
    for column, (name, total) in enumerate(totals.items()):
        axes = figure.add_subplot(maps[0, column])
        _draw_map(axes, total, scale, comparison)
        axes.set_title("truth (never published)" if column == 0 else name, color=INK, size=14, loc="left")
    _draw_colour_bar(figure, axes, scale)
    _draw_curve(figure.add_subplot(curve[0]), comparison)
    return figure


def _norm(scale: ColourScale) -> PowerNorm:
    return PowerNorm(0.5, vmin=0, vmax=scale.top, clip=True)


def _draw_map(axes: Axes, total: Floats, scale: ColourScale, comparison: Comparison) -> None:
    grid = comparison.grid
    extent = (grid.x0, grid.x1, grid.y0, grid.y1)
    axes.imshow(total.T, origin="lower", cmap=COLOURS, norm=_norm(scale), extent=extent, interpolation="nearest")
    axes.set_anchor("W")
    axes.set_axis_off()


def _draw_colour_bar(figure: Figure, beside: Axes, scale: ColourScale) -> None:
    beside.apply_aspect()
    place = beside.get_position()
    axes = figure.add_axes((place.x1 + 0.012, place.y0, 0.01, place.height))
    bar = figure.colorbar(ScalarMappable(_norm(scale), COLOURS), cax=axes)
    bar.set_ticks([kwh for _, kwh in scale.marks()], labels=[short(kwh) for _, kwh in scale.marks()])
    axes.tick_params(colors=QUIET, length=0, labelsize=10)
    axes.set_title("kWh", color=QUIET, size=10, loc="left")
    axes.minorticks_off()
    axes.spines[:].set_visible(False)


def _draw_curve(axes: Axes, comparison: Comparison) -> None:
    name = next(iter(comparison.releases))
    curve = comparison.curve(comparison.places()[0], name)
    middles = np.arange(comparison.window.steps) + 0.5
    axes.fill_between(middles, curve.low, curve.high, color=RELEASED, alpha=0.3, linewidth=0)
    axes.plot(middles, curve.answer, color=RELEASED, linewidth=2, label=f"{name}, with its 95 % interval")
    axes.plot(middles, curve.truth, color=INK, linewidth=1.5, linestyle=(0, (3, 1.5)), label="truth")
    axes.set_title(f"the whole town, {comparison.unit}", color=INK, size=14, loc="left")
    axes.legend(
        loc="lower right",
        bbox_to_anchor=(1, 1.0),
        ncols=2,
        frameon=False,
        labelcolor=INK,
        fontsize=12,
        borderaxespad=0,
    )
    axes.set_xlim(0, comparison.window.steps)
    axes.set_ylim(0, 1.2 * max(curve.truth.max(), curve.answer.max(), 1e-9))
    times = round_times(comparison.window)
    axes.set_xticks([step for step, _ in times], [name for _, name in times], ha="left")
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda kwh, _: short(kwh)))
    axes.set_facecolor(NIGHT)
    axes.tick_params(colors=QUIET, length=0, labelsize=11)
    axes.grid(axis="y", color=LINE)
    axes.spines[:].set_visible(False)
