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

from gridveil.evaluate.paper import detail_figures, detail_findings
from gridveil.evaluate.paper.comparison import SETTING, comparison_findings
from gridveil.evaluate.paper.experiments import PAPER_EPSILON, PAPER_PLACEMENTS, Size
from gridveil.evaluate.paper.figures import draw_curves, draw_panels
from gridveil.evaluate.paper.findings import Finding
from gridveil.evaluate.paper.held import Held
from gridveil.evaluate.paper.leak import leak_findings
from gridveil.evaluate.paper.london import told_bound
from gridveil.evaluate.paper.numbers import Lines, average, averaged_rows, select, write_lines, write_rows
from gridveil.evaluate.paper.page import page
from gridveil.evaluate.paper.run import Results
from gridveil.evaluate.paper.towns import LONDON, STANDINS, PaperTowns

COLOURS = 128
"""Of a PNG: enough for lines and letters, a quarter of the size."""
PAPERS = "paper's clip as bound, clipped truth"


def write_report(results: Results, size: Size, towns: PaperTowns, out: Path) -> None:
    """Write `reproduction.md`, and beside it the folder `reproduction` with figures (PNG, SVG) and numbers."""
    folder = out / "reproduction"
    folder.mkdir(parents=True, exist_ok=True)
    held = hold(results, size)
    for name in ("london", "panels", "buckets", "leak"):
        write_lines(getattr(held, name), folder / f"{name}.csv")
    write_rows(held.pattern, folder / "pattern.csv")
    write_rows(averaged_rows(results.records.get("runtime", []), ["mechanism", "epsilon"]), folder / "runtime.csv")
    found = findings(held)
    told = {section: [asdict(each) for each in some] for section, some in found.items()}
    (folder / "findings.json").write_text(json.dumps(told, indent=1) + "\n", "utf-8")
    drawn = [name for name, figure in figures(held) if _save(figure, folder / name)]
    (out / "reproduction.md").write_text(page(held, found, drawn, size, towns), "utf-8")


def hold(results: Results, size: Size) -> Held:
    """Average all records. Where few methods happen to have the common bound as their own, "own" would mislead."""
    records = results.records
    lines = {name: average(records.get(name, [])) for name in ("london", "panels", "buckets", "leak")}
    if not size.own_bounds:
        lines = {name: select(held, bound="common") for name, held in lines.items()}
    keys = ["dataset", "placement", "mechanism", "depth", "per_point"]
    return Held(
        done=results.done,
        total=results.total,
        **lines,
        pattern=averaged_rows(records.get("pattern", []), keys),
        runtime=records.get("runtime", []),
    )


def findings(held: Held) -> dict[str, list[Finding]]:
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


def figures(held: Held) -> Iterator[tuple[str, Figure | None]]:
    """Yield all figures by name; none where there is nothing to draw yet."""
    panels = select(held.panels, **SETTING)
    yield "panels", draw_panels(panels, PAPER_EPSILON, STANDINS, PAPERS) if panels else None
    for placement in PAPER_PLACEMENTS:
        rows = [(name, placement) for name in STANDINS if select(panels, dataset=name, placement=placement)]
        title = f"Stand-ins, {placement} placement: error against epsilon"
        yield f"curves-{placement}", draw_curves(panels, rows, title, PAPERS) if rows else None
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
    rows = [(LONDON, placement) for placement in dict.fromkeys(case.placement for case in here)]
    words = "each method under its own bound" if bound == "own" else "common bound"
    return draw_curves(here, rows, "London, measured households: error against epsilon", f"{words}, raw truth")


def _save(figure: Figure | None, path: Path) -> bool:
    """Write a figure as PNG and SVG, the same for the same numbers."""
    if figure is None:
        return False
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png")
    # By octree: the other ways give up the colours of thin lines, which are few pixels and all that matters.
    few = Image.open(drawn).convert("RGB").quantize(COLOURS, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
    few.save(path.with_suffix(".png"), optimize=True)
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "gridveil"}):
        figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
    return True
