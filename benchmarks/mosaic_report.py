"""Make docs/mosaic-results.md and its figure from what mosaic.py, coverage.py and districts.py have written.

python benchmarks/mosaic_report.py FOLDER

FOLDER has report*.jsonl, tune*.jsonl, authors-report.jsonl, authors-tune.jsonl, coverage*.jsonl, districts.json
and populations.json.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from coverage import table as coverage_table
from matplotlib.figure import Figure
from mosaic_tables import (
    MOSAIC,
    OUTER,
    STAIRCASE,
    TARGETS,
    Errors,
    Key,
    authors_table,
    districts_table,
    epsilons_of,
    lost_table,
    mean,
    populations_table,
    ratio,
    ratio_table,
    read_errors,
    read_records,
    town_table,
    towns_of,
)

DOCS = Path(__file__).parent.parent / "docs"
LOOKS = {
    ("even", "common"): ("#999999", ":", "even"),
    OUTER: ("#1a1a1a", "-", "outer, 150 kWh"),
    ("outer", "auto"): ("#1a1a1a", "--", "outer, private bound"),
    ("stpt", "common"): ("#0072b2", "-", "stpt, 150 kWh"),
    ("stpt", "auto"): ("#0072b2", "--", "stpt, private bound"),
    MOSAIC: ("#d55e00", "-", "mosaic"),
    STAIRCASE: ("#d55e00", "--", "mosaic, staircase"),
}
MEANS = "**mean of cases**"
TEMPLATE = Path(__file__).with_name("mosaic_results.md")


def summary(errors: Errors) -> Iterator[str]:
    """Yield the main ratios in words."""
    yield (
        "| mean error of `mosaic` over that of | queries | "
        + " | ".join(f"epsilon {epsilon:g}" for epsilon in epsilons_of(errors))
        + " |"
    )
    yield "|---" * (2 + len(epsilons_of(errors))) + "|"
    asked = {
        "`outer`, 150 kWh (Laplace both)": (MOSAIC, OUTER),
        "`outer`, 150 kWh (mosaic with staircase)": (STAIRCASE, OUTER),
        "`outer`, private bound (Laplace both): equal bounds, equal noise": (MOSAIC, ("outer", "auto")),
        "`stpt`, private bound": (MOSAIC, ("stpt", "auto")),
    }
    for words, (ours, theirs) in asked.items():
        for workload in TARGETS:
            values = [ratio(errors, ours, epsilon, workload, theirs) for epsilon in epsilons_of(errors)]
            cells = ["-" if math.isnan(value) else f"{value:.2f}" for value in values]
            yield f"| {words} | {'random' if workload == 'random' else '10x10x10'} | " + " | ".join(cells) + " |"


def draw(errors: Errors, path: Path) -> None:
    """Draw the error against epsilon, one panel a town."""
    towns = towns_of(errors)
    figure = Figure(figsize=(13, 6.2), dpi=110, facecolor="white", layout="constrained")
    axes = figure.subplots(2, -(-len(towns) // 2), sharex=True, sharey=True).ravel()
    for axis, town in zip(axes, towns, strict=False):
        for method, (colour, line, name) in LOOKS.items():
            found = [(epsilon, mean(errors, Key(town, epsilon, *method, "random"))) for epsilon in epsilons_of(errors)]
            known = [pair for pair in found if not math.isnan(pair[1])]
            if known:
                axis.plot(*zip(*known, strict=True), line, color=colour, marker="o", markersize=3.5, label=name)
        number, placement = town.split()
        axis.set(xscale="log", yscale="log", title=f"{number} households, {placement}")
        axis.set_xticks(epsilons_of(errors), [f"{epsilon:g}" for epsilon in epsilons_of(errors)])
        axis.set_yticks([1, 2, 5, 10, 20, 50, 100, 200], ["1", "2", "5", "10", "20", "50", "100", "200"])
        axis.minorticks_off()
        axis.grid(color="#dddddd", linewidth=0.6)
    figure.supxlabel("epsilon")
    figure.supylabel("mean relative error of random range queries, %")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(LOOKS), frameon=False)
    figure.savefig(path)


def table(folder: Path, name: str, half: str) -> str:
    """Return a table that the template asks for."""
    if name == "districts":
        return "\n".join(districts_table(folder / "districts.json"))
    if name == "populations":
        return "\n".join(populations_table(folder / "populations.json"))
    if name == "coverage":
        records = [record for path in sorted(folder.glob("coverage*.jsonl")) for record in read_records(path)]
        lines = coverage_table(records).split("\n")
        head, means = lines[:2], [line for line in lines if MEANS in line]
        return "\n".join([*head, *means, "", "<details><summary>Town by town</summary>", "", *lines, "", "</details>"])
    if name == "authors":
        return "\n".join(authors_table(read_errors(folder, f"authors-{half}*.jsonl", "clipped")))
    kinds = {"summary": summary, "ratios": ratio_table, "towns": town_table, "lost": lost_table}
    return "\n".join(kinds[name](read_errors(folder, f"{half}*.jsonl")))


def main() -> None:
    """Write the page and the figure."""
    folder = Path(sys.argv[1])
    draw(read_errors(folder, "report*.jsonl"), DOCS / "images" / "mosaic.png")
    page = re.sub(
        r"^TABLE (\w+) ?(\w*)$",
        lambda asked: table(folder, asked[1], asked[2]),
        TEMPLATE.read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
    (DOCS / "mosaic-results.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
