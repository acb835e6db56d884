"""The kernel alone: sources are invented, noise is real.

python benchmarks/kernel.py big              questions on a year of hours on 256 x 256 cells, printed as JSON
python benchmarks/kernel.py big SIDE STEPS   the same on another size

`make benchmarks` runs one measurement of 64 labels on a 256 x 256 x 720 cube. The big ones take minutes.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridveil.geography.grid import Grid
from gridveil.mechanisms.literature.even import Even
from gridveil.mechanisms.literature.identity import Identity
from gridveil.model.window import Window
from gridveil.simulate.sources import InventedSource
from gridveil.trusted.budget import Bound, PureDP
from gridveil.trusted.kernel.kernel import Kernel
from gridveil.trusted.kernel.session import Session

GRID = Grid(0, 0, 256, 256, nx=256, ny=256)
START, STEP = datetime(2013, 1, 1, tzinfo=UTC), timedelta(hours=1)
WINDOW = Window(START, STEP, 720)
BLOCKS = 8


class Ready:
    """A source whose cube is there already: only the kernel is measured."""

    grid, window = GRID, WINDOW

    def __init__(self) -> None:
        self.cube = np.random.default_rng(0).integers(0, 5000, (256, 256, 720), dtype=np.int64)

    def bounded_cube(self, window: Window, bound: Bound, rows: slice | None = None) -> NDArray[np.int64]:
        """Return the cube."""
        del window, bound
        return self.cube if rows is None else self.cube[rows]

    def count_totals(self, window: Window, step_bound: int, edges: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return nothing of use."""
        del window, step_bound
        return np.zeros(len(edges), dtype=np.int64)


def measure() -> dict[str, Any]:
    labels = np.random.default_rng(1).integers(0, 64, (256, 256, 720), dtype=np.int16)
    kernel = Kernel(Ready(), WINDOW, budget=PureDP(3), bound=Bound(step=20_000, window=1_000_000))
    start = time.perf_counter()
    kernel.session().sums(labels, 1.0)
    return {"cells_and_steps": labels.size, "labels": 64, "seconds": time.perf_counter() - start}


def districts(side: int) -> NDArray[np.int16]:
    """Return labels (x, y, 1) of blocks of cells."""
    block = (np.arange(side) * BLOCKS // side).astype(np.int16)
    return (block[:, None] * BLOCKS + block)[:, :, None]


def look(side: int, steps: int) -> NDArray[np.int16]:
    """Return labels of blocks and parts of the day, for each cell and step, as mosaic's look at regions has them."""
    return districts(side) * np.int16(6) + (np.arange(steps, dtype=np.int16) % np.int16(24)) // np.int16(4)


BIG: dict[str, Callable[[Session, int, int], object]] = {
    "identity": lambda session, _side, _steps: Identity().release(session),
    "even": lambda session, _side, _steps: Even().release(session),
    "space": lambda session, side, _steps: session.sums(districts(side), 1.0),
    "time": lambda session, _side, steps: session.sums(np.arange(steps), 1.0),
    "look": lambda session, side, steps: session.sums(look(side, steps), 1.0),
    "look, charged label by label": lambda session, side, steps: session.sums(look(side, steps), 1.0, sequential=True),
    "look, some not measured": lambda session, side, steps: session.sums(look(side, steps) - np.int16(1), 1.0),
}


def ask_one(name: str, side: int, steps: int) -> dict[str, Any]:
    window = Window(START, STEP, steps)
    source = InventedSource(Grid(0, 0, side, side, nx=side, ny=side), window)
    session = Kernel(source, window, budget=PureDP(1), bound=Bound(step=20_000, window=1000 * steps)).session()
    start = time.perf_counter()
    BIG[name](session, side, steps)
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": round(seconds, 1), "peak_mb": round(peak / (1e6 if sys.platform == "darwin" else 1e3))}


def ask_all(side: int, steps: int) -> dict[str, Any]:
    """Ask each question in a process of its own: memory is that of the question alone."""
    results: dict[str, Any] = {"cells_and_steps": side * side * steps}
    for name in BIG:
        command = [sys.executable, __file__, "big", str(side), str(steps), name]
        results[name] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return results


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["big"]:
            print(json.dumps(ask_all(256, 8760), indent=1))
        case ["big", side, steps]:
            print(json.dumps(ask_all(int(side), int(steps)), indent=1))
        case ["big", side, steps, name]:
            print(json.dumps(ask_one(name, int(side), int(steps))))
        case _:
            print(__doc__)
