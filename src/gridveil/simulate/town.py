"""An invented town: households on a map with hourly consumption, for the demo and for tests. Nothing is private."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gridveil.geography.grid import Grid
from gridveil.model.errors import UsageError
from gridveil.model.units import Floats, Ints
from gridveil.model.window import Window
from gridveil.simulate.habits import rhythms, spikes
from gridveil.simulate.sources import ArraySource
from gridveil.simulate.townscape import DISTRICTS, place_homes

MEAN_POWER = 0.5
"""kW of an average household."""

LEVEL_SIGMA = 0.73
"""Of the logarithm of the households' persistent levels."""

MAIN_FUSE = 23.0
"""kW that no household can exceed: 100 A at 230 V."""

DEMO_GRID = Grid(0, 0, 8000, 8000, nx=32, ny=32)
DEMO_WINDOW = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 120)
DEMO_TRAIN_STEPS = 100


@dataclass(frozen=True)
class Town:
    """Every household's coordinates, and its consumption in every step of a window, Wh (household, step)."""

    grid: Grid
    window: Window
    x: Floats
    y: Floats
    consumption: Ints

    def cube(self, window: Window) -> Floats:
        """Return the true consumption of a part of the town's window, kWh (x, y, step), without any bound."""
        first, rest = divmod(window.start - self.window.start, self.window.step)
        last = first + window.steps
        if window.step != self.window.step or rest or first < 0 or last > self.window.steps:
            msg = f"window {window.start} to {window.end}: not a run of the town's steps, {self.window}"
            raise UsageError(msg, code="town-window")
        grid, steps = self.grid, np.arange(window.steps)
        column, row = self.cells.T
        place = ((column * grid.ny + row) * window.steps)[:, None] + steps
        wh = np.bincount(place.ravel(), self.consumption[:, first:last].ravel(), minlength=grid.cells * window.steps)
        return wh.reshape(grid.nx, grid.ny, window.steps) / 1000

    @property
    def cells(self) -> Ints:
        """The cell of every household (household, 2)."""
        grid = self.grid
        column = ((self.x - grid.x0) / grid.cell_width).astype(np.int64)
        row = ((self.y - grid.y0) / grid.cell_height).astype(np.int64)
        return np.stack([np.minimum(column, grid.nx - 1), np.minimum(row, grid.ny - 1)], axis=1)

    def source(self) -> ArraySource:
        """Return what a kernel asks, without a detour through files."""
        return ArraySource(self.grid, self.window, self.cells, self.consumption)

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write `readings.parquet` and `households.parquet` as a utility might hand them over."""
        households, steps = self.consumption.shape
        names = pa.array([f"H{number:05d}" for number in range(households)])
        times = np.array([time.replace(tzinfo=None) for time in self.window.times()], dtype="datetime64[us]")
        readings = {
            "household": names.take(pa.array(np.repeat(np.arange(households), steps))),
            "timestamp": np.tile(times, households),
            "kwh": self.consumption.ravel() / 1000,
        }
        axes = ("lon", "lat") if self.grid.crs == "EPSG:4326" else ("x", "y")
        homes = {"household": names, axes[0]: self.x, axes[1]: self.y}
        folder.mkdir(parents=True, exist_ok=True)
        paths = folder / "readings.parquet", folder / "households.parquet"
        for path, columns in zip(paths, (readings, homes), strict=True):
            pq.write_table(pa.table(columns), path)
        return paths


def make_town(households: int = 5000, *, grid: Grid, window: Window, seed: int = 0) -> Town:
    """Invent a town on the grid's extent. The same arguments give the same town."""
    rng = np.random.default_rng(seed)
    u, v, district = place_homes(households, rng)
    levels = _levels(district, rng)
    power = levels[:, None] * rhythms([d.habits for d in DISTRICTS], district, window, rng)
    power = np.minimum(power * spikes(power.shape, rng), MAIN_FUSE)
    hours = window.step / timedelta(hours=1)
    return Town(
        grid,
        window,
        x=grid.x0 + u * (grid.x1 - grid.x0),
        y=grid.y0 + v * (grid.y1 - grid.y0),
        consumption=np.rint(1000 * hours * power).astype(np.int64),
    )


def demo_town(households: int = 5000, seed: int = 0) -> Town:
    """Invent the demo's town: its published window with the training steps before it."""
    training = DEMO_WINDOW.before(DEMO_TRAIN_STEPS)
    window = Window(training.start, training.step, training.steps + DEMO_WINDOW.steps)
    return make_town(households, grid=DEMO_GRID, window=window, seed=seed)


def _levels(district: Ints, rng: np.random.Generator) -> Floats:
    """Draw each household's persistent power in kW: lognormal, a little different between districts."""
    level = np.array([d.level for d in DISTRICTS])
    level /= level @ [d.share for d in DISTRICTS]
    return MEAN_POWER * level[district] * rng.lognormal(-(LEVEL_SIGMA**2) / 2, LEVEL_SIGMA, district.size)
