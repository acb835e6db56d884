"""The realistic attacker, who has the released values and nothing of how they came about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.model.arrays import Floats


@dataclass(frozen=True)
class Suspect:
    """A household that an attacker looks for: its cell, its curve and what the others of the cell use, kWh (t,)."""

    cell: tuple[int, int]
    curve: Floats
    others: Floats

    def matched(self, values: Floats) -> float:
        """Return how well the curve explains what the released cell (x, y, t) has beyond the others: a projection."""
        return float((values[self.cell] - self.others) @ self.curve / np.linalg.norm(self.curve))

    def total(self, values: Floats) -> float:
        """Return what the released cell has beyond the others in the whole window, kWh."""
        return float((values[self.cell] - self.others).sum())


@dataclass(frozen=True)
class Likeness:
    """How like a household's true curve a reconstruction is: their correlation, and the root mean square error, kWh."""

    correlation: float
    error: float

    @classmethod
    def of(cls, reconstruction: Floats, curve: Floats) -> Likeness:
        """Compare; what is constant is like nothing."""
        spread = float(np.std(reconstruction) * np.std(curve))
        both = float(np.mean((reconstruction - reconstruction.mean()) * (curve - curve.mean())))
        return cls(both / spread if spread > 0 else 0.0, float(np.sqrt(np.mean((reconstruction - curve) ** 2))))
