"""Walking through a release some steps at a time, so that one of any size is exported in little memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gridveil.model.progress import Progress, silent
from gridveil.release.query.open import Release

SLAB = 2**20
"""Cells times steps that are held at a time."""

STAGE = "export"
PUBLIC = 0o644  # an export may be read by everybody, as a release may


@dataclass(frozen=True)
class Slab:
    """The steps from `first` on, with the 95 % interval of every single cell and step; kWh, axes (time, y, x)."""

    first: int
    value: NDArray[np.float32]
    standard_error: NDArray[np.float32]
    low: NDArray[np.float32]
    high: NDArray[np.float32]

    @property
    def steps(self) -> slice:
        """Which steps these are."""
        return slice(self.first, self.first + len(self.value))


def slabs(release: Release, progress: Progress = silent, size: int = SLAB) -> Iterator[Slab]:
    """Give all steps in turn, as many at a time as have about `size` cells, and at least one."""
    ny, nx, steps = release.grid.ny, release.grid.nx, release.window.steps
    rows = max(1, size // (ny * nx))
    for first in range(0, steps, rows):
        last = min(first + rows, steps)
        parts = np.empty((4, last - first, ny, nx), np.float32)
        for step in range(first, last):
            at = release.cells(step, step + 1)
            parts[:, step - first] = at.value, at.standard_error, at.low, at.high
            progress(STAGE, (step + 1) / steps)
        yield Slab(first, *parts)
