"""A year of hours on 256 x 256 cells, served from disk: made by the writer, slab by slab, and then asked.

python benchmarks/big.py FOLDER      makes the release at FOLDER if it is not there, asks it, and prints JSON

It takes minutes and 9 GB of disk, so `make benchmarks` leaves it out. Figures are in big.json.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from stamp import stamp

from gridveil.geography.area import Area
from gridveil.geography.grid import Grid
from gridveil.model.arrays import Floats, Product
from gridveil.model.files import new_folder
from gridveil.model.window import Window
from gridveil.release.format.documents import readme
from gridveil.release.format.files import LABEL, README, VALUES, dump_label
from gridveil.release.format.netcdf import write_netcdf
from gridveil.release.query.open import Release, open_release
from gridveil.uncertainty import Estimate, Posterior

HERE = Path(__file__).parent
SIDE, STEPS, DRAWS, BLOCKS = 256, 8760, 128, 4
GRID = Grid(-0.55, 51.2, 0.35, 51.75, nx=SIDE, ny=SIDE, crs="EPSG:4326")
WINDOW = Window(datetime(2013, 1, 1, tzinfo=UTC), timedelta(hours=1), STEPS)
HOUSEHOLD = 4e6  # Wh a year
TARGETS = {
    "open_and_first_answer_seconds": 1.0,
    "step_of_all_cells_ms": 100.0,
    "period_of_all_cells_ms": 100.0,
    "box_ms": 20.0,
    "whole_map_365_points_seconds": 1.0,
    "peak_mb": 1500.0,
}


def town() -> tuple[Floats, Floats, Posterior]:
    """Return what cells use in the year (x, y), the profiles of 16 districts (k, t), and draws of what may be true."""
    rng = np.random.default_rng(0)
    away = np.hypot(*np.meshgrid(*[np.linspace(-1, 1, SIDE)] * 2))
    space = HOUSEHOLD * 40 * np.exp(-3 * away**2) * rng.gamma(3.0, 1 / 3, (SIDE, SIDE))
    hours = np.arange(STEPS)
    phases = rng.uniform(0, 0.5, (BLOCKS**2, 1))
    day = 1 + 0.5 * np.sin(2 * np.pi * (hours / 24 + phases)) + 0.2 * np.sin(4 * np.pi * (hours / 24 + phases))
    shape = day * (1 + 0.3 * np.cos(2 * np.pi * hours / STEPS)) * rng.gamma(400.0, 1 / 400, STEPS)
    profiles = shape / shape.sum(axis=1, keepdims=True)
    block = np.arange(SIDE) * BLOCKS // SIDE
    strayed = profiles * rng.gamma(100.0, 0.01, (DRAWS, BLOCKS**2, STEPS))
    draws = Posterior(
        space=space * rng.gamma(4.0, 0.25, (DRAWS, SIDE, SIDE)),
        region=np.add.outer(block * BLOCKS, block),
        time=strayed / strayed.sum(axis=2, keepdims=True),
        size=np.full(DRAWS, 1.5 * HOUSEHOLD),
    )
    return space, profiles, draws


def make(folder: Path) -> None:
    """Write the release."""
    space, profiles, draws = town()
    label = stamp("A year of a large town", GRID, WINDOW)
    estimate = Estimate(Product(space, profiles, draws.region), draws)
    with new_folder(folder) as aside:
        write_netcdf(aside / VALUES, grid=GRID, window=WINDOW, estimate=estimate, label=label)
        (aside / LABEL).write_text(dump_label(label), encoding="utf-8")
        (aside / README).write_text(readme(label, about_the_truth=True, negative=False), encoding="utf-8")
        aside.chmod(0o755)


def pairs(rng: np.random.Generator, size: int, count: int) -> list[tuple[int, int]]:
    """Return random half-open ranges."""
    ends = np.sort(np.stack([rng.choice(size + 1, 2, replace=False) for _ in range(count)]), axis=1)
    return [(int(first), int(last)) for first, last in ends]


def milliseconds(ask: Callable[..., object], questions: Iterable[tuple[Any, ...]]) -> dict[str, float]:
    """Return the first, median and largest time of some questions; the largest of those after three to warm up."""
    times = []
    for question in questions:
        start = time.perf_counter()
        ask(*question)
        times.append(1000 * (time.perf_counter() - start))
    return {"first": times[0], "median": float(np.median(times[3:])), "most": max(times[3:])}


def ask(folder: Path) -> dict[str, Any]:
    """Open the release and ask it all sorts of questions."""
    start = time.perf_counter()
    release = open_release(folder)
    release.query(x=(0, 10), y=(0, 10), time=(0, 24))
    figures: dict[str, Any] = {"open_and_first_answer_seconds": time.perf_counter() - start}
    rng = np.random.default_rng(1)
    steps = rng.integers(0, STEPS, 43).tolist()
    figures["step_of_all_cells_ms"] = milliseconds(release.cells, [(step, step + 1) for step in steps])
    figures["period_of_all_cells_ms"] = milliseconds(release.cells, pairs(rng, STEPS, 43))
    boxes = zip(*(pairs(rng, size, 203) for size in (SIDE, SIDE, STEPS)), strict=True)
    figures["box_ms"] = milliseconds(release.query, boxes)
    polygons = [(None, None, period, blob(rng)) for period in pairs(rng, STEPS, 43)]
    figures["polygon_ms"] = milliseconds(release.query, polygons)
    whole = Area.box(GRID)
    figures["whole_map_365_points_seconds"] = series(release, whole, 24)
    figures["whole_map_1752_points_seconds"] = series(release, whole, 5)
    figures["polygon_365_points_seconds"] = series(release, Area.polygon(GRID, blob(rng)), 24)
    figures["polygon_1752_points_seconds"] = series(release, Area.polygon(GRID, blob(rng)), 5)
    figures["polygon_typical_day_seconds"] = day(release, Area.polygon(GRID, blob(rng)))
    ranges = np.column_stack([pairs(rng, size, 1000) for size in (SIDE, SIDE, STEPS)])
    start = time.perf_counter()
    release.answers_of(ranges)
    figures["batch_of_1000_boxes_seconds"] = time.perf_counter() - start
    return figures


def blob(rng: np.random.Generator) -> dict[str, Any]:
    """Return a drawn polygon of 60 corners."""
    turn = np.linspace(0, 2 * np.pi, 60)
    reach = rng.uniform(0.1, 0.4) * (1 + 0.3 * np.sin(3 * turn + rng.uniform(0, 6)))
    x = (GRID.x0 + GRID.x1) / 2 + reach * (GRID.x1 - GRID.x0) * np.cos(turn)
    y = (GRID.y0 + GRID.y1) / 2 + reach * (GRID.y1 - GRID.y0) * np.sin(turn)
    return {"type": "Polygon", "coordinates": [np.column_stack([x, y]).tolist()]}


def series(release: Release, area: Area, every: int) -> float:
    first = np.arange(0, STEPS, every)
    start = time.perf_counter()
    release.over(area, np.column_stack([first, first + every]))
    return time.perf_counter() - start


def day(release: Release, area: Area) -> float:
    schedules = np.equal.outer(np.arange(24), np.arange(STEPS) % 24) / 365
    start = time.perf_counter()
    release.at(area, schedules)
    return time.perf_counter() - start


def main() -> None:
    folder = Path(sys.argv[1])
    if sys.argv[2:] == ["make"]:
        start = time.perf_counter()
        make(folder)
        print(json.dumps({"seconds": time.perf_counter() - start, "peak_mb": peak_mb()}))
        return
    if sys.argv[2:] == ["ask"]:
        print(json.dumps({**ask(folder), "peak_mb": peak_mb()}))
        return
    # Each in a process of its own, so that memory is that of the one alone.
    stages = ["ask"] if folder.exists() else ["make", "ask"]
    figures: dict[str, Any] = {"targets": TARGETS}
    for stage in stages:
        command = [sys.executable, __file__, str(folder), stage]
        figures[stage] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    figures["gigabytes"] = sum(file.stat().st_size for file in folder.iterdir()) / 1e9
    (HERE / "big.json").write_text(json.dumps(figures, indent=2) + "\n")
    print(json.dumps(figures, indent=2))


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e3)


if __name__ == "__main__":
    main()
