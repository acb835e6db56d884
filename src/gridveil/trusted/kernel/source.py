"""What the kernel asks of the ingested data. Only `kernel.py` may call these methods."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.trusted.kernel.bound import Bound


class Source(Protocol):
    """The contributions of all households: each in one cell, integer Wh per step.

    Required of an implementation, because the kernel's guarantee rests on it: a household's rows influence
    only its own contribution, a household is in exactly one cell, and neither success nor failure of a call, nor
    the shape of its answer, depends on the rows.
    """

    @property
    def grid(self) -> Grid:
        """The public grid."""

    @property
    def window(self) -> Window:
        """All steps that were read: a training window may come before the published one."""

    def bounded_cube(self, window: Window, bound: Bound, rows: slice | None = None) -> NDArray[np.int64]:
        """Return the sums over households of their bounded contributions, axes (x, y, t), Wh.

        rows: `slice(first, end)` of the x axis, for just that slab of the cube; `None` for all of it. Slabs are parts
            of the same cube: a household is bounded by its whole window, and is in one slab only.
        """

    def count_totals(self, window: Window, step_bound: int, edges: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count the households whose total of capped steps is in `[edges[i], edges[i+1])`; the last bin is open.

        Households without a reading in the window are not counted.
        """
