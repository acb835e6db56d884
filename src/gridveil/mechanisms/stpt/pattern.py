"""The pattern: what the published window is expected to look like."""

from __future__ import annotations

from dataclasses import dataclass

from gridveil.model.units import Floats


@dataclass(frozen=True)
class Pattern:
    """Expected use of cell (x, y) at step t, Wh: `space[x, y] * time[t]`, all positive. Sanitised.

    How wrong it may be: `total_variance` of the total, Wh squared; beside that `shape_variance` of a single step,
    relative to the square of its use; errors of successive steps have the correlation `shape_memory`.
    """

    space: Floats
    time: Floats
    total_variance: float
    shape_variance: float
    shape_memory: float

    @property
    def total(self) -> float:
        """Expected use of the whole cube, Wh."""
        return float(self.space.sum() * self.time.sum())

    @property
    def cube(self) -> Floats:
        """The whole pattern, axes (x, y, t)."""
        return self.space[:, :, None] * self.time
