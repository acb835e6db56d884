"""The budget: an exact epsilon, and what it means in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from gridveil.errors import BudgetError

PLAIN_WORDS_FROM = 5
ACKNOWLEDGE_ABOVE = 30
MOST_DIGITS = 30


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
            raise BudgetError(msg) from error
        if not exact.is_finite() or exact <= 0:
            msg = f"epsilon {epsilon}: it must be a number above zero"
            raise BudgetError(msg)
        if abs(exact.adjusted()) > MOST_DIGITS:
            msg = f"epsilon {epsilon}: beyond anything that can be accounted for"
            raise BudgetError(msg)
        object.__setattr__(self, "epsilon", Fraction(exact))


def attacker_rate(epsilon: float, false_positives: float = 0.01) -> float:
    """Return the best true-positive rate of anyone guessing whether a household is in the data.

    Guarantee: no test that raises a false alarm with probability `f` finds a household with probability above
    `min(e^eps f, 1 - e^-eps (1 - f))`. Both follow from the definition, applied to the alarm and to its absence.

    >>> round(attacker_rate(1), 3), round(attacker_rate(5), 3)
    (0.027, 0.993)
    """
    grown = false_positives * math.exp(min(epsilon, 700.0))
    return min(grown, 1 - (1 - false_positives) * math.exp(-epsilon))
