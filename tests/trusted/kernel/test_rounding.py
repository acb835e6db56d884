"""What is accounted for is never below the exact loss: in fractions, of the scales that the noise was drawn with."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import numpy as np
import pytest

from gridveil.model.window import Window
from gridveil.simulate.sources import kernel_on
from gridveil.trusted.budget import Bound
from gridveil.trusted.kernel.account import ROUNDING
from gridveil.trusted.kernel.kernel import Kernel

STEPS = 7
WINDOW = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), STEPS)


def kernel(bound: Bound) -> Kernel:
    return kernel_on(np.zeros((1, 1, STEPS), dtype=np.int64), WINDOW, epsilon=10**6, bound=bound, seed=0)


def exact_knapsack(weights: list[Fraction], bound: Bound) -> Fraction:
    """Fill the heaviest steps first."""
    left, loss = bound.window, Fraction(0)
    for weight in sorted(weights, reverse=True):
        held = min(bound.step, left)
        loss, left = loss + weight * held, left - held
    return loss


@pytest.mark.parametrize("bound", [Bound(step=3, window=17), Bound(step=10, window=7), Bound(step=7, window=100)])
def test_weights_of_many_measurements_cost_no_less_than_they_lose(bound: Bound) -> None:
    """Sums of floats that come out too low would pass for less than was lost, were they not raised."""
    rng, below = np.random.default_rng(0), False
    asked, weights = kernel(bound), [Fraction(0)] * STEPS
    for _ in range(500):
        labels = rng.integers(-1, 3, STEPS)
        labels[0] = 3
        scales = asked.session().sums(labels, float(rng.uniform(1e-3, 1)), relative=rng.uniform(0.2, 5, 4)).scales
        for step, label in enumerate(labels.tolist()):
            weights[step] += 1 / Fraction(float(scales[label])) if label >= 0 else 0
        loss = exact_knapsack(weights, bound)
        assert loss <= Fraction(asked.spent) <= loss * (1 + Fraction(1, 10**9))
        below |= Fraction(asked.spent) / (1 + Fraction(ROUNDING)) < loss
    assert below, "the test has power: without raising, some sum would have been too low"


def test_fixed_charges_cost_no_less_than_they_lose() -> None:
    rng, bound = np.random.default_rng(0), Bound(step=3, window=17)
    asked, loss = kernel(bound), Fraction(0)
    for _ in range(500):
        epsilon = float(rng.uniform(1e-3, 1))
        [scale] = asked.session().household_totals([0], epsilon).scales
        loss += 1 / Fraction(float(scale))
        [scale] = asked.session().sums(np.zeros(STEPS, dtype=np.int64), epsilon, sequential=True).scales
        loss += min(bound.step * STEPS, bound.window) / Fraction(float(scale))
        assert loss <= Fraction(asked.spent) <= loss * (1 + Fraction(1, 10**9))
