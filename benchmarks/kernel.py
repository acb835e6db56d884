"""One measurement of 64 labels on a 256 x 256 x 720 cube."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridveil.cube import Grid, Window
from gridveil.privacy.bound import Bound
from gridveil.privacy.budget import PureDP
from gridveil.privacy.kernel import Kernel

GRID = Grid(0, 0, 256, 256, nx=256, ny=256)
WINDOW = Window(datetime(2013, 1, 1, tzinfo=UTC), timedelta(hours=1), 720)


class Ready:
    """A source whose cube is there already: only the kernel is measured."""

    grid, window = GRID, WINDOW

    def __init__(self) -> None:
        self.cube = np.random.default_rng(0).integers(0, 5000, (256, 256, 720), dtype=np.int64)

    def bounded_cube(self, window: Window, bound: Bound) -> NDArray[np.int64]:
        """Return the cube."""
        del window, bound
        return self.cube

    def count_totals(self, window: Window, step_bound: int, edges: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return nothing of use."""
        del window, step_bound
        return np.zeros(len(edges), dtype=np.int64)


def measure() -> dict[str, Any]:
    labels = np.random.default_rng(1).integers(0, 64, (256, 256, 720), dtype=np.int16)
    kernel = Kernel(Ready(), WINDOW, budget=PureDP(3), bound=Bound(step=20_000, window=1_000_000))
    start = time.perf_counter()
    kernel.sums(labels, 1.0)
    return {"cells_and_steps": labels.size, "labels": 64, "seconds": time.perf_counter() - start}
