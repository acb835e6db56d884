"""What a yardstick is: a method that others are measured against, and that is never published."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from gridveil.model.arrays import Floats
from gridveil.research.datasets.dataset import Placed
from gridveil.trusted.kernel.bound import Bound


@runtime_checkable
class Yardstick(Protocol):
    """A method that looks at true values, or promises less than a mechanism does. It has no kernel and no release."""

    @property
    def promise(self) -> str:
        """What it guarantees, in words."""

    def release(self, placed: Placed, epsilon: float, bound: Bound, clip: int, seed: int) -> Floats:
        """Return what it would publish of the window, kWh (x, y, t); NaN where it publishes nothing.

        Public numbers: epsilon, the bound that mechanisms work under, and `clip`, Wh of one reading. `seed` is of its
        noise, which is therefore for experiments only.
        """
