"""The pattern: what the published window is expected to look like."""

from __future__ import annotations

from dataclasses import dataclass

from gridveil.estimate import Floats


@dataclass(frozen=True)
class Pattern:
    """Expected use of cell (x, y) at step t, Wh: `space[x, y] * time[t]`, all positive. Sanitised.

    `total_variance` says how wrong the expected total may be, Wh squared.
    """

    space: Floats
    time: Floats
    total_variance: float

    @property
    def total(self) -> float:
        """Expected use of the whole cube, Wh."""
        return float(self.space.sum() * self.time.sum())

    @property
    def cube(self) -> Floats:
        """The whole pattern, axes (x, y, t)."""
        return self.space[:, :, None] * self.time
