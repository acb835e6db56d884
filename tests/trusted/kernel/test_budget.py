import math
from fractions import Fraction

import pytest

from gridveil.model.errors import BudgetError
from gridveil.trusted.budget import PureDP, attacker_rate


def test_epsilon_is_the_decimal_that_was_typed() -> None:
    assert PureDP(0.1).epsilon == Fraction(1, 10)
    assert PureDP("1e-3").epsilon == Fraction(1, 1000)
    assert sum(PureDP("0.1").epsilon for _ in range(10)) == 1


@pytest.mark.parametrize(
    "epsilon", [0, -1, "nan", "inf", "three", "", "1/0", "1e400", "1e-400", "1e999999999", True, math.nan, math.inf]
)
def test_what_is_no_budget_is_refused(epsilon: float | str) -> None:
    with pytest.raises(BudgetError):
        PureDP(epsilon)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0, 30.0, 1e6])
def test_attacker_rate_respects_the_definition_both_ways(epsilon: float) -> None:
    rate = attacker_rate(epsilon, 0.01)
    assert 0.01 < rate <= 1
    assert rate <= 0.01 * math.exp(min(epsilon, 700)) * (1 + 1e-12)
    assert 1 - rate == pytest.approx(max(0.99 * math.exp(-epsilon), 1 - 0.01 * math.exp(min(epsilon, 700))), abs=1e-15)


def test_attacker_rate_at_epsilon_zero_is_guessing() -> None:
    assert attacker_rate(0.0) == pytest.approx(0.01)
