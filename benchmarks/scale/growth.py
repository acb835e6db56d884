"""Whether time grows as readings do, on a machine whose own speed changes from minute to minute.

python benchmarks/scale/growth.py FOLDER [ENGINE SMALL LARGE MEMORY]       duckdb 1e8 1e9 4GB unless stated

The larger number is read three times, and the smaller three times before and three times after each of them, every time
in a process of its own. A long run stands beside the median of the six short ones around it.
"""

from __future__ import annotations

import itertools
import json
import statistics
import subprocess
import sys
from pathlib import Path

from keep import keep

TURNS = 3


def seconds(arguments: list[str]) -> float:
    """Read the tables and make a cube in a process of its own; return the seconds that both took."""
    command = [sys.executable, str(Path(__file__).with_name("readings.py")), *arguments]
    figures = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return float(figures["ingest_seconds"] + figures["cube_seconds"])


def main() -> None:
    folder, *stated = sys.argv[1:]
    engine, small, large, memory = stated or ("duckdb", "1e8", "1e9", "4GB")
    short, long = [], []
    for _ in range(TURNS):
        short.append([seconds([folder, engine, small, memory]) for _ in range(TURNS)])
        long.append(seconds([folder, engine, large, memory]))
    short.append([seconds([folder, engine, small, memory]) for _ in range(TURNS)])
    times = float(large) / float(small)
    around = [statistics.median(before + after) for before, after in itertools.pairwise(short)]
    each = [run / beside / times - 1 for run, beside in zip(long, around, strict=True)]
    figures = {
        "small_seconds": short,
        "large_seconds": long,
        "each": each,
        "more": statistics.median(each),
    }
    keep("growth", f"{engine} {float(small):.0e} to {float(large):.0e} {memory}", figures)
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
