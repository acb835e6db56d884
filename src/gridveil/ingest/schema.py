"""What the publisher says about the two input tables: things that the data cannot tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class ReadingsTable:
    """Where the readings are and how to read them.

    path: a Parquet or CSV file (a pattern such as `2013-*.parquet` is fine), or a DuckDB database with `table`.
    household, timestamp, energy: the names of the columns.
    unit: of the energy column. `kW` is the mean power over a meter interval and needs `interval`.
    timezone: of timestamps that carry no offset of their own.
    timestamps: whether they mark the start or the end of the meter interval.
    interval: length of a meter interval, seconds; only needed for `kW`.
    delimiter: between the fields of a CSV line.
    """

    path: str
    table: str | None = None
    household: str = "household"
    timestamp: str = "timestamp"
    energy: str = "kwh"
    unit: Literal["kWh", "Wh", "kW"] = "kWh"
    timezone: str = "UTC"
    timestamps: Literal["start", "end"] = "start"
    interval: int | None = None
    delimiter: str = ","


@dataclass(frozen=True)
class HouseholdsTable:
    """Where the households' places are. Without column names, `lon, lat` or `x, y` are looked for."""

    path: str
    table: str | None = None
    household: str = "household"
    x: str | None = None
    y: str | None = None
    delimiter: str = ","
