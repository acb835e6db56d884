"""docs/scaling.md's tables and picture, from the kept figures: python benchmarks/scale/report.py."""

from __future__ import annotations

import itertools
import json
import re
import statistics
from pathlib import Path
from typing import Any

from keep import read
from matplotlib.figure import Figure

from gridveil.report.figures.chart import COLOURS, INK, QUIET

DOCS, YEAR = Path(__file__).parents[2] / "docs", Path(__file__).parents[1] / "year.json"
ENGINES = {"duckdb": "DuckDB", "spark": "Spark", "postgres": "PostgreSQL"}
Figures = dict[str, Any]
COUNTRY = 14.4e9
"""Readings of 10 million meters in a month of half hours."""
CORES, CORE_HOUR = 16, 0.05
"""A machine that one rents, and US dollars for an hour of one of its cores, with the memory that comes with it."""


def number(value: float | None, digits: int = 1) -> str:
    """Return a number for a table; a dash where there is none."""
    return "-" if value is None else f"{value:,.{digits}f}"


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def of_readings(results: dict[str, Figures]) -> list[tuple[str, str | None, Figures]]:
    """Return engine, memory limit and figures of every run: those without a limit first, and small ones."""
    split = [([*case.split(), ""][:3], figures) for case, figures in results.get("readings", {}).items()]
    known = [(engine, memory or None, figures) for (engine, _, memory), figures in split]
    return sorted(known, key=lambda run: (list(ENGINES).index(run[0]), run[1] or "", run[2]["readings"]))


def named(engine: str, memory: str | None) -> str:
    """Return what a table calls an engine and how it was run."""
    return ENGINES[engine] + (f", at most {memory}" if memory else "")


def core_microseconds(engine: str, run: Figures) -> float:
    """Return what a reading costs, on as many cores as the engine works on: PostgreSQL on one."""
    cores = 1 if engine == "postgres" else run["cores"]
    return float(1e6 * cores * (run["ingest_seconds"] + run["cube_seconds"]) / run["readings"])


def readings_table(results: dict[str, Figures]) -> str:
    """Return what a reading costs on each engine."""
    rows = [
        [
            named(engine, memory),
            f"{run['readings']:,}",
            number(run.get("group_by_seconds")),
            number(run["ingest_seconds"]),
            number(run.get("ratio"), 2),
            number(run["cube_seconds"]),
            number(core_microseconds(engine, run), 2),
            number(run["peak_mb"], 0),
        ]
        for engine, memory, run in of_readings(results)
    ]
    head = [
        "engine",
        "readings",
        "bare GROUP BY, s",
        "ingest, s",
        "ratio",
        "a cube, s",
        "core-us a reading",
        "peak, MB",
    ]
    return table(head, rows)


def of_cells(results: dict[str, Figures]) -> list[tuple[str, Figures]]:
    """Return mechanism and figures of every run, small ones first; whole years are kept elsewhere."""
    known = [(case.split()[0], run) for case, run in results.get("cells", {}).items()]
    for case, run in json.loads(YEAR.read_text()).items():
        mechanism, _, how = case.partition(", ")
        if how == "private bounds":
            known.append((mechanism, _as_cells(run)))
    return sorted(known, key=lambda run: (run[0], run[1]["cells"]))


def _as_cells(year: Figures) -> Figures:
    made, asked = year["make"], year["ask"]
    return {
        "cells": 256 * 256 * 8760,
        "release_seconds": made["measure and infer seconds"],
        "write_seconds": made["write seconds"],
        "open_seconds": asked["open_and_first_answer_seconds"],
        "query_ms": asked["box_ms"]["median"],
        "peak_mb": made["peak_mb"],
        "cores": 2,
    }


def cells_table(results: dict[str, Figures]) -> str:
    """Return what a cell and step costs with each mechanism."""
    rows = [
        [
            mechanism,
            f"{run['cells']:,}",
            *(number(run[f"{stage}_seconds"]) for stage in ("release", "write")),
            number(1e6 * run["cores"] * (run["release_seconds"] + run["write_seconds"]) / run["cells"], 2),
            number(run["peak_mb"], 0),
            number(run["open_seconds"]),
            number(run["query_ms"]),
        ]
        for mechanism, run in of_cells(results)
    ]
    head = ["mechanism", "cells x steps", "measure and infer, s", "write, s", "core-us a value", "peak, MB"]
    return table([*head, "open, s", "a query, ms"], rows)


def growth_table(results: dict[str, Figures]) -> str:
    """Return how the time for a reading changes from one size to the next ten times as large, run alike."""
    rows = []
    runs = [(named(engine, memory), run) for engine, memory, run in of_readings(results) if memory is None]
    for (name, small), (other, large) in itertools.pairwise(runs):
        if name == other:
            seconds = [run["ingest_seconds"] + run["cube_seconds"] for run in (small, large)]
            times = large["readings"] / small["readings"]
            more = f"{seconds[1] / seconds[0] / times - 1:+.0%}"
            rows.append([name, f"{small['readings']:.0e} to {large['readings']:.0e}", more, ""])
    for case, run in results.get("growth", {}).items():
        engine, sizes = case.split()[0], " ".join(case.split()[1:-1])
        each = " ".join(f"{more:+.0%}" for more in sorted(run["each"]))
        rows.append([named(engine, case.split()[-1]), sizes, f"{run['more']:+.0%}", each])
    return table(["engine", "readings", "time a reading", "each"], rows)


def interrupted_table(results: dict[str, Figures]) -> str:
    """Return how long a killed run takes when it goes on, beside whole ones."""
    rows = [
        [
            case.split()[0],
            number(statistics.median(run["whole_seconds"])),
            number(statistics.median(run["killed_after_seconds"])),
            number(statistics.median(run["again_seconds"])),
            f"{run['share']:.0%}",
            " ".join(f"{share:.0%}" for share in sorted(run["shares"])),
        ]
        for case, run in results.get("interrupted", {}).items()
    ]
    return table(["readings", "a whole run, s", "killed after, s", "started again, s", "share", "each"], rows)


def country_table(results: dict[str, Figures]) -> str:
    """Return what a country's month takes if a reading costs as much as in the largest run of each engine."""
    rows = []
    for engine, name in ENGINES.items():
        run = [run for of, _, run in of_readings(results) if of == engine][-1]
        hours = core_microseconds(engine, run) / 1e6 * COUNTRY / 3600
        on_many = "-" if engine == "postgres" else f"{60 * hours / CORES:.0f} min"
        rows.append(
            [
                name,
                f"{run['readings']:.0e}",
                number(core_microseconds(engine, run), 2),
                number(hours),
                on_many,
                number(hours * CORE_HOUR, 2),
            ]
        )
    head = ["engine", "measured at", "core-us a reading", "core-hours a month", f"on {CORES} cores"]
    return table([*head, f"USD at {CORE_HOUR} a core-hour"], rows)


def draw(results: dict[str, Figures], path: Path) -> None:
    """Draw seconds against readings and against cells, both on logarithmic axes."""
    figure = Figure(figsize=(9, 4.2), dpi=150, facecolor="white")
    left, right = figure.add_axes((0.08, 0.14, 0.4, 0.68)), figure.add_axes((0.57, 0.14, 0.4, 0.68))
    measured = [(named(engine, memory), run) for engine, memory, run in of_readings(results)]
    for name, colour in zip(dict.fromkeys(name for name, _ in measured), COLOURS, strict=False):
        runs = [run for of, run in measured if of == name]
        seconds = [run["ingest_seconds"] + run["cube_seconds"] for run in runs]
        left.plot([run["readings"] for run in runs], seconds, "o-", color=colour, label=name, markersize=4)
    cells = of_cells(results)
    for mechanism, colour in zip(sorted({mechanism for mechanism, _ in cells}), COLOURS, strict=False):
        runs = [run for of, run in cells if of == mechanism]
        seconds = [run["release_seconds"] + run["write_seconds"] for run in runs]
        right.plot([run["cells"] for run in runs], seconds, "o-", color=colour, label=mechanism, markersize=4)
    for axes, title, what in (
        (left, "From tables to a cube", "readings"),
        (right, "From a cube to a release", "cells x steps"),
    ):
        axes.set(xscale="log", yscale="log")
        axes.set_title(title, loc="left", color=INK, size=11)
        axes.set_xlabel(what, color=QUIET, size=9)
        axes.set_ylabel("seconds", color=QUIET, size=9)
        axes.grid(visible=True, color="#e6e6e6", linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=8, labelcolor=QUIET)
    figure.text(0.02, 0.93, "What publishing takes, measured on 2 cores", color=INK, size=13, weight="bold")
    figure.savefig(path)


def tables(results: dict[str, Figures]) -> dict[str, str]:
    """Return every table of the page, by its name there."""
    return {
        "readings": readings_table(results),
        "growth": growth_table(results),
        "interrupted": interrupted_table(results),
        "cells": cells_table(results),
        "country": country_table(results),
    }


def main() -> None:
    results, page = read(), DOCS / "scaling.md"
    text = page.read_text()
    for name, made in tables(results).items():
        text = re.sub(f"(<!-- {name} -->\n).*?(<!-- end -->)", rf"\1\n{made}\n\n\2", text, flags=re.DOTALL)
    page.write_text(text)
    draw(results, DOCS / "images" / "scaling.png")


if __name__ == "__main__":
    main()
