"""A day of a country: 10 million households, 480 million half-hourly readings, in one file, on one machine.

python benchmarks/scale/country_day.py FOLDER [MEMORY]       4GB unless stated

The month of benchmarks/scale/readings.py has many readings of fewer households; this has the households. One file is
the worst that a lake can do: a part of the readings that cannot be cut.
"""

from __future__ import annotations

import json
import sys
import time
from hashlib import sha256
from pathlib import Path

from generate import Lake, generate
from keep import keep, peak_mb

from gridveil.trusted.budget import Bound
from gridveil.trusted.engines.base.engine import EngineSettings, parse_size
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable
from gridveil.trusted.source.ingest import ingest

HOUSEHOLDS = 10_000_000
DAY = Lake(days=1, per_day=48, side=256)
BOUND = Bound(20_000, 100_000)


def main() -> None:
    folder, memory = Path(sys.argv[1]) / "day", [*sys.argv, "4GB"][2]
    generate(folder, HOUSEHOLDS * DAY.per_day, DAY)
    settings = EngineSettings(memory=int(str(parse_size(memory))), scratch=folder)
    files = ReadingsTable(f"{folder}/day-*.parquet"), HouseholdsTable(f"{folder}/households.parquet")
    laps = [time.perf_counter()]
    source, report = ingest(*files, DAY.grid, DAY.window, settings)
    laps.append(time.perf_counter())
    cube = source.bounded_cube(DAY.window, BOUND)
    laps.append(time.perf_counter())
    source.forget()
    figures = {
        "ingest_seconds": laps[1] - laps[0],
        "cube_seconds": laps[2] - laps[1],
        "households": report.households,
        "readings": report.readings,
        "counted": report.counted,
        "sha256": sha256(cube.tobytes()).hexdigest(),
        "peak_mb": peak_mb(),
    }
    keep("country's day", f"duckdb {memory}", figures)
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
