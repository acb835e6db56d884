"""The demo's report: an invented truth beside what was released of it, as one self-contained page and one picture."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

import numpy as np

from gridveil.geography.grid import Grid
from gridveil.model.arrays import Floats
from gridveil.model.window import Window
from gridveil.release.format import wording
from gridveil.release.format.attack_rates import AttackStatement
from gridveil.release.format.attack_rates import in_words as attacks_in_words
from gridveil.release.format.label import BoundFacts, Label
from gridveil.release.query.open import Release
from gridveil.report.figures.axis import round_times, short
from gridveil.report.figures.chart import ChartLine, line_chart
from gridveil.report.figures.maps import ColourScale, bar_uri, map_uri
from gridveil.simulate.comparison import Comparison, DemoCurve, DemoPlace, Score, in_words
from gridveil.simulate.hero import draw_hero
from gridveil.simulate.workloads import QUERIES

WORKLOADS_IN_WORDS = {
    "random": ("any region, any time", "random shape and size"),
    "small": ("one cell, one step", "1x1x1"),
    "large": ("10 by 10 cells, 10 steps", "10x10x10"),
}


def write_report(
    path: Path, *, truth: Floats, releases: Mapping[str, Release], window: Window, grid: Grid, epsilon: float
) -> None:
    """Write the page to `path`, and `demo.png` beside it. The first release is the one that the picture shows."""
    comparison = Comparison(truth, releases, grid, window)
    cubes, peak = comparison.cubes(), comparison.peak()
    template = Template((files("gridveil.simulate") / "report.html").read_text("utf-8"))
    page = template.substitute(
        aspect=f"{grid.x1 - grid.x0:g} / {grid.y1 - grid.y0:g}",
        epsilon=f"{epsilon:g}",
        start=in_words(window.times()[0]),
        end=in_words(window.times()[-1] + window.step),
        total_maps=_maps(comparison, {name: cube.sum(2) for name, cube in cubes.items()}, "kWh per cell, all steps"),
        peak=comparison.when(peak),
        peak_maps=_maps(comparison, {name: cube[:, :, peak] for name, cube in cubes.items()}, comparison.unit),
        charts="\n".join(_charts(comparison, place) for place in comparison.places()),
        queries=QUERIES,
        scores="\n".join(_score_rows(name, comparison.scores(name)) for name in releases),
        promise=_promise(epsilon, [release.label for release in releases.values()]),
    )
    path.write_text(page, "utf-8")
    draw_hero(comparison, epsilon).savefig(path.with_name("demo.png"))


def _maps(comparison: Comparison, maps: Mapping[str, Floats], unit: str) -> str:
    """Draw maps side by side on the truth's scale, with the districts of the charts marked."""
    scale = ColourScale.of(maps["truth"])
    marks = "".join(_district(comparison.grid, place) for place in comparison.places() if place.mark)
    drawn = "".join(
        f"<figure><figcaption><b>{escape(name)}</b></figcaption>"
        f'<div class="map"><img src="{map_uri(kwh, scale)}" alt="{escape(_told(name, kwh, comparison))}">{marks}</div>'
        "</figure>"
        for name, kwh in maps.items()
    )
    ticks = "".join(
        f'<li style="left:{100 * at:g}%;transform:translateX(-{100 * at:g}%)">{short(kwh)}</li>'
        for at, kwh in scale.marks()
    )
    return (
        f'<div class="row">{drawn}</div>'
        f'<div class="scale"><img src="{bar_uri()}" alt="Pale is zero, the darkest colour {short(scale.top)} or more">'
        f"<ol>{ticks}</ol><p>{escape(unit)}</p></div>"
    )


def _told(name: str, kwh: Floats, comparison: Comparison) -> str:
    """Tell in words what a map shows."""
    busy = comparison.places()[1]
    share = kwh[slice(*busy.x), slice(*busy.y)].sum() / (kwh.sum() or 1)
    return f"Map of the {name}: {kwh.sum():,.0f} kWh in all, {100 * share:.0f} % of it in district {busy.mark}"


def _district(grid: Grid, place: DemoPlace) -> str:
    left, width = 100 * place.x[0] / grid.nx, 100 * (place.x[1] - place.x[0]) / grid.nx
    bottom, height = 100 * place.y[0] / grid.ny, 100 * (place.y[1] - place.y[0]) / grid.ny
    return f'<span style="left:{left:g}%;bottom:{bottom:g}%;width:{width:g}%;height:{height:g}%">{place.mark}</span>'


def _charts(comparison: Comparison, place: DemoPlace) -> str:
    """Draw a place's curve for every release, on one scale."""
    curves = {name: comparison.curve(place, name) for name in comparison.releases}
    steps = comparison.window.steps
    top = 1.5 * max(float(curve.truth.max()) for curve in curves.values()) or 1.0
    bottom = max(-top / 3, min(0.0, *(float(curve.answer.min()) for curve in curves.values())))
    figures = "".join(
        f"<figure><figcaption><b>{escape(name)}</b>{_off_scale(curve, top)}</figcaption>"
        + line_chart(
            [ChartLine(curve.answer, "released", (curve.low, curve.high)), ChartLine(curve.truth, "truth")],
            at=(np.arange(steps) + 0.5) / steps,
            marks=[(step / steps, name) for step, name in round_times(comparison.window)],
            span=(bottom, top),
            unit=comparison.unit,
            description=f"{place.name}, {name}: {curve.answer.sum():,.0f} kWh released, {curve.truth.sum():,.0f} true, "
            f"the 95 % band is {(curve.high - curve.low).mean():,.0f} kWh wide on average",
        )
        + "</figure>"
        for name, curve in curves.items()
    )
    query = f"--x {place.x[0]}:{place.x[1]} --y {place.y[0]}:{place.y[1]}"
    return f'<h3>{place.name} <code>{query}</code></h3><div class="row charts">{figures}</div>'


def _off_scale(curve: DemoCurve, top: float) -> str:
    """Say so where a chart is empty because the release lies above it."""
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


def _promise(epsilon: float, labels: list[Label]) -> str:
    """Say what the labels promise; that releases add up; and, where test noise was used, that nothing is promised."""
    privacy, count = labels[0].privacy, len(labels)
    sentences = [
        *([] if all(label.private for label in labels) else [wording.NOT_PRIVATE_WHY]),
        f"ε = {epsilon:g} for a release. {wording.promise(epsilon)}",
        *([f"All {count} releases of one town together would be ε = {count * epsilon:g}."] if count > 1 else []),
        f"Protected is {wording.UNITS[privacy.unit]}.",
        *attacks_in_words([AttackStatement(privacy.attack_rates, "one of these releases")]),
        *wording.high_epsilon(epsilon),
        *dict.fromkeys(sentence for label in labels for sentence in _bounds(label)),
    ]
    return "<ul>" + "".join(f"<li>{escape(sentence)}</li>" for sentence in sentences) + "</ul>"


def _bounds(label: Label) -> list[str]:
    """Say what a household counts with; of private bounds also what they cost, and how values were corrected."""
    name, sentences = label.mechanism.name, [_bound(bound) for bound in label.bounds]
    if label.private_bound_epsilon is not None:
        sentences.insert(0, f"{name}: bounds were {wording.chosen_privately(label.private_bound_epsilon)}.")
    if label.correction is not None:
        sentences.append(f"{name}: {wording.correction(label.correction)}")
    return sentences


def _bound(bound: BoundFacts) -> str:
    return (
        f"A household counts with at most {short(bound.step_kwh)} kWh in a step and {short(bound.window_kwh)} kWh "
        f"in the {bound.window} window of {bound.steps} steps, however much it used."
    )
