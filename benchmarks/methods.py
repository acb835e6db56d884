"""Every method on 5,000 households, 32 x 32 x 120, with the noise of a publication: what the method itself takes."""

from __future__ import annotations

import time

from gridveil.mechanisms.base import list_names, make
from gridveil.research.datasets.catalogue import open_dataset
from gridveil.research.datasets.dataset import place_dataset
from gridveil.trusted.budget import Bound, PureDP
from gridveil.trusted.kernel.kernel import Kernel

BOUND = Bound(step=20_000, window=222_000)
EPSILON = 30  # the paper's: trees are finest, so methods are slowest
PUBLISHED_WHOLE = {"stpt", "stpt-paper"}  # have benchmarks of their own


def measure() -> dict[str, dict[str, float]]:
    placed = place_dataset(open_dataset("CER"), "uniform", (32, 32), 0)
    seconds = {}
    for name in list_names():
        if name not in PUBLISHED_WHOLE:
            kernel = Kernel(placed.source(), placed.dataset.window, budget=PureDP(EPSILON), bound=BOUND)
            start = time.perf_counter()
            make(name, {}).release(kernel.session())
            seconds[name] = time.perf_counter() - start
    return {"seconds": seconds}
