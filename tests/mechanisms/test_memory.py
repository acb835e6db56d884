"""Mechanisms for large cubes make nothing of a cube's size: memory is for maps and profiles."""

import tracemalloc
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from numpy.typing import NDArray

from gridveil.geography.grid import Grid
from gridveil.mechanisms.base import make
from gridveil.mechanisms.inference import true_consumption
from gridveil.mechanisms.mosaic import mechanism as mosaic
from gridveil.mechanisms.stpt import network as learn
from gridveil.model.running import Limits
from gridveil.model.window import Window
from gridveil.publishing.run import release_with_private_bound
from gridveil.simulate.sources import SeededLaplace
from gridveil.trusted.budget import Bound, PureDP
from gridveil.trusted.kernel.kernel import Kernel
from gridveil.uncertainty import Estimate

SIDE, STEPS, BEFORE = 32, 3000, 48
CUBE = SIDE**2 * STEPS * 8
LIMITS = Limits(held_values=2**15, slab_values=2**15)
MOST = 0.75
"""Of a cube of floats. Looks of mosaic have labels of two bytes a value, and the kernel has a copy: half of it."""


class Town:
    """Twenty households in each cell, alike, of which only a slab is ever there."""

    def __init__(self, window: Window) -> None:
        self.grid, self.window = Grid(0, 0, 1, 1, SIDE, SIDE), window

    def bounded_cube(self, window: Window, bound: Bound, rows: slice | None = None) -> NDArray[np.int64]:
        assert rows is not None
        day = 400 + 200 * np.sin(np.arange(window.steps) / 24 * 2 * np.pi)
        return np.broadcast_to(
            20 * np.minimum(day, bound.step).astype(np.int64), (rows.stop - rows.start, SIDE, window.steps)
        )

    def count_totals(self, window: Window, step_bound: int, edges: NDArray[np.int64]) -> NDArray[np.int64]:
        del step_bound
        counts = np.zeros(len(edges), dtype=np.int64)
        counts[np.searchsorted(edges, 400 * window.steps) - 1] = 20 * SIDE**2
        return counts


def release(name: str, bounds: str, steps: int) -> Estimate:
    window = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), steps)
    whole = Window(window.before(BEFORE).start, window.step, BEFORE + steps)
    bound = Bound(2000, (1000 if bounds == "given" else 2000) * steps)
    kernel = Kernel(Town(whole), window, budget=PureDP(3), bound=bound, noise=SeededLaplace(0), limits=LIMITS)
    mechanism = make(name, {"train_steps": BEFORE, "epochs": 1} if name == "stpt" else {})
    return mechanism.release(kernel.session()) if bounds == "given" else release_with_private_bound(kernel, mechanism)


@pytest.mark.parametrize("bounds", ["given", "private"])
@pytest.mark.parametrize("name", ["even", "mosaic", "stpt"])
def test_nothing_of_the_size_of_the_cube_is_made(name: str, bounds: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learn, "ENSEMBLE", 1)
    for module in (mosaic, true_consumption):
        monkeypatch.setattr(module, "choose_draws", lambda _: 8)
    release(name, bounds, BEFORE)  # libraries import what they need: slow if it is watched
    tracemalloc.start()
    release(name, bounds, STEPS)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < MOST * CUBE
