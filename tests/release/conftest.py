from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.release.format.facts import GridFacts, WindowFacts
from gridveil.release.format.label import BoundFacts, Label, MeasurementFacts, MechanismFacts, NoiseFacts, Privacy
from gridveil.release.format.netcdf import write_release
from gridveil.release.format.wording import caveats
from gridveil.release.query.open import Release, open_release
from gridveil.release.series.catalogue import Catalogue, Listed, write_catalogue
from gridveil.uncertainty import Estimate, NoisyParts, Replicates

GRID = Grid(-0.5, 51.25, -0.1, 51.5, nx=8, ny=5, crs="EPSG:4326")
WINDOW = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 30)


def make_label(grid: Grid = GRID, window: Window = WINDOW, epsilon: float = 1.0, **changes: object) -> Label:
    facts: dict[str, Any] = {
        "title": "Consumption of a town",
        "publisher": "Example Grid",
        "published": date(2026, 11, 15),
        "gridveil_version": "0.1.0",
        "private": True,
        "privacy": Privacy(epsilon=epsilon, epsilon_accounted=0.9999999 * epsilon),
        "noise": [NoiseFacts(kinds=["laplace"], samplers=["opendp"], opendp="0.16.0")],
        "bounds": [BoundFacts(step_kwh=20, window_kwh=136, steps=window.steps)],
        "bound_origin": "a public study",
        "mechanism": MechanismFacts(name="identity"),
        "measurements": [
            MeasurementFacts(kind="sums", labels=grid.cells * window.steps, epsilon=epsilon, bound_kwh=136)
        ],
        "grid": GridFacts.of(grid),
        "window": WindowFacts.of(window),
    }
    facts |= {"noise": []} if changes.get("private") is False else {}
    known = facts | changes
    facts["not_covered"] = caveats(corrected=known.get("correction") is not None, about_the_truth=False)
    return Label(**(facts | changes))


def make_estimate(kind: str, grid: Grid = GRID, window: Window = WINDOW, seed: int = 0) -> Estimate:
    rng = np.random.default_rng(seed)
    shape = (grid.nx, grid.ny, window.steps)
    values = rng.normal(3000, 4000, shape)
    if kind == "identity":
        errors: NoisyParts | Replicates = NoisyParts(None, np.array(2000.0), np.array(1.0))
    elif kind == "scaled":
        errors = NoisyParts(None, rng.uniform(100, 3000, (1, 1, shape[2])), rng.uniform(0.5, 1, (*shape[:2], 1)))
    elif kind == "parts":
        labels = rng.integers(-1, 12, shape)
        errors = NoisyParts(labels, rng.uniform(100, 9000, 12), rng.uniform(0, 0.01, shape))
    elif kind == "pillars":
        labels = np.arange(grid.cells).reshape(grid.nx, grid.ny, 1)
        errors = NoisyParts(labels, rng.uniform(100, 9000, grid.cells), rng.uniform(0, 0.1, (1, 1, shape[2])))
    else:
        errors = Replicates(rng.normal(1000, 100, (40, *shape[:2])), rng.normal(1, 0.2, (40, shape[2])))
    return Estimate(values, errors)


def make_series(
    folder: Path, estimates: Sequence[Estimate], grid: Grid = GRID, start: datetime = WINDOW.start, **label: object
) -> Path:
    """Write estimates as releases one after the other, and their catalogue."""
    listed = []
    for estimate in estimates:
        window = Window(start, WINDOW.step, estimate.values.shape[2])
        name = f"{window.start:%Y-%m-%dT%H}"
        write_release(
            folder / name, grid=grid, window=window, estimate=estimate, label=make_label(grid, window, **label)
        )
        listed.append(listing(folder, name, window))
        start = window.end
    write_catalogue(folder, Catalogue(title="A series", cadence="day", timezone="UTC", releases=tuple(listed)))
    return folder


def listing(folder: Path, name: str, window: Window) -> Listed:
    """Return what a catalogue says of a release."""
    known = sha256((folder / name / "SHA256SUMS").read_bytes()).hexdigest()
    return Listed(path=name, start=window.start, end=window.end, sha256=known)


KINDS = ("identity", "scaled", "parts", "pillars", "replicates")


@pytest.fixture
def publish(tmp_path: Path) -> Callable[..., Path]:
    """Write a release and return its folder."""

    def run(kind: str = "parts", grid: Grid = GRID, window: Window = WINDOW, name: str = "release") -> Path:
        path = tmp_path / name
        estimate = make_estimate(kind, grid, window)
        write_release(path, grid=grid, window=window, estimate=estimate, label=make_label(grid, window))
        return path

    return run


@pytest.fixture(params=KINDS)
def release(request: pytest.FixtureRequest, publish: Callable[..., Path]) -> tuple[Release, Estimate]:
    """An opened release of every kind of error model, and the estimate in it."""
    return open_release(publish(request.param)), make_estimate(request.param)
