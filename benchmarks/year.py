"""A year of hours on 256 x 256 cells from end to end: measured with real noise, inferred, written, asked and served.

    python benchmarks/year.py FOLDER MECHANISM [--bounds given|private] [--side 256] [--steps 8760]
    python benchmarks/year.py FOLDER MECHANISM --tables LAKE

The town is invented slab by slab, as a kernel asks for it, so that memory is that of a publication. With --tables it is
read from a lake of 574 million readings (made if it is not there), by `gridveil publish`, under private bounds. Each
stage runs in a process of its own. Prints JSON; that of a whole year is kept in year.json. It takes up to half an hour
and 10 GB of disk, so `make benchmarks` leaves it out.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from big import milliseconds, pairs
from numpy.typing import NDArray
from stamp import stamp

from gridveil.geography.area import Area
from gridveil.geography.grid import Grid
from gridveil.mechanisms.base import make
from gridveil.model.window import Window
from gridveil.publishing.run import release_with_private_bound
from gridveil.release.format.netcdf import max_bytes, write_release
from gridveil.release.query.open import open_release
from gridveil.release.verify.release import verify
from gridveil.trusted.budget import Bound, PureDP
from gridveil.trusted.kernel.kernel import Kernel
from serve import ask as ask_server
from serve import memory, question

HERE = Path(__file__).parent
SIDE, STEPS, BEFORE = 256, 8760, 100
FIRST = "2013-04-01T00:00"  # of the generator's readings
EPSILON, STEP_BOUND = 3, 20_000
HOUSEHOLDS, MEAN, SPREAD = 20.0, 400.0, 0.6  # a cell, Wh an hour, of the logarithm of households' totals
DISTRICTS = 4  # each way, each with its own clock
STAGES = ("make", "ask", "verify", "serve")
TARGETS = {
    "make seconds": 1800.0,
    "make peak_mb": 8000.0,
    "open_and_first_answer_seconds": 1.0,
    "box_ms": 50.0,
    "cells_ms": 200.0,
    "ask peak_mb": 1500.0,
    "verify peak_mb": 1000.0,
    "serve memory_mb": 1500.0,
}


class Town:
    """A source that invents its slabs: cells differ in households, districts in the hours they keep."""

    def __init__(self, grid: Grid, window: Window) -> None:
        self.grid, self.window = grid, window
        rng = np.random.default_rng(0)
        self.homes = rng.poisson(HOUSEHOLDS * rng.gamma(1.0, 1.0, (grid.nx, grid.ny)))
        hours = np.arange(window.steps)
        clocks = rng.uniform(0, 0.3, (DISTRICTS**2, 1))
        day = 1 + 0.5 * np.sin(2 * np.pi * (hours / 24 + clocks)) + 0.2 * np.cos(2 * np.pi * hours / STEPS)
        self.use = MEAN * day / day.mean(axis=1, keepdims=True)
        across, up = (np.arange(size) * DISTRICTS // size for size in (grid.nx, grid.ny))
        self.district = np.add.outer(across * DISTRICTS, up)
        self.totals = np.exp(SPREAD * rng.standard_normal(100_000) - SPREAD**2 / 2)  # in units of the mean

    def bounded_cube(self, window: Window, bound: Bound, rows: slice | None = None) -> NDArray[np.int64]:
        """Return some rows of the cube; all households keep the part that a bound leaves of the average one."""
        rows = rows or slice(0, self.grid.nx)
        first = (window.start - self.window.start) // self.window.step
        left = np.minimum(self.totals, bound.window / (MEAN * window.steps)).mean()
        use = (left * self.use[:, first : first + window.steps]).astype(np.int64)
        slab: NDArray[np.int64] = use[self.district[rows]]
        slab *= self.homes[rows][:, :, None]
        return slab

    def count_totals(self, window: Window, step_bound: int, edges: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the histogram of households' totals."""
        totals = np.minimum(MEAN * self.totals, step_bound) * window.steps
        shares = np.bincount(np.searchsorted(edges, totals, side="right"), minlength=len(edges) + 1)[1:] / len(totals)
        return np.asarray(np.rint(self.homes.sum() * shares), dtype=np.int64)


def make_release(folder: Path, mechanism: str, bounds: str, side: int, steps: int) -> dict[str, Any]:
    """Measure, infer and write; return the seconds of each stage that was told of, and the peak of memory so far."""
    grid = Grid(-0.55, 51.2, 0.35, 51.75, nx=side, ny=side, crs="EPSG:4326")
    window = Window(datetime(2013, 1, 1, tzinfo=UTC), timedelta(hours=1), steps)
    whole = Window(window.before(BEFORE).start, window.step, BEFORE + steps)
    given = Bound(STEP_BOUND, round(3 * MEAN * steps) if bounds == "given" else STEP_BOUND * steps)
    kernel = Kernel(Town(grid, whole), window, budget=PureDP(EPSILON), bound=given)
    began, figures = time.perf_counter(), {}

    def lap(name: str) -> None:
        nonlocal began
        now = time.perf_counter()
        figures[f"{name} seconds"] = now - began
        figures[f"{name} peak_mb"] = peak_mb()
        began = now

    chosen = make(mechanism, {})
    private = bounds == "private"
    estimate = release_with_private_bound(kernel, chosen) if private else chosen.release(kernel.session())
    lap("measure and infer")
    write_release(folder, grid=grid, window=window, estimate=estimate, label=stamp("A year", grid, window))
    lap("write")
    figures["seconds"] = figures["measure and infer seconds"] + figures["write seconds"]
    return {**figures, "gigabytes": size(folder) / 1e9, "foreseen_gigabytes": max_bytes(grid, window) / 1e9}


def publish(folder: Path, mechanism: str, lake: Path) -> dict[str, Any]:
    """Publish a year of 65,536 households from tables, as a person would."""
    generator = [sys.executable, str(HERE / "scale" / "generate.py"), str(lake), str(SIDE**2 * STEPS), "year"]
    subprocess.run(generator, check=True, stdout=sys.stderr)
    command = ["publish", f"{lake}/day-*.parquet", "--households", f"{lake}/households.parquet", "--out", str(folder)]
    command += ["--grid", f"{SIDE}x{SIDE}", "--extent", f"0,0,{SIDE},{SIDE}", "--start", FIRST]
    command += ["--steps", str(STEPS), "--epsilon", str(EPSILON), "--mechanism", mechanism, "--no-ledger"]
    command += ["--memory", "4GB", "--scratch", str(lake / "scratch"), "--title", "A year"]
    began = time.perf_counter()
    code = "from gridveil.cli.main import main; main()"
    subprocess.run([sys.executable, "-c", code, *command], check=True, stdout=sys.stderr)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)
    return {"seconds": seconds, "publish peak_mb": peak, "gigabytes": size(folder) / 1e9}


def ask(folder: Path) -> dict[str, Any]:
    """Open it and ask all sorts of questions."""
    began = time.perf_counter()
    release = open_release(folder)
    release.query(x=(0, 10), y=(0, 10), time=(0, 24))
    figures: dict[str, Any] = {"open_and_first_answer_seconds": time.perf_counter() - began}
    grid, steps, rng = release.grid, release.window.steps, np.random.default_rng(1)
    boxes = zip(*(pairs(rng, size, 203) for size in (grid.nx, grid.ny, steps)), strict=True)
    figures["box_ms"] = milliseconds(release.query, boxes)
    figures["cells_ms"] = milliseconds(
        release.cells, [(step, step + 1) for step in rng.integers(0, steps, 23).tolist()]
    )
    figures["period_of_cells_ms"] = milliseconds(release.cells, pairs(rng, steps, 23))
    area = Area.box(grid, (grid.nx // 4, grid.nx // 2), (0, grid.ny // 2))
    for name, questions in (("whole_map", Area.box(grid)), ("quarter", area)):
        began, days = time.perf_counter(), np.arange(0, steps - 23, 24)
        release.over(questions, np.column_stack([days, days + 24]))
        figures[f"{name}_by_day_seconds"] = time.perf_counter() - began
    began = time.perf_counter()
    release.at(area, np.equal.outer(np.arange(24), np.arange(steps) % 24) / (steps // 24))
    figures["typical_day_seconds"] = time.perf_counter() - began
    return figures


def check(folder: Path) -> dict[str, Any]:
    """Verify it; a stamp is no label of a publication, so only what is said of its files counts."""
    began = time.perf_counter()
    result = verify(folder)
    told = {check.what: f"{check.verdict}: {check.finding}" for check in result if check.what.endswith((".nc", "SUMS"))}
    return {"seconds": time.perf_counter() - began, **told}


def serve(folder: Path) -> dict[str, Any]:
    """Serve it, and ask over HTTP."""
    began = time.perf_counter()
    command = [sys.executable, "-c", "from gridveil.cli.main import main; main()", "serve", str(folder), "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        port = int(str(server.stdout and server.stdout.readline()).split("http://127.0.0.1:")[1].split()[0])
        figures: dict[str, Any] = {"start_seconds": time.perf_counter() - began}
        facts = asyncio.run(ask_server(port, ["/api/releases"]))[0][2]["releases"][0]
        at, rng, steps = f"/api/releases/{facts['id']}", np.random.default_rng(2), int(facts["steps"])
        kinds = {
            "facts": [at],
            "query": [question(rng, facts) for _ in range(200)],
            "slice": [f"{at}/slice?time={step}:{step + 24}" for step in rng.integers(0, steps - 24, 20).tolist()],
            "series": [f"{at}/series?x=0:{n}&y=0:{n}" for n in (1, 9, 40)],
            "profile": [f"{at}/profile?x=0:9&y=0:9"],
            "highest": [f"{at}/highest?time=0:{steps}"],
        }
        for kind, paths in kinds.items():
            answers = asyncio.run(ask_server(port, paths))
            figures[kind] = {
                "median_ms": 1000 * float(np.median([answer[0] for answer in answers])),
                "most_ms": 1000 * max(answer[0] for answer in answers),
                "refused": sum(answer[1] != 200 for answer in answers),
            }
        return {**figures, "memory_mb": memory(server.pid)}
    finally:
        server.terminate()
        server.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("mechanism", choices=["even", "identity", "mosaic", "stpt"])
    parser.add_argument("--bounds", choices=["given", "private"], default="private")
    parser.add_argument("--side", type=int, default=SIDE)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--tables", type=Path, help="a folder for readings, from which the release is made")
    parser.add_argument("--stage", choices=STAGES, help="only this one, in this process")
    asked = parser.parse_args()
    if asked.stage:
        made = asked.folder, asked.mechanism
        stages = {
            "make": lambda: (
                publish(*made, asked.tables)
                if asked.tables
                else make_release(*made, asked.bounds, asked.side, asked.steps)
            ),
            "ask": lambda: ask(asked.folder),
            "verify": lambda: check(asked.folder),
            "serve": lambda: serve(asked.folder),
        }
        print(json.dumps({**stages[asked.stage](), "peak_mb": peak_mb()}))
        return
    figures: dict[str, Any] = {}
    for stage in STAGES[1:] if asked.folder.exists() else STAGES:
        command = [sys.executable, __file__, *sys.argv[1:], "--stage", stage]
        figures[stage] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    print(json.dumps({"targets": TARGETS, **figures}, indent=2))
    if (asked.side, asked.steps) == (SIDE, STEPS) and "make" in figures:
        kept = HERE / "year.json"
        known = json.loads(kept.read_text()) if kept.exists() else {"targets": TARGETS}
        known[f"{asked.mechanism}, " + ("from tables" if asked.tables else f"{asked.bounds} bounds")] = figures
        kept.write_text(json.dumps(known, indent=2) + "\n")


def size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.iterdir())


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


if __name__ == "__main__":
    main()
