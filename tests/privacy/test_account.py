"""The knapsack against enumeration of every admissible contribution."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridveil.errors import UsageError
from gridveil.privacy.account import worst_loss
from gridveil.privacy.bound import Bound


def enumerate_worst(weights: list[float], bound: Bound) -> float:
    choices = product(range(bound.step + 1), repeat=len(weights))
    return max(float(np.dot(weights, v)) for v in choices if sum(v) <= bound.window)


@given(
    weights=st.lists(st.floats(0, 10), min_size=1, max_size=4),
    step=st.integers(1, 4),
    window=st.integers(1, 20),
)
def test_equals_the_worst_of_all_integer_contributions(weights: list[float], step: int, window: int) -> None:
    bound = Bound(step, window)
    loss = worst_loss(np.array([[weights]]), len(weights), bound)
    assert loss.shape == (1, 1)
    assert loss[0, 0] == pytest.approx(enumerate_worst(weights, bound), rel=1e-12, abs=1e-12)


@given(weight=st.floats(0, 10), steps=st.integers(1, 9), step=st.integers(1, 9), window=st.integers(1, 50))
def test_one_weight_for_all_steps_is_the_same_as_all_steps_alike(
    weight: float, steps: int, step: int, window: int
) -> None:
    short = worst_loss(np.full((1, 1, 1), weight), steps, Bound(step, window))
    long = worst_loss(np.full((1, 1, steps), weight), steps, Bound(step, window))
    np.testing.assert_allclose(short, long, rtol=1e-12)


@pytest.mark.parametrize(("step", "window"), [(0, 5), (5, 0), (-1, 5), (1, 2**36 + 1), (2**20, 2**33)])
def test_bounds_that_could_break_the_arithmetic_are_refused(step: int, window: int) -> None:
    with pytest.raises(UsageError, match="Wh"):
        Bound(step, window)
