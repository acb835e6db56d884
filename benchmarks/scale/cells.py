"""What a cell and step costs, from ten thousand to a hundred million: benchmarks/year.py on smaller towns and windows.

python benchmarks/scale/cells.py FOLDER MECHANISM [CELLS ...]      e.g. /data mosaic 1e4 1e6; all if none is named

The largest, a whole year, is that of benchmarks/year.py itself, in year.json.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from keep import keep

YEAR = Path(__file__).parents[1] / "year.py"
SHAPES = {"1e4": (10, 100), "1e5": (32, 98), "1e6": (32, 977), "1e7": (64, 2441), "1e8": (128, 6104)}
"""The side of the map, and steps."""


def measure(folder: Path, mechanism: str, side: int, steps: int) -> dict[str, Any]:
    """Make a release and ask it, each in a process of its own."""
    command = [sys.executable, str(YEAR), str(folder), mechanism, "--side", str(side), "--steps", str(steps), "--stage"]
    stages = ("make", "ask")
    made, asked = (
        json.loads(subprocess.run([*command, stage], check=True, stdout=subprocess.PIPE).stdout) for stage in stages
    )
    return {
        "cells": side**2 * steps,
        "release_seconds": made["measure and infer seconds"],
        "write_seconds": made["write seconds"],
        "open_seconds": asked["open_and_first_answer_seconds"],
        "query_ms": asked["box_ms"]["median"],
        "peak_mb": made["peak_mb"],
        "gigabytes": made["gigabytes"],
    }


def main() -> None:
    folder, mechanism, *sizes = Path(sys.argv[1]), *sys.argv[2:]
    for size in sizes or SHAPES:
        place = folder / f"{mechanism}-{size}"
        figures = measure(place, mechanism, *SHAPES[size])
        shutil.rmtree(place)
        keep("cells", f"{mechanism} {size}", figures)
        print(size, json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
