"""Budget and bounds: the exact epsilon, and the most that one household may contribute to a window."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Literal

from gridveil.model.errors import BudgetError, UsageError

# The budget: an exact epsilon, and what it means in words.

PLAIN_WORDS_FROM = 5
ACKNOWLEDGE_ABOVE = 30
MAX_DIGITS = 30
FALSE_POSITIVES = 0.01
"""The false-positive rate at which attacks are stated."""

Question = Literal["membership", "behaviour", "place", "window_membership", "window_behaviour"]

NEIGHBOUR_STEPS: Mapping[Question, int] = {
    "membership": 1,
    "behaviour": 2,
    "place": 2,
    "window_membership": 1,
    "window_behaviour": 2,
}
"""How many times one household is added or removed between the two worlds that an attacker's question compares.

Guarantee: the loss between the two worlds is at most this number times epsilon. Neighbouring data sets differ by one
household more or less, and losses along a path of neighbours add up.

- membership: the household is in the data, or not. One step.
- behaviour: it is in the data both times and at the same place, with other readings. Remove it, add the other: two.
- place: it is in the data both times with the same readings, at another place. Two, and if its readings differ as
  well, the same two.
- window_membership, window_behaviour: the same with the readings of one household inside one ledger window instead of
  the whole household, and the sum of the debits to that window as epsilon (see `Population`).

Both steps cost a full epsilon only if a release measures both worlds apart, as `identity` does. The numbers are upper
bounds for every mechanism.
"""


@dataclass(frozen=True)
class PureDP:
    """Pure epsilon-differential privacy, with epsilon exact: the decimal that was typed, not its nearest float.

    >>> PureDP("0.1").epsilon * 10 == 1
    True
    """

    epsilon: Fraction

    def __init__(self, epsilon: float | str) -> None:
        try:
            exact = Decimal(str(epsilon))
        except InvalidOperation as error:
            msg = f"epsilon {epsilon!r}: give a positive number such as 1 or 0.5"
            raise BudgetError(msg, code="epsilon-syntax") from error
        if not exact.is_finite() or exact <= 0:
            msg = f"epsilon {epsilon}: it must be a number above zero"
            raise BudgetError(msg, code="epsilon-not-positive")
        if abs(exact.adjusted()) > MAX_DIGITS:
            msg = f"epsilon {epsilon}: beyond anything that can be accounted for"
            raise BudgetError(msg, code="epsilon-too-extreme")
        object.__setattr__(self, "epsilon", Fraction(exact))


def attacker_rate(epsilon: float, false_positives: float = FALSE_POSITIVES) -> float:
    """Return the best true-positive rate of anyone who tells apart two worlds with this loss between them.

    Guarantee: no test that raises a false alarm with probability `f` in one world raises an alarm in the other with
    probability above `min(e^eps f, 1 - e^-eps (1 - f))`. Both follow from the definition, applied to the alarm and to
    its absence. The worlds are those of `NEIGHBOUR_STEPS`.

    >>> round(attacker_rate(1), 3), round(attacker_rate(5), 3)
    (0.027, 0.993)
    """
    grown = false_positives * math.exp(min(epsilon, 700.0))
    return min(grown, 1 - (1 - false_positives) * math.exp(-epsilon))


# The most one household may contribute to a window.

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
