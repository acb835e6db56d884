"""The demo's report: the page about a release with a section that compares it with the truth, and a picture."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from gridveil.geography.grid import Grid
from gridveil.model.arrays import Floats
from gridveil.model.running import Progress, silent
from gridveil.report.figures.chart import ChartLine, line_chart, round_times, short
from gridveil.report.figures.maps import ColourScale
from gridveil.report.formatting import per, span
from gridveil.report.page import PageSection, write_report
from gridveil.report.when import swatch
from gridveil.report.where import draw_map, draw_scale, ground_of
from gridveil.simulate.demo import Comparison, DemoCurve, DemoPlace, Score
from gridveil.simulate.rehearse import QUERIES

WARNING = "This comparison is possible only because the town is invented: a real publication never shows the truth."
MAP_PIXELS = 360

WORKLOADS_IN_WORDS = {
    "random": ("any region, any time", "random shape and size"),
    "small": ("one cell, one step", "1x1x1"),
    "large": ("10 by 10 cells, 10 steps", "10x10x10"),
}


def write_demo_report(folder: Path, comparison: Comparison, *, name: str, progress: Progress = silent) -> None:
    """Write `report.html` and `demo.png` about the first release, whose folder has this name."""
    section = PageSection(WARNING, compare_with_truth(comparison))
    write_report(comparison.first, folder / "report.html", name=name, section=section, progress=progress)
    draw_hero(comparison).savefig(folder / "demo.png")


# The section of the page.


def compare_with_truth(comparison: Comparison) -> str:
    """Return the section: maps, curves and errors of each release next to the truth."""
    cubes, peak, window = comparison.cubes(), comparison.peak(), comparison.first.window
    start = window.times()[peak]
    labels = [release.label for release in comparison.releases.values()]
    total = sum(label.privacy.epsilon for label in labels)
    several = f" All {len(labels)} releases of one town together would be ε = {total:g}."
    return Template((files("gridveil.simulate") / "comparison.html").read_text("utf-8")).substitute(
        epsilon=f"{labels[0].privacy.epsilon:g}",
        releases=escape(", ".join(comparison.releases)),
        together=several if len(labels) > 1 else "",
        total_maps=_maps(comparison, {name: cube.sum(0) for name, cube in cubes.items()}, "kWh per cell, all steps"),
        peak=span(start, start + window.step),
        peak_maps=_maps(comparison, {name: cube[peak] for name, cube in cubes.items()}, _unit(comparison)),
        key=swatch("truth", "truth") + swatch("released", "released") + swatch("band", "95 % interval of the release"),
        charts="\n".join(_charts(comparison, place) for place in comparison.places()),
        queries=QUERIES,
        scores="\n".join(_score_rows(name, comparison.scores(name)) for name in comparison.releases),
    )


def _unit(comparison: Comparison) -> str:
    return f"kWh per {per(comparison.first.window.step)}"


def _maps(comparison: Comparison, maps: Mapping[str, Floats], unit: str) -> str:
    """Draw maps side by side on the truth's scale, with the districts of the charts marked."""
    scale = ColourScale.of(maps["truth"])
    marks = "".join(_district(comparison.first.grid, place) for place in comparison.places() if place.mark)
    ground = ground_of(comparison.first.grid)
    figures = "".join(
        f"<figure><figcaption><b>{escape(name)}</b></figcaption>"
        + draw_map(kwh, scale, ground, MAP_PIXELS, _description(name, kwh, comparison), overlay=marks)
        + "</figure>"
        for name, kwh in maps.items()
    )
    return f'<div class="row">{figures}</div>{draw_scale(scale, unit)}'


def _description(name: str, kwh: Floats, comparison: Comparison) -> str:
    """Describe a map for readers who do not see it."""
    busy = comparison.places()[1]
    share = kwh[slice(*busy.y), slice(*busy.x)].sum() / (kwh.sum() or 1)
    return f"Map of the {name}: {kwh.sum():,.0f} kWh in all, {100 * share:.0f} % of it in district {busy.mark}"


def _district(grid: Grid, place: DemoPlace) -> str:
    left, width = 100 * place.x[0] / grid.nx, 100 * (place.x[1] - place.x[0]) / grid.nx
    bottom, height = 100 * place.y[0] / grid.ny, 100 * (place.y[1] - place.y[0]) / grid.ny
    place_and_size = f"left:{left:g}%;bottom:{bottom:g}%;width:{width:g}%;height:{height:g}%"
    return f'<span class="district" style="{place_and_size}">{place.mark}</span>'


def _charts(comparison: Comparison, place: DemoPlace) -> str:
    """Draw a place's curve for every release, on one scale."""
    curves = {name: comparison.curve(place, name) for name in comparison.releases}
    window = comparison.first.window
    top = 1.5 * max(float(curve.truth.max()) for curve in curves.values()) or 1.0
    bottom = max(-top / 3, min(0.0, *(float(curve.answer.min()) for curve in curves.values())))
    figures = "".join(
        f"<figure><figcaption><b>{escape(name)}</b>{_off_scale(curve, top)}</figcaption>"
        + line_chart(
            [ChartLine(curve.answer, "released", (curve.low, curve.high)), ChartLine(curve.truth, "truth")],
            at=(np.arange(window.steps) + 0.5) / window.steps,
            marks=[(step / window.steps, name) for step, name in round_times(window)],
            span=(bottom, top),
            unit=_unit(comparison),
            description=f"{place.name}, {name}: {curve.answer.sum():,.0f} kWh released, {curve.truth.sum():,.0f} true, "
            f"the 95 % band is {(curve.high - curve.low).mean():,.0f} kWh wide on average",
        )
        + "</figure>"
        for name, curve in curves.items()
    )
    query = f"--x {place.x[0]}:{place.x[1]} --y {place.y[0]}:{place.y[1]}"
    return f'<h3>{place.name} <code>{query}</code></h3><div class="charts">{figures}</div>'


def _off_scale(curve: DemoCurve, top: float) -> str:
    """Return a note where a chart is empty because the release lies above it."""
    return f" above the scale, at about {np.median(curve.answer):,.0f}" if np.median(curve.answer) > top else ""


def _score_rows(name: str, scores: Mapping[str, Score]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{WORKLOADS_IN_WORDS[workload][0]}<small>{WORKLOADS_IN_WORDS[workload][1]}</small></th>'
        f"<td>{_percent(score.mre.percent)}<small>{score.mre.left_out} left out</small></td>"
        f"<td>{_percent(score.wape)}</td><td>{_percent(score.covered)}</td></tr>"
        for workload, score in scores.items()
    )
    return f'<tbody><tr><th scope="rowgroup" colspan="4">{escape(name)}</th></tr>{rows}</tbody>'


def _percent(value: float) -> str:
    return f"{value:,.1f} %" if value < 10 else f"{value:,.0f} %"  # noqa: PLR2004 -- digits that mean something


# The picture: maps of the truth and of the releases, and the town's curve below.

NIGHT, INK, QUIET, LINE = "#101116", "#f2f1ee", "#a9abb5", "#33353d"
RELEASED = "#56b4e9"
COLOUR_MAP = "inferno"
LEFT, RIGHT = 0.06, 0.93


def draw_hero(comparison: Comparison) -> Figure:
    """Draw maps of the window's totals, and below them the whole town's curve in the first release."""
    grid, window, epsilon = comparison.first.grid, comparison.first.window, comparison.first.label.privacy.epsilon
    totals = {name: cube.sum(0) for name, cube in comparison.cubes().items()}
    scale = ColourScale.of(totals["truth"])
    figure = Figure(figsize=(12, 8), dpi=150, facecolor=NIGHT)
    maps = figure.add_gridspec(1, len(totals), left=LEFT, right=RIGHT, top=0.83, bottom=0.4, wspace=0.06)
    curve = figure.add_gridspec(1, 1, left=LEFT, right=RIGHT, top=0.31, bottom=0.06)
    figure.text(LEFT, 0.93, "A town's electricity, every household behind a veil", color=INK, size=24, weight="bold")
    facts = f"invented town   ·   {grid.nx} by {grid.ny} cells, {window.steps} steps"
    figure.text(LEFT, 0.893, f"{facts}   ·   ε = {epsilon:g} for each household", color=QUIET, size=13)
    for column, (name, total) in enumerate(totals.items()):
        axes = figure.add_subplot(maps[0, column])
        _draw_map(axes, total, scale, grid)
        axes.set_title("truth (never published)" if column == 0 else name, color=INK, size=14, loc="left")
    _draw_colour_bar(figure, axes, scale)
    _draw_curve(figure.add_subplot(curve[0]), comparison)
    return figure


def _norm(scale: ColourScale) -> PowerNorm:
    return PowerNorm(0.5, vmin=0, vmax=scale.top, clip=True)


def _draw_map(axes: Axes, total: Floats, scale: ColourScale, grid: Grid) -> None:
    extent = (grid.x0, grid.x1, grid.y0, grid.y1)
    axes.imshow(total, origin="lower", cmap=COLOUR_MAP, norm=_norm(scale), extent=extent, interpolation="nearest")
    axes.set_anchor("W")
    axes.set_axis_off()


def _draw_colour_bar(figure: Figure, map_axes: Axes, scale: ColourScale) -> None:
    map_axes.apply_aspect()
    place = map_axes.get_position()
    axes = figure.add_axes((place.x1 + 0.012, place.y0, 0.01, place.height))
    bar = figure.colorbar(ScalarMappable(_norm(scale), COLOUR_MAP), cax=axes)
    bar.set_ticks([kwh for _, kwh in scale.marks()], labels=[short(kwh) for _, kwh in scale.marks()])
    axes.tick_params(colors=QUIET, length=0, labelsize=10)
    axes.set_title("kWh", color=QUIET, size=10, loc="left")
    axes.minorticks_off()
    axes.spines[:].set_visible(False)


def _draw_curve(axes: Axes, comparison: Comparison) -> None:
    window = comparison.first.window
    name = next(iter(comparison.releases))
    curve = comparison.curve(comparison.places()[0], name)
    middles = np.arange(window.steps) + 0.5
    axes.fill_between(middles, curve.low, curve.high, color=RELEASED, alpha=0.3, linewidth=0)
    axes.plot(middles, curve.answer, color=RELEASED, linewidth=2, label=f"{name}, with its 95 % interval")
    axes.plot(middles, curve.truth, color=INK, linewidth=1.5, linestyle=(0, (3, 1.5)), label="truth")
    axes.set_title(f"the whole town, {_unit(comparison)}", color=INK, size=14, loc="left")
    axes.legend(
        loc="lower right",
        bbox_to_anchor=(1, 1.0),
        ncols=2,
        frameon=False,
        labelcolor=INK,
        fontsize=12,
        borderaxespad=0,
    )
    axes.set_xlim(0, window.steps)
    axes.set_ylim(0, 1.2 * max(curve.truth.max(), curve.answer.max(), 1e-9))
    times = round_times(window)
    axes.set_xticks([step for step, _ in times], [name for _, name in times], ha="left")
    axes.yaxis.set_major_locator(MaxNLocator(4))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda kwh, _: short(kwh)))
    axes.set_facecolor(NIGHT)
    axes.tick_params(colors=QUIET, length=0, labelsize=11)
    axes.grid(axis="y", color=LINE)
    axes.spines[:].set_visible(False)
