"""London in two halves of households and weeks: settings are chosen on one, and reported on the other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Literal

import numpy as np

from gridveil.model.errors import UsageError
from gridveil.research.datasets.dataset import Dataset, Placed
from gridveil.research.datasets.lcl import load_lcl
from gridveil.research.datasets.placements import place_dataset
from gridveil.research.datasets.points import Points, read_points

Half = Literal["tune", "report"]
WEEKS: dict[str, tuple[datetime, ...]] = {
    "tune": (datetime(2013, 1, 21, tzinfo=UTC), datetime(2013, 1, 28, tzinfo=UTC)),
    "report": tuple(datetime(2013, 2, 4, tzinfo=UTC) + timedelta(weeks=week) for week in range(3)),
}
"""Mondays on which windows begin; the training steps before a window are no part of what is published."""

EVERYBODY = "all"
GRID = (32, 32)
SPREAD = 0.001
"""Degrees north: homes lie about a hundred metres around the feeder that a household is drawn to."""


@dataclass(frozen=True)
class HalfTowns:
    """Finds towns named HALF-N, such as `report-250` or `tune-all`: another week, households and places every seed.

    `report-all` has everybody: households of both halves, in weeks that nothing was chosen on.
    """

    lcl: str
    points: str | None = None
    weight: str = "weight"

    def __call__(self, dataset: str, placement: str, seed: int) -> Placed:
        """Return a town."""
        half, _, number = dataset.partition("-")
        if half not in WEEKS or not (number == EVERYBODY or number.isdigit()):
            msg = f"data set {dataset}: write HALF-N with a half of {', '.join(WEEKS)}, e.g. report-1024 or tune-all"
            raise UsageError(msg, code="half-syntax")
        week = seed % len(WEEKS[half])
        everybody = _week(self.lcl, half, week)
        if not (half == "report" and number == EVERYBODY):
            everybody = _take(everybody, _of_half(len(everybody.readings), half))
        if number != EVERYBODY:
            rng = np.random.default_rng([seed, int(number)])
            everybody = _take(everybody, np.sort(rng.choice(len(everybody.readings), int(number), replace=False)))
        points = _density(self.points or "", self.weight) if placement == "density" else None
        return place_dataset(replace(everybody, name=dataset), placement, GRID, seed, points)


def _of_half(households: int, half: str) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return every other household, by name."""
    return np.arange(0 if half == "tune" else 1, households, 2)


def _take(dataset: Dataset, households: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Dataset:
    return replace(dataset, readings=dataset.readings[households])


@lru_cache(maxsize=5)
def _week(lcl: str, half: str, week: int) -> Dataset:
    return load_lcl(Path(lcl), WEEKS[half][week])


@lru_cache(maxsize=1)
def _density(points: str, weight: str) -> Points:
    found = read_points(Path(points), weight)
    return replace(found, spread=SPREAD) if found.crs != "local" else found
