"""Whether time grows as readings do, on a machine whose own speed changes from minute to minute.

python benchmarks/scale/growth.py FOLDER [ENGINE SMALL LARGE MEMORY]       duckdb 1e8 1e9 4GB unless stated

The smaller number is read three times before the larger and three times after, each time in a process of its own; its
median stands beside the one long run between them.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from keep import keep

TURNS = 3


def seconds(arguments: list[str]) -> dict[str, Any]:
    """Read the tables and make a cube in a process of its own; return its figures, with the seconds of both."""
    command = [sys.executable, str(Path(__file__).with_name("readings.py")), *arguments]
    figures = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return {**figures, "seconds": figures["ingest_seconds"] + figures["cube_seconds"]}


def main() -> None:
    folder, *stated = sys.argv[1:]
    engine, small, large, memory = stated or ("duckdb", "1e8", "1e9", "4GB")
    before = [seconds([folder, engine, small, memory]) for _ in range(TURNS)]
    long = seconds([folder, engine, large, memory])
    after = [seconds([folder, engine, small, memory]) for _ in range(TURNS)]
    of_small = [run["seconds"] for run in (*before, *after)]
    times = long["readings"] / before[0]["readings"]
    figures = {
        "small_seconds": of_small,
        "large_seconds": long["seconds"],
        "times": times,
        "more": long["seconds"] / statistics.median(of_small) / times - 1,
    }
    keep("growth", f"{engine} {float(small):.0e} to {float(large):.0e} {memory}", figures)
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
