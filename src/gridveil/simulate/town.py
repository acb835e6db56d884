"""An invented town, for the demo and for tests: where homes stand and when they use electricity. Nothing is private."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gridveil.geography.grid import Grid
from gridveil.model.arrays import WH_PER_KWH, Floats, Ints
from gridveil.model.errors import UsageError
from gridveil.model.window import Window
from gridveil.simulate.sources import ArraySource

# When the invented households use electricity: peaks of the day, weekends, and spiky appliances.

BASE = 0.5
"""What runs day and night, as a share of an average household's power."""

SPIKY = 0.5
"""The share of power that comes in spikes, from kettles to showers ..."""

SPIKE_SHAPE = 0.55
"""... as gamma variables of this shape: the smaller, the rarer and higher."""

WEEKEND_LIE_IN = 1.5
"""By how many hours the morning peak is later at the weekend."""

WEEKEND_AT_HOME = 1.6
"""By which factor daytime use is higher at the weekend."""

TIMING_HOURS = 1.0
"""Standard deviation of how much earlier or later than others of its kind a household lives."""


class Peak(NamedTuple):
    """A bump in the day: when, how many hours wide (one standard deviation), how high."""

    hour: float
    width: float
    height: float


@dataclass(frozen=True)
class Habits:
    """A household's day, as peaks on top of the base."""

    morning: Peak
    day: Peak
    evening: Peak

    def power(self, hour: Floats, *, weekend: bool) -> Floats:
        """Return power at an hour of the day (0 to 24); its mean over a weekday is 1."""
        morning, day = self.morning, self.day
        if weekend:
            morning = morning._replace(hour=morning.hour + WEEKEND_LIE_IN)
            day = day._replace(height=day.height * WEEKEND_AT_HOME)
        power = BASE + _bump(hour, morning) + _bump(hour, day) + _bump(hour, self.evening)
        return power / (BASE + sum(_bump_mean(peak) for peak in (self.morning, self.day, self.evening)))


COMMUTERS = Habits(morning=Peak(7.2, 1.1, 0.75), day=Peak(13, 3, 0.2), evening=Peak(19, 2.2, 1.3))
PENSIONERS = Habits(morning=Peak(8.5, 1.6, 0.5), day=Peak(13, 3, 0.55), evening=Peak(18, 2.2, 0.8))
LATE_RISERS = Habits(morning=Peak(9, 1.8, 0.4), day=Peak(14, 3, 0.3), evening=Peak(20.5, 2.6, 1.1))


def spikes(shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Draw how far each reading is from its expected value, as a factor of mean 1."""
    return (1 - SPIKY) + SPIKY * rng.gamma(SPIKE_SHAPE, 1 / SPIKE_SHAPE, shape)


def rhythms(habits: Sequence[Habits], kind: Ints, window: Window, rng: np.random.Generator) -> Floats:
    """Return the expected power of each household and step, as a factor on its level; `kind` says whose habits."""
    middles = [time + window.step / 2 for time in window.times()]
    hour = np.array([time.hour + time.minute / 60 for time in middles])
    weekend = np.array([time.weekday() >= 5 for time in middles])  # noqa: PLR2004 -- 5 is Saturday
    late = rng.normal(0, TIMING_HOURS, kind.size)
    factor = np.empty((kind.size, window.steps))
    for number, habit in enumerate(habits):
        here = kind == number
        own_hour = hour - late[here, None]
        factor[here] = np.where(weekend, habit.power(own_hour, weekend=True), habit.power(own_hour, weekend=False))
    return factor


def _bump(hour: Floats, peak: Peak) -> Floats:
    away = (hour - peak.hour + 12) % 24 - 12
    return peak.height * np.exp(-0.5 * (away / peak.width) ** 2)


def _bump_mean(peak: Peak) -> float:
    return float(peak.height * peak.width * np.sqrt(2 * np.pi) / 24)


# Where the homes of the invented town stand, and in which district. The town is drawn on the unit square.


@dataclass(frozen=True)
class District:
    """A cloud of homes around a centre; without a spread, homes lie anywhere.

    share: of the town's households. level: consumption of its households against the town's average, roughly.
    """

    name: str
    share: float
    level: float
    habits: Habits
    centre: tuple[float, float] = (0.5, 0.5)
    spread: float | None = None


DISTRICTS = (
    District("old town", 0.35, 0.85, LATE_RISERS, (0.44, 0.58), 0.065),
    District("station quarter", 0.18, 0.95, COMMUTERS, (0.72, 0.27), 0.055),
    District("suburbs", 0.33, 1.10, COMMUTERS, (0.47, 0.52), 0.16),
    District("garden village", 0.08, 1.10, PENSIONERS, (0.19, 0.25), 0.04),
    District("outskirts", 0.06, 1.40, PENSIONERS),
)


def place_homes(households: int, rng: np.random.Generator) -> tuple[Floats, Floats, Ints]:
    """Draw `u`, `v` inside the unit square and the district of every household."""
    district = rng.choice(len(DISTRICTS), size=households, p=[d.share for d in DISTRICTS])
    u, v = np.empty(households), np.empty(households)
    homeless = np.arange(households)
    while homeless.size:
        u[homeless], v[homeless] = _sites(district[homeless], rng)
        homeless = homeless[~_buildable(u[homeless], v[homeless])]
    return u, v, district


def _sites(district: Ints, rng: np.random.Generator) -> tuple[Floats, Floats]:
    sites = rng.random((2, district.size))
    for number, place in enumerate(DISTRICTS):
        if place.spread is not None:
            here = district == number
            centre = np.array(place.centre)[:, None]
            sites[:, here] = rng.normal(centre, place.spread, (2, np.count_nonzero(here)))
    return sites[0], sites[1]


def _buildable(u: Floats, v: Floats) -> np.ndarray[tuple[int], np.dtype[np.bool]]:
    """Homes stand inside the extent, and neither in the river nor in the park."""
    inside = (u > 0) & (u < 1) & (v > 0) & (v < 1)
    river = np.abs(v - 0.40 - 0.09 * np.sin(2 * np.pi * (u + 0.1))) < 0.028  # noqa: PLR2004 -- the river's course
    park = ((u - 0.57) / 0.07) ** 2 + ((v - 0.67) / 0.05) ** 2 < 1
    return inside & ~river & ~park


# What makes days of one town differ: weather, which all households share, and days that are their own.

# All are standard deviations of logarithms, as seen among London households in winter (Low Carbon London, one half).
SHARED_DAYS = 0.03
SHARED_HOURS = 0.027
HOURS = 4.0
"""How long what hours share lasts."""

OWN_DAYS = 0.12
"""On top of the spikes that an invented household has anyway, which do not last."""


def draw_variation(households: int, window: Window, rng: np.random.Generator) -> Floats:
    """Draw a factor around 1 for each household and step (household, step)."""
    ends = (np.arange(window.steps) + 0.5) * (window.step / timedelta(days=1))
    day = ends.astype(np.int64)
    together = rng.normal(0, SHARED_DAYS, day[-1] + 1)[day] + _lasting(window, rng)
    own = rng.normal(0, OWN_DAYS, (households, day[-1] + 1))[:, day]
    variance = SHARED_DAYS**2 + SHARED_HOURS**2 + OWN_DAYS**2
    return np.asarray(np.exp(together + own - variance / 2))


def _lasting(window: Window, rng: np.random.Generator) -> Floats:
    """Draw what hours share: a stationary series that forgets itself within hours."""
    kept = np.exp(-(window.step / timedelta(hours=1)) / HOURS)
    values = rng.normal(0, SHARED_HOURS, window.steps)
    values[1:] *= np.sqrt(1 - kept**2)
    for step in range(1, window.steps):
        values[step] += kept * values[step - 1]
    return values


# An invented town: households on a map with hourly consumption, for the demo and for tests. Nothing is private.

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
        return wh.reshape(grid.nx, grid.ny, window.steps) / WH_PER_KWH

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
            "kwh": self.consumption.ravel() / WH_PER_KWH,
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
        consumption=np.rint(WH_PER_KWH * hours * power).astype(np.int64),
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
