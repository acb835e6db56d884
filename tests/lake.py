"""A lake for tests: readings of a few invented households, in a file for every day."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SIDE, HOUSEHOLDS = 4, 40
LONDON = ZoneInfo("Europe/London")
EVENING = 1 + np.exp(-0.5 * ((np.arange(24) - 19) / 2) ** 2) * 2
"""Consumption by the hour of the local day: most in the evening."""


def write_lake(folder: Path, first: date, days: int) -> None:
    """Write hourly readings of local days, marked by the start of the hour in UTC, and the households' places."""
    rng = np.random.default_rng(4)
    names = [f"household-{i}" for i in range(HOUSEHOLDS)]
    places = {"household": names, "x": rng.uniform(0, SIDE, HOUSEHOLDS), "y": rng.uniform(0, SIDE, HOUSEHOLDS)}
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(places), folder / "households.parquet")
    for number in range(days):
        write_day(folder, first + timedelta(days=number), names, rng)


def write_day(folder: Path, day: date, names: list[str], rng: np.random.Generator) -> None:
    """Write the file of one local day, which has 23, 24 or 25 hours."""
    begin, end = (datetime(d.year, d.month, d.day, tzinfo=LONDON) for d in (day, day + timedelta(days=1)))
    hours = int((end.timestamp() - begin.timestamp()) // 3600)
    stamps = [datetime.fromtimestamp(begin.timestamp() + 3600 * hour, LONDON) for hour in range(hours)]
    shape = EVENING[[stamp.hour for stamp in stamps]]
    table = {
        "household": np.repeat(names, hours),
        "timestamp": pa.array(stamps * len(names), pa.timestamp("us", "UTC")),
        "kwh": np.round(np.tile(shape, len(names)) * rng.gamma(4.0, 0.1, len(names) * hours), 3),
    }
    path = folder / f"{day:%Y/%m/%d}" / "part-0.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(pa.table(table), path)


def settings(lake: Path, out: Path, start: str, **changes: Any) -> dict[str, Any]:
    """A series of weeks from a lake, without a ledger."""
    return {
        "readings": {"path": str(lake / "%Y/%m/%d/*.parquet"), "timezone": "Europe/London"},
        "households": {"path": str(lake / "households.parquet")},
        "extent": (0, 0, SIDE, SIDE),
        "grid": (SIDE, SIDE),
        "crs": "local",
        "cadence": "week",
        "start": start,
        "epsilon": "3",
        "mechanism": "even",
        "bound_step": 5,
        "bound_window": 150,
        "no_ledger": True,
        "out": out,
        **changes,
    }
