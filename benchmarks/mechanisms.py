"""Publish 1,024 cells, 100 + 120 steps from end to end: tables in, release out."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

import gridveil
from gridveil.evaluate.town import DEMO_GRID, DEMO_WINDOW, demo_town


def measure(mechanism: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        readings, households = demo_town().write(Path(folder))
        start = time.perf_counter()
        gridveil.publish(
            readings=readings,
            households=households,
            extent=(DEMO_GRID.x0, DEMO_GRID.y0, DEMO_GRID.x1, DEMO_GRID.y1),
            grid=(DEMO_GRID.nx, DEMO_GRID.ny),
            start=DEMO_WINDOW.start,
            steps=DEMO_WINDOW.steps,
            bound_step=20,
            bound_window=192,
            epsilon=3,
            mechanism=mechanism,
            out=Path(folder) / "release",
        )
        return {"seconds": time.perf_counter() - start}
