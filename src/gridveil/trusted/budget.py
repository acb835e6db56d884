"""The budget: an exact epsilon, and what it means in words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Literal

from gridveil.model.errors import BudgetError

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
