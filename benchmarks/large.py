"""Mosaic on a large town: 65,536 households, 256 x 256 cells, 720 hours, with the noise of a publication."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import numpy as np

from gridveil.mechanisms.mosaic import Mosaic
from gridveil.model.window import Window
from gridveil.simulate.sources import kernel_on
from gridveil.trusted.budget import Bound

SIDE, STEPS, EPSILON = 256, 720, 3
STEP_BOUND = 23_000


def measure() -> dict[str, float]:
    random = np.random.default_rng(0)
    totals = random.lognormal(6.0, 0.7, (SIDE, SIDE, 1))
    day = 1 + 0.5 * np.sin(2 * np.pi * np.arange(STEPS) / 24)
    cube = np.empty((SIDE, SIDE, STEPS), dtype=np.int64)
    for row in range(SIDE):
        cube[row] = totals[row] * day * random.gamma(2.0, 0.5, (SIDE, STEPS))
    window = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), STEPS)
    kernel = kernel_on(cube, window, epsilon=EPSILON, bound=Bound(STEP_BOUND, STEP_BOUND * STEPS), seed=None)
    start = time.perf_counter()
    Mosaic().release(kernel.session())
    return {"seconds": time.perf_counter() - start}
