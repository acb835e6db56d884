"""How many range queries a release of 32 x 32 cells and 120 steps answers in a second."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from stamp import stamp

from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.release.format.netcdf import write_release
from gridveil.release.query.open import Release, open_release
from gridveil.uncertainty import Estimate, NoisyParts, Posterior, Replicates

GRID = Grid(0, 0, 32, 32, nx=32, ny=32)
WINDOW = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 120)
SHAPE = (GRID.nx, GRID.ny, WINDOW.steps)


def error_models() -> dict[str, NoisyParts | Replicates | Posterior]:
    rng = np.random.default_rng(0)
    one = np.array(1.0)
    blocks = np.add.outer(np.arange(32) // 4 * 8, np.arange(32) // 4)
    return {
        "200 draws": _draws(rng, np.zeros((32, 32), dtype=np.int64)),
        "200 draws, 64 regions": _draws(rng, blocks),
        "every cell": NoisyParts(None, np.array(5000.0), one),
        "30 parts": NoisyParts(rng.integers(0, 30, SHAPE), rng.uniform(1e3, 1e4, 30), rng.uniform(0, 1e-3, SHAPE)),
        "1024 pillars": NoisyParts(np.arange(1024).reshape(32, 32, 1), rng.uniform(1e3, 1e4, 1024), one / 120),
        "200 replicates": Replicates(rng.normal(1e3, 1e2, (200, 32, 32)), rng.normal(1, 0.1, (200, 120))),
    }


def _draws(rng: np.random.Generator, region: NDArray[np.int64]) -> Posterior:
    profiles = rng.gamma(9.0, 1.0, (200, int(region.max()) + 1, WINDOW.steps))
    space = rng.gamma(4.0, 1e4, (200, GRID.nx, GRID.ny))
    return Posterior(space, region, profiles / profiles.sum(axis=2, keepdims=True), np.full(200, 9e4))


def random_ranges(count: int) -> NDArray[np.int64]:
    rng = np.random.default_rng(1)
    corners = [rng.permuted(np.tile(np.arange(size + 1), (count, 1)), axis=1)[:, :2] for size in SHAPE]
    return np.sort(np.stack(corners, axis=1), axis=2).reshape(count, 6)


def rate(ask: Callable[[NDArray[np.int64]], object], ranges: NDArray[np.int64]) -> int:
    ask(ranges[:2000])
    start = time.perf_counter()
    ask(ranges)
    return round(len(ranges) / (time.perf_counter() - start))


def one_at_a_time(release: Release, ranges: NDArray[np.int64]) -> int:
    release.answers_of(ranges[:1])
    start = time.perf_counter()
    for place in range(len(ranges)):
        release.answers_of(ranges[place : place + 1])
    return round(len(ranges) / (time.perf_counter() - start))


def measure() -> dict[str, dict[str, int]]:
    label = stamp("Benchmark", GRID, WINDOW)
    values = np.random.default_rng(2).normal(3000, 4000, SHAPE)
    many, fewer = random_ranges(100_000), random_ranges(5000)
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, errors in error_models().items():
            path = Path(folder) / name
            write_release(path, grid=GRID, window=WINDOW, estimate=Estimate(values, errors), label=label)
            release = open_release(path)
            figures[name] = {
                "values_per_second": rate(release.values_of, many),
                "answers_per_second": rate(release.answers_of, fewer),
                "one_at_a_time_per_second": one_at_a_time(release, fewer[:500]),
            }
    return figures


if __name__ == "__main__":
    print(json.dumps(measure(), indent=2))
