"""Low Carbon London: measured readings of real households, from the packaged sample or the full hourly extract."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gridveil.model.arrays import Ints
from gridveil.model.errors import InputError
from gridveil.model.window import Window
from gridveil.research.datasets.dataset import Dataset

Times = NDArray[np.datetime64]

SAMPLE = Path(__file__).parent / "data" / "lcl_sample.parquet"
"""2,000 households, the 220 hours up to the end of each of the two windows below."""

START = datetime(2013, 2, 4, tzinfo=UTC)
"""A Monday: the window that methods are compared on ..."""

TUNING_START = datetime(2013, 1, 21, tzinfo=UTC)
"""... and another Monday for choosing settings: no hour of the two windows or their training steps is shared."""

HOUR = timedelta(hours=1)


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
