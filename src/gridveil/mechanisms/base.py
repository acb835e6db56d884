"""What a mechanism is."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from gridveil.model.estimate import Estimate
from gridveil.model.progress import Progress, silent
from gridveil.trusted.kernel.session import Session

__all__ = ["Mechanism", "Progress", "silent"]


@runtime_checkable
class Mechanism(Protocol):
    """A plan of measurements and a reconstruction. Its parameters are the fields of a frozen dataclass.

    A mechanism whose field or property `train_steps` is positive may also measure that many steps before the window.
    One with the class attribute `chooses_bounds` chooses window bounds itself where none is given; see `bounded.py`.
    """

    def release(self, measure: Session, progress: Progress = silent) -> Estimate:
        """Measure through the kernel's session and reconstruct the cube."""
