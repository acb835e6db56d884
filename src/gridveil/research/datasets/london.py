"""Low Carbon London: readings of real households, whole or in halves for tuning and reporting."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gridveil.model.arrays import Ints
from gridveil.model.errors import InputError, UsageError
from gridveil.model.window import Window
from gridveil.research.datasets.dataset import Dataset, PlacedDataset, Points, place_dataset, read_points

Times = NDArray[np.datetime64]

SAMPLE = Path(__file__).parent / "data" / "lcl_sample.parquet"
"""2,000 households, the 220 hours up to the end of each of the two windows below."""

START = datetime(2013, 2, 4, tzinfo=UTC)
"""A Monday: the window that methods are compared on ..."""

TUNING_START = datetime(2013, 1, 21, tzinfo=UTC)
"""... and another Monday for choosing settings: no hour of the two windows or their training steps is shared."""

HOUR = timedelta(hours=1)

WEEKS: dict[str, tuple[datetime, ...]] = {
    "tune": (datetime(2013, 1, 21, tzinfo=UTC), datetime(2013, 1, 28, tzinfo=UTC)),
    "report": tuple(datetime(2013, 2, 4, tzinfo=UTC) + timedelta(weeks=week) for week in range(3)),
}
"""Mondays on which windows begin; the training steps before a window are no part of what is published."""

EVERYBODY = "all"

GRID = (32, 32)

SPREAD = 0.001
"""Degrees north: homes lie about a hundred metres around the feeder that a household is drawn to."""


def load_lcl(path: Path | None = None, start: datetime = START, steps: int = 120, train_steps: int = 100) -> Dataset:
    """Load the households that are complete over the window and the training steps before it.

    path: a Parquet file with the columns `household`, `timestamp` (start of the hour, UTC) and `kwh`; without it, the
        packaged sample.
    """
    window = Window(start, HOUR, steps)
    readings = read_complete(path or SAMPLE, hours_of(start, steps, train_steps))
    what = "the full extract" if path else "the packaged sample"
    origin = f"Low Carbon London (UK Power Networks, CC BY): {len(readings)} measured households of {what}"
    return Dataset("lcl", origin, window, train_steps, readings)


def hours_of(start: datetime, steps: int, train_steps: int) -> Times:
    """Return the hours of a window and of the training steps before it."""
    first = np.datetime64(start.astimezone(UTC).replace(tzinfo=None), "us") - np.timedelta64(train_steps, "h")
    return first + np.arange(train_steps + steps) * np.timedelta64(1, "h")


def read_complete(path: Path, hours: Times) -> Ints:
    """Return the readings (household, hour), Wh, of the households with one reading in every hour, by name."""
    import duckdb

    with duckdb.connect() as database:
        try:
            everything = database.read_parquet(str(path))
            everything.create_view("everything")
            energy = "wh" if "wh" in everything.columns else "round(1000 * kwh)"
            database.register("hours", {"timestamp": hours})
            # NaN and infinity are greater than any limit, so that the limit refuses them too.
            found = database.sql(f"""
                WITH reading AS (
                    SELECT household, timestamp, {energy}::BIGINT AS wh
                    FROM everything SEMI JOIN hours USING (timestamp) WHERE {energy} BETWEEN 0 AND 1e9
                )
                SELECT wh FROM reading
                WHERE household IN (
                    SELECT household FROM reading GROUP BY household
                    HAVING count(*) = {hours.size} AND count(DISTINCT timestamp) = {hours.size}
                )
                ORDER BY household, timestamp
            """).fetchnumpy()  # noqa: S608 -- numbers and constants of ours only
        except duckdb.Error as error:
            msg = f"{path}: not readable as Parquet with household, timestamp and kwh ({error})"
            raise InputError(msg, code="dataset-unreadable") from None
    readings: Ints = np.asarray(found["wh"], dtype=np.int64).reshape(-1, hours.size)
    if not readings.size:
        msg = f"{path}: no household has a reading in every hour from {hours[0]} to {hours[-1]}"
        raise InputError(msg, code="dataset-incomplete")
    return readings


@dataclass(frozen=True)
class HalfTowns:
    """Finds towns named HALF-N, such as `report-250` or `tune-all`: another week, households and places every seed.

    `report-all` has everybody: households of both halves, in weeks that nothing was chosen on.
    """

    lcl: str
    points: str | None = None
    weight: str = "weight"

    def __call__(self, dataset: str, placement: str, seed: int) -> PlacedDataset:
        """Return a town."""
        half, _, number = dataset.partition("-")
        if half not in WEEKS or not (number == EVERYBODY or number.isdigit()):
            msg = f"data set {dataset}: write HALF-N with a half of {', '.join(WEEKS)}, e.g. report-1024 or tune-all"
            raise UsageError(msg, code="half-syntax")
        week = seed % len(WEEKS[half])
        everybody = _load_week(self.lcl, half, week)
        if not (half == "report" and number == EVERYBODY):
            everybody = _take(everybody, _select_half(len(everybody.readings), half))
        if number != EVERYBODY:
            rng = np.random.default_rng([seed, int(number)])
            everybody = _take(everybody, np.sort(rng.choice(len(everybody.readings), int(number), replace=False)))
        points = read_density(self.points or "", self.weight) if placement == "density" else None
        return place_dataset(replace(everybody, name=dataset), placement, GRID, seed, points)


def _select_half(households: int, half: str) -> Ints:
    """Return every other household, by name."""
    return np.arange(0 if half == "tune" else 1, households, 2)


def _take(dataset: Dataset, households: Ints) -> Dataset:
    return replace(dataset, readings=dataset.readings[households])


@lru_cache(maxsize=5)
def _load_week(lcl: str, half: str, week: int) -> Dataset:
    return load_lcl(Path(lcl), WEEKS[half][week])


@lru_cache(maxsize=1)
def read_density(points: str, weight: str) -> Points:
    """Return the points of the placement `density`; of points with coordinates on earth, homes lie around them."""
    found = read_points(Path(points), weight)
    return replace(found, spread=SPREAD) if found.crs != "local" else found
