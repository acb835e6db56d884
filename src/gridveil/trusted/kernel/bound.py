"""The most one household may contribute to a window."""

from __future__ import annotations

import operator
from dataclasses import dataclass

from gridveil.model.errors import UsageError

MAX_HOUSEHOLDS = 2**27
"""A public number: sums are exact for fewer households than these, 134 million, whatever they use."""
MAX_WINDOW_BOUND = 2**63 // MAX_HOUSEHOLDS
"""Wh (69 GWh): the sum over all steps and households stays inside int64. Known before a row is read."""

SUPPLY_WATTS = 23_000
"""Watts of a 100 A supply at 230 V: few homes ever use more. A public number, and the default step bound's power."""


def default_step_bound(seconds: int) -> int:
    """Return the step bound of a step of so many seconds where none is stated, Wh: all that `SUPPLY_WATTS` delivers.

    >>> default_step_bound(1800)
    11500
    """
    return max(1, SUPPLY_WATTS * seconds // 3600)


@dataclass(frozen=True)
class Bound:
    """Integer Wh: at most `step` in one step and `window` in the whole window.

    Both are public numbers, or were paid for. A household's contribution `v` to a window is made to satisfy
    `0 <= v_t <= step` and `sum_t v_t <= window` before anything is summed: cap each step, then, if the total
    is still over, scale the whole series down and round it down.

    >>> Bound(step=20_000, window=136_000).prorate(120, 100)
    Bound(step=20000, window=113333)
    """

    step: int
    window: int

    def __post_init__(self) -> None:
        """Refuse bounds that are not positive whole numbers, or whose arithmetic could leave int64."""
        # A numpy integer could wrap around, and a float would bound sums to something else than is accounted for.
        object.__setattr__(self, "step", operator.index(self.step))
        object.__setattr__(self, "window", operator.index(self.window))
        if self.step < 1 or self.window < 1:
            msg = f"bounds of {self.step} and {self.window} Wh: both must be at least 1 Wh"
            raise UsageError(msg, code="bound-too-small")
        if self.window > MAX_WINDOW_BOUND:
            msg = (
                f"window bound of {self.window} Wh: the largest supported is {MAX_WINDOW_BOUND} Wh: sums over "
                f"up to {MAX_HOUSEHOLDS:,} households must fit 64 bits; lower the bounds, or publish fewer steps"
            )
            raise UsageError(msg, code="bound-too-large")
        if self.step * self.window >= 2**53:
            msg = (
                f"bounds of {self.step} and {self.window} Wh: their product must stay below 2**53; lower the step bound"
            )
            raise UsageError(msg, code="bounds-product")

    def prorate(self, steps: int, other: int) -> Bound:
        """Return this bound of a window of `steps` steps, carried over to one of `other` steps pro rata."""
        return Bound(self.step, max(1, self.window * other // steps))
