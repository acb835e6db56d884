from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.release.conftest import GRID, WINDOW, make_estimate, make_label

from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.release.format.netcdf import write_release
from gridveil.release.query.open import Release, open_release
from gridveil.uncertainty import Estimate, LinearNoise, Posterior

BRITISH = Grid(530_000, 180_000, 534_000, 182_500, nx=8, ny=5, crs="EPSG:27700")
LOCAL = Grid(0, 0, 8, 5, nx=8, ny=5)
ONE = (Grid(-0.5, 51.25, -0.1, 51.5, nx=1, ny=1, crs="EPSG:4326"), Window(WINDOW.start, timedelta(minutes=30), 1))
Publish = Callable[..., Release]


def estimate(kind: str, grid: Grid, window: Window) -> Estimate:
    if kind not in {"posterior", "linear"}:
        return make_estimate(kind, grid, window)
    rng = np.random.default_rng(7)
    values = rng.gamma(2, 1500, (grid.nx, grid.ny, window.steps))
    if kind == "linear":
        factors = (rng.normal(0, 90, (grid.nx, 3)), rng.normal(size=(grid.ny, 2)), rng.normal(size=(window.steps, 4)))
        return Estimate(values, LinearNoise(*factors))
    profile = rng.gamma(20, 1, (40, 2, window.steps))
    draws = Posterior(
        space=rng.gamma(3, 20_000, (40, grid.nx, grid.ny)),
        region=rng.integers(0, 2, (grid.nx, grid.ny)),
        time=profile / profile.sum(axis=2, keepdims=True),
        size=rng.uniform(90_000, 120_000, 40),
    )
    return Estimate(values, draws)


@pytest.fixture
def release_of(tmp_path: Path) -> Publish:
    """Publish and open a release."""

    def run(kind: str = "parts", grid: Grid = GRID, window: Window = WINDOW, **label: Any) -> Release:
        path = tmp_path / "release"
        write_release(
            path,
            grid=grid,
            window=window,
            estimate=estimate(kind, grid, window),
            label=make_label(grid, window, **label),
        )
        return open_release(path)

    return run
