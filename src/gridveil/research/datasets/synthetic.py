"""Invented data sets: stand-ins for the paper's four, and towns whose districts differ in time of use."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import ArrayLike

from gridveil.geography.grid import Grid
from gridveil.model.arrays import WH_PER_KWH, Floats, Ints
from gridveil.model.errors import UsageError
from gridveil.model.window import Window
from gridveil.research.datasets.dataset import Dataset, Points, Sites, place
from gridveil.simulate.town import (
    COMMUTERS,
    LATE_RISERS,
    LEVEL_SIGMA,
    MAIN_FUSE,
    MEAN_POWER,
    PENSIONERS,
    Habits,
    Peak,
    Town,
    place_homes,
    rhythms,
    spikes,
)

HABITS = (COMMUTERS, PENSIONERS, LATE_RISERS)

STANDIN_SIGMA = 0.8
"""Of the logarithm of the households' persistent levels; Low Carbon London households have 0.79."""

BASE_SHARE = 0.3
"""The share of power that does not fluctuate."""

PERSISTENCE = 0.4
"""Correlation of fluctuations one hour apart; Low Carbon London households have 0.39."""

TOLERANCE = 1e-4
"""How close, relatively, the standard deviation comes to the table's."""

STORAGE_HEATED = Habits(morning=Peak(7.5, 1.1, 0.4), day=Peak(13, 3, 0.15), evening=Peak(2.5, 2.2, 3.5))
"""Storage heaters, charged at night; the highest peak is named evening because that one has no weekends."""

OFFICES = Habits(morning=Peak(8.5, 1.5, 0.8), day=Peak(13, 3, 1.8), evening=Peak(18, 1.5, 0.2))
"""Shops and offices, busy by day. (They have the weekends of homes, which no weekday window shows.)"""

KINDS = (COMMUTERS, STORAGE_HEATED, OFFICES)

CENTRES = ((0.30, 0.75, 0), (0.62, 0.62, 1), (0.45, 0.47, 2), (0.20, 0.20, 1), (0.75, 0.25, 0), (0.85, 0.85, 2))
"""Of the six districts, on the unit square, with the kind of each. A home belongs to the nearest centre."""


@dataclass(frozen=True)
class Table2:
    """A row of the paper's Table 2, kWh per hour over all readings, and when the stand-in's window starts."""

    households: int
    mean: float
    sd: float
    maximum: float
    clip: float
    start: datetime


TABLE2 = {
    "CER": Table2(5000, 0.61, 1.24, 19.62, 1.85, datetime(2009, 11, 2, tzinfo=UTC)),
    "CA": Table2(250, 0.38, 1.13, 33.54, 1.51, datetime(2014, 11, 3, tzinfo=UTC)),
    "MI": Table2(250, 0.48, 1.22, 49.50, 1.70, datetime(2014, 11, 3, tzinfo=UTC)),
    "TX": Table2(250, 0.55, 1.63, 68.86, 2.18, datetime(2014, 11, 3, tzinfo=UTC)),
}
"""The windows start on a Monday inside the months that the paper's data cover; hours are local, written as UTC."""

CLIPS = {name: round(WH_PER_KWH * row.clip) for name, row in TABLE2.items()}
"""The paper's sensitivity clipping factors, Wh per hour."""


def make_standin(name: str, seed: int = 0, steps: int = 120, train_steps: int = 100) -> Dataset:
    """Invent a stand-in for one of the paper's data sets. Another seed is another town with the same statistics.

    Readings are level x rhythm x fluctuation. Levels are lognormal and persist; rhythms are those of the demo's town;
    fluctuations are correlated from hour to hour and heavy-tailed (a power of an exponential variable). That power and
    the unit are then set so that mean and standard deviation over all readings are the table's, and the highest
    reading is the table's maximum, where readings are also cut.
    """
    if name not in TABLE2:
        msg = f"stand-in {name}: there are {', '.join(TABLE2)}"
        raise UsageError(msg, code="standin-unknown")
    row = TABLE2[name]
    # The place in the table makes CA, MI and TX of one seed three towns, not one.
    rng = np.random.default_rng([seed, list(TABLE2).index(name)])
    window = Window(row.start, timedelta(hours=1), steps)
    start = window.before(train_steps).start if train_steps else window.start
    whole = Window(start, window.step, train_steps + steps)
    level = rng.lognormal(0, STANDIN_SIGMA, row.households)
    expected = level[:, None] * rhythms(HABITS, rng.integers(len(HABITS), size=row.households), whole, rng)
    kwh = _calibrate(row, expected, _exponential(expected.shape, rng))
    origin = f"stand-in for {name}: invented readings with the statistics of the paper's Table 2, seed {seed}"
    return Dataset(name, origin, window, train_steps, np.rint(WH_PER_KWH * kwh).astype(np.int64))


def _exponential(shape: tuple[int, int], rng: np.random.Generator) -> Floats:
    """Draw exponential variables of mean 1, correlated along time: half the squares of two autoregressive series."""
    series = rng.normal(size=(*shape, 2))
    # The squares' correlation is the square of the series'.
    keep = np.sqrt(PERSISTENCE)
    for step in range(1, shape[1]):
        series[:, step] = keep * series[:, step - 1] + np.sqrt(1 - keep**2) * series[:, step]
    exponential: Floats = np.square(series).sum(axis=2) / 2
    return exponential


def _calibrate(row: Table2, expected: Floats, fluctuation: Floats) -> Floats:
    """Return kWh with the row's mean, standard deviation and maximum."""
    log = np.log(fluctuation)
    low, high = 0.1, 5.0
    for _ in range(30):
        power = (low + high) / 2
        spikes = np.exp(power * log)
        kwh = _scale(row, expected * (BASE_SHARE + (1 - BASE_SHARE) * spikes / spikes.mean()))
        off = kwh.std() / row.sd - 1
        if abs(off) < TOLERANCE:
            return kwh
        low, high = (power, high) if off < 0 else (low, power)
    wanted = f"mean {row.mean}, s.d. {row.sd} and maximum {row.maximum}"
    msg = f"{expected.size} readings cannot have {wanted}: ask for more steps"
    raise UsageError(msg, code="standin-too-short")


def _scale(row: Table2, shape: Floats) -> Floats:
    """Return readings with the row's mean, cut at its maximum and the highest of them at it."""
    highest = np.unravel_index(shape.argmax(), shape.shape)
    unit = row.mean / shape.mean()
    for _ in range(50):
        kwh: Floats = np.minimum(unit * shape, row.maximum)
        kwh[highest] = row.maximum
        unit *= row.mean / kwh.mean()
        if abs(kwh.mean() / row.mean - 1) < TOLERANCE:
            break
    return kwh


def make_districts(households: int = 3000, *, grid: Grid, window: Window, seed: int = 0) -> Town:
    """Invent a town with the homes of `make_town`, in contiguous districts that differ in when they use electricity.

    Levels are drawn alike everywhere, so that districts differ in nothing but time.
    """
    rng = np.random.default_rng(seed)
    u, v, _ = place_homes(households, rng)
    levels = MEAN_POWER * rng.lognormal(-(LEVEL_SIGMA**2) / 2, LEVEL_SIGMA, households)
    power = levels[:, None] * rhythms(KINDS, kind_at(u, v), window, rng)
    power = np.minimum(power * spikes(power.shape, rng), MAIN_FUSE)
    return Town(
        grid,
        window,
        x=grid.x0 + u * (grid.x1 - grid.x0),
        y=grid.y0 + v * (grid.y1 - grid.y0),
        consumption=np.rint(1000 * (window.step / timedelta(hours=1)) * power).astype(np.int64),
    )


def kind_at(u: Floats, v: Floats) -> Ints:
    """Return which of `KINDS` lives at a point of the unit square."""
    x, y, kind = np.array(CENTRES).T
    nearest = np.argmin((u[..., None] - x) ** 2 + (v[..., None] - y) ** 2, axis=-1)
    return np.asarray(kind[nearest], dtype=np.int64)


def place_in_sectors(name: str, groups: ArrayLike, grid: Grid, seed: int, points: Points | None = None) -> Sites:
    """Place households as `place` does, then let those of one group live together, in a sector of the map.

    The sites are sorted by direction from the middle of the town, the households by group: as cities grow along their
    roads. Where anybody lives does not change, only who lives there.
    """
    group = np.unique(np.asarray(groups), return_inverse=True)[1]
    kept, cells = place(name, group.size, grid, seed, points)
    rng = np.random.default_rng([seed, 1])
    at = cells + rng.random(cells.shape) - cells.mean(axis=0) - 0.5
    angle = (np.arctan2(at[:, 1], at[:, 0]) + rng.uniform(0, 2 * np.pi)) % (2 * np.pi)
    neighbours = kept[np.lexsort((rng.random(kept.size), rng.permutation(group.max() + 1)[group[kept]]))]
    home = np.empty_like(cells)
    home[np.searchsorted(kept, neighbours)] = cells[np.argsort(angle)]
    return Sites(kept, home)
