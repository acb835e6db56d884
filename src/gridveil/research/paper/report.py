"""Writes what came of the paper's evaluation: numbers, figures, and the page on them."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from PIL import Image

from gridveil.research.paper import detail_figures, detail_findings
from gridveil.research.paper.comparison import SETTING, comparison_findings
from gridveil.research.paper.experiments import PAPER_EPSILON, PAPER_PLACEMENTS, ExperimentSize
from gridveil.research.paper.figures import draw_curves, draw_panels
from gridveil.research.paper.findings import PaperFinding
from gridveil.research.paper.held import PaperResults
from gridveil.research.paper.leak import leak_findings
from gridveil.research.paper.london import bound_in_words, told_bound
from gridveil.research.paper.numbers import Lines, average, averaged_rows, epsilons_of, select, write_lines, write_rows
from gridveil.research.paper.page import page
from gridveil.research.paper.run import Results
from gridveil.research.paper.towns import STANDINS, PaperTowns

COLOURS = 128
"""Of a PNG: enough for lines and letters, a quarter of the size."""
PAPERS = "paper's clip as bound, clipped truth"


def write_report(results: Results, size: ExperimentSize, towns: PaperTowns, out: Path) -> None:
    """Write `reproduction.md`, and beside it the folder `reproduction` with figures (PNG, SVG) and numbers."""
    folder = out / "reproduction"
    folder.mkdir(parents=True, exist_ok=True)
    held = hold(results, size)
    written = _tables(held, folder)
    found = findings(held)
    told = {section: [asdict(each) for each in some] for section, some in found.items()}
    (folder / "findings.json").write_text(json.dumps(told, indent=1) + "\n", "utf-8")
    drawn = [name for name, figure in figures(held) if _save(figure, folder / name)]
    (out / "reproduction.md").write_text(page(held, found, drawn, written, size, towns), "utf-8")


def _tables(held: PaperResults, folder: Path) -> list[str]:
    """Write numbers as CSV and return the names of the files; none is there of what was not run."""
    times = averaged_rows(held.runtime, ["mechanism", "epsilon"])
    lines = {name: getattr(held, name) for name in ("london", "panels", "buckets", "leak")}
    rows = {"pattern": held.pattern, "runtime": times}
    for name in (*lines, *rows):
        (folder / f"{name}.csv").unlink(missing_ok=True)
    for name, some in lines.items():
        if some:
            write_lines(some, folder / f"{name}.csv")
    for name, records in rows.items():
        if records:
            write_rows(records, folder / f"{name}.csv")
    return [f"{name}.csv" for name, some in (lines | rows).items() if some]


def hold(results: Results, size: ExperimentSize) -> PaperResults:
    """Average all records. Where few methods happen to have the common bound as their own, "own" would mislead."""
    records = results.records
    lines = {name: average(records.get(name, [])) for name in ("london", "panels", "buckets", "leak")}
    if not size.own_bounds:
        lines = {name: select(held, bound="common") for name, held in lines.items()}
    keys = ["dataset", "placement", "mechanism", "depth", "per_point"]
    return PaperResults(
        done=results.done,
        total=results.total,
        **lines,
        pattern=averaged_rows(records.get("pattern", []), keys),
        runtime=records.get("runtime", []),
    )


def findings(held: PaperResults) -> dict[str, list[PaperFinding]]:
    """Return the paper's sentences and ours, by section."""
    return {
        "comparison": list(comparison_findings(held.panels)),
        "pattern": list(detail_findings.pattern_findings(held.pattern)),
        "buckets": list(detail_findings.bucket_findings(held.buckets)),
        "runtime": list(detail_findings.runtime_findings(held.runtime)),
        "leak": [
            finding
            for epsilon in sorted({case.epsilon for case in held.leak}, reverse=True)
            for finding in leak_findings(held.leak, epsilon)
        ],
    }


def figures(held: PaperResults) -> Iterator[tuple[str, Figure | None]]:
    """Yield all figures by name; none where there is nothing to draw yet."""
    panels = select(held.panels, **SETTING)
    papers = select(panels, epsilon=PAPER_EPSILON)
    yield "panels", draw_panels(papers, PAPER_EPSILON, STANDINS, PAPERS) if papers else None
    for placement in PAPER_PLACEMENTS:
        here = select(panels, placement=placement)
        rows, title = _curves(here), f"Stand-ins, {placement} placement: error against epsilon"
        yield f"curves-{placement}", draw_curves(here, rows, title, PAPERS) if rows else None
    yield "london", _draw_london(held.london)
    yield "pattern-budget", detail_figures.draw_budget(held.pattern)
    yield "buckets", detail_figures.draw_buckets(held.buckets)
    yield "runtime", detail_figures.draw_runtime(held.runtime)
    yield "pattern-depth", detail_figures.draw_depth(held.pattern)
    yield "leak", detail_figures.draw_leak(held.leak, PAPER_EPSILON)


def _draw_london(lines: Lines) -> Figure | None:
    if not lines:
        return None
    bound = told_bound(lines)
    here = select(lines, bound=bound, truth="raw")
    rows = _curves(here)
    title, words = "London, measured households: error against epsilon", f"{bound_in_words(bound)}, raw truth"
    return draw_curves(here, rows, title, words) if rows else None


def _curves(lines: Lines) -> list[tuple[str, str]]:
    """Return the data sets and placements with a curve: those with two epsilons at least."""
    pairs = dict.fromkeys((case.dataset, case.placement) for case in lines)
    return [
        (dataset, placement)
        for dataset, placement in pairs
        if len(epsilons_of(select(lines, dataset=dataset, placement=placement))) > 1
    ]


def _save(figure: Figure | None, path: Path) -> bool:
    """Write a figure as PNG and SVG, the same for the same numbers."""
    if figure is None:
        for ending in (".png", ".svg"):
            path.with_suffix(ending).unlink(missing_ok=True)  # of an earlier report
        return False
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png")
    # By octree: the other ways give up the colours of thin lines, which are few pixels and all that matters.
    few = Image.open(drawn).convert("RGB").quantize(COLOURS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    few.save(path.with_suffix(".png"), optimize=True)
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "gridveil"}):
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
    return True
