"""Invented readings, any number of them: a month of half hours of as many households as it takes, a file a day.

python benchmarks/scale/generate.py FOLDER READINGS      writes FOLDER/day-01.parquet ... day-30.parquet and
                                                         FOLDER/households.parquet

Households and values follow from hashes, so that the same number gives the same rows. One household in ten thousand
has faults of every kind; one reading in a hundred thousand is sent twice.
"""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb

from gridveil.cube import Grid, Window

START = datetime(2013, 4, 1, tzinfo=UTC)
DAYS, PER_DAY = 30, 48
SIDE = 32
GRID = Grid(0, 0, SIDE, SIDE, SIDE, SIDE)
WINDOW = Window(START, timedelta(hours=1), DAYS * 24)
ID = "'MAC' || lpad(h::VARCHAR, 9, '0')"


def households_of(readings: int) -> int:
    """Return how many households send about so many readings in the month."""
    return max(1, round(readings / (DAYS * PER_DAY)))


def generate(folder: Path, readings: int) -> None:
    """Write the tables. Nothing is done if they are there."""
    if (folder / "households.parquet").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    count = households_of(readings)
    con = duckdb.connect()
    for day in range(DAYS):
        _copy(con, _day(day, count), folder / f"day-{day + 1:02}.parquet")
    place = ", ".join(f"{SIDE} * (hash(h, '{axis}') % 1000000) / 1e6 AS {axis}" for axis in "xy")
    homes = f"SELECT {ID} AS household, {place} FROM range({count}) r(h)"  # noqa: S608  # ours
    _copy(con, homes, folder / "households.parquet")


def _day(day: int, count: int) -> str:
    """Return the query for a day's readings, household after household."""
    first = day * PER_DAY
    at = f"(TIMESTAMP '{START:%Y-%m-%d}' + to_minutes(30 * s)) AS timestamp"
    used = "round(0.02 + 1.4 * pow((hash(h, s) % 65536) / 65536, 4) + 0.1 * (hash(h) % 8), 3)"
    poisoned = f"""CASE WHEN h % 10000 <> 7 THEN {used}
                        ELSE [NULL, 'nan'::DOUBLE, 'inf'::DOUBLE, -1.0, 1e300, {used}][1 + s % 6] END"""
    rows = f"FROM range({count}) r(h), range({first}, {first + PER_DAY}) q(s)"
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
    folder, readings = Path(sys.argv[1]), int(float(sys.argv[2]))
    start = time.perf_counter()
    generate(folder, readings)
    size = sum(file.stat().st_size for file in folder.iterdir())
    seconds = time.perf_counter() - start
    print(f"{readings:,} readings of {households_of(readings):,} households, {size / 1e9:.2f} GB, {seconds:.1f} s")


if __name__ == "__main__":
    main()
