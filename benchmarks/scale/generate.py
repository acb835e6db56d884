"""Invented readings, any number of them: a lake of as many households as it takes, a file a day.

python benchmarks/scale/generate.py FOLDER READINGS           writes FOLDER/day-01.parquet ... day-30.parquet and
                                                              FOLDER/households.parquet, a month of half hours
python benchmarks/scale/generate.py FOLDER READINGS year      a year of hours, on a map of 256 x 256 cells

Households and values follow from hashes, so that the same number gives the same rows. One household in ten thousand
has faults of every kind; one reading in a hundred thousand is sent twice.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb

from gridveil.geography.grid import Grid
from gridveil.model.window import Window

START = datetime(2013, 4, 1, tzinfo=UTC)
ID = "'MAC' || lpad(h::VARCHAR, 9, '0')"


@dataclass(frozen=True)
class Lake:
    """How long households were metered, how often a day, and over how large a town, cells each way."""

    days: int
    per_day: int
    side: int

    @property
    def grid(self) -> Grid:
        """The map: places are given in cells."""
        return Grid(0, 0, self.side, self.side, self.side, self.side)

    @property
    def window(self) -> Window:
        """All of it, hour by hour."""
        return Window(START, timedelta(hours=1), self.days * 24)

    def households(self, readings: int) -> int:
        """Return how many households send about so many readings."""
        return max(1, round(readings / (self.days * self.per_day)))


MONTH, YEAR = Lake(30, 48, 32), Lake(365, 24, 256)
GRID, WINDOW = MONTH.grid, MONTH.window


def generate(folder: Path, readings: int, lake: Lake = MONTH) -> None:
    """Write the tables. Nothing is done if they are there."""
    if (folder / "households.parquet").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    count = lake.households(readings)
    con = duckdb.connect()
    for day in range(lake.days):
        _copy(con, _day(day, lake.per_day, count), folder / f"day-{day + 1:0{len(str(lake.days))}}.parquet")
    place = ", ".join(f"{lake.side} * (hash(h, '{axis}') % 1000000) / 1e6 AS {axis}" for axis in "xy")
    homes = f"SELECT {ID} AS household, {place} FROM range({count}) r(h)"  # noqa: S608  # ours
    _copy(con, homes, folder / "households.parquet")


def _day(day: int, per_day: int, count: int) -> str:
    """Return the query for a day's readings, household after household."""
    first = day * per_day
    at = f"(TIMESTAMP '{START:%Y-%m-%d}' + to_minutes({24 * 60 // per_day} * s)) AS timestamp"
    used = "round(0.02 + 1.4 * pow((hash(h, s) % 65536) / 65536, 4) + 0.1 * (hash(h) % 8), 3)"
    poisoned = f"""CASE WHEN h % 10000 <> 7 THEN {used}
                        ELSE [NULL, 'nan'::DOUBLE, 'inf'::DOUBLE, -1.0, 1e300, {used}][1 + s % 6] END"""
    rows = f"FROM range({count}) r(h), range({first}, {first + per_day}) q(s)"
    twice = f"{rows} WHERE hash(h, s, 2) % 100000 = 0"  # the same household and second, another value
    return f"""
        SELECT {ID} AS household, {at}, {poisoned} AS kwh {rows}
        UNION ALL SELECT {ID} AS household, {at}, {used} + 0.5 AS kwh {twice}
    """


def _copy(con: duckdb.DuckDBPyConnection, query: str, path: Path) -> None:
    aside = path.with_suffix(".aside")
    con.execute(f"COPY ({query}) TO '{aside}' (FORMAT parquet, COMPRESSION zstd)").fetchall()
    aside.rename(path)


def main() -> None:
    folder, readings, lake = Path(sys.argv[1]), int(float(sys.argv[2])), YEAR if "year" in sys.argv[3:] else MONTH
    start = time.perf_counter()
    generate(folder, readings, lake)
    size = sum(file.stat().st_size for file in folder.iterdir())
    seconds = time.perf_counter() - start
    print(f"{readings:,} readings of {lake.households(readings):,} households, {size / 1e9:.2f} GB, {seconds:.1f} s")


if __name__ == "__main__":
    main()
