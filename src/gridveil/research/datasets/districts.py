"""Towns whose districts live by different clocks: where one profile for the whole map is wrong. Nothing is private."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
from numpy.typing import ArrayLike

from gridveil.geography.grid import Grid
from gridveil.model.arrays import Floats, Ints
from gridveil.model.window import Window
from gridveil.research.datasets.placements import Sites, place
from gridveil.research.datasets.points import Points
from gridveil.simulate.town import (
    COMMUTERS,
    LEVEL_SIGMA,
    MAIN_FUSE,
    MEAN_POWER,
    Habits,
    Peak,
    Town,
    place_homes,
    rhythms,
    spikes,
)

STORAGE_HEATED = Habits(morning=Peak(7.5, 1.1, 0.4), day=Peak(13, 3, 0.15), evening=Peak(2.5, 2.2, 3.5))
"""Storage heaters, charged at night; the highest peak is named evening because that one has no weekends."""

OFFICES = Habits(morning=Peak(8.5, 1.5, 0.8), day=Peak(13, 3, 1.8), evening=Peak(18, 1.5, 0.2))
"""Shops and offices, busy by day. (They have the weekends of homes, which no weekday window shows.)"""

KINDS = (COMMUTERS, STORAGE_HEATED, OFFICES)

CENTRES = ((0.30, 0.75, 0), (0.62, 0.62, 1), (0.45, 0.47, 2), (0.20, 0.20, 1), (0.75, 0.25, 0), (0.85, 0.85, 2))
"""Of the six districts, on the unit square, with the kind of each. A home belongs to the nearest centre."""


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
    together = kept[np.lexsort((rng.random(kept.size), rng.permutation(group.max() + 1)[group[kept]]))]
    home = np.empty_like(cells)
    home[np.searchsorted(kept, together)] = cells[np.argsort(angle)]
    return Sites(kept, home)
