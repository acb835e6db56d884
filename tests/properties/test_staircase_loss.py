"""What one household can change in answers with staircase noise, against what the kernel accounts for."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.properties.test_kernel_loss import NX, NY, STEPS, TRAIN, WINDOW, bounds, kernel_of, source

from gridveil.trusted.budget import Bound
from gridveil.trusted.kernel.staircase import Staircase


@st.composite
def sums(draw: st.DrawFn) -> dict[str, Any]:
    shape = tuple(draw(st.sampled_from([1, full])) for full in (NX, NY, STEPS))
    size = math.prod(shape)
    labels = np.array(draw(st.lists(st.integers(-1, 2), min_size=size, max_size=size))).reshape(shape)
    labels.flat[0] = max(labels.flat[0], 0)  # at least one is measured
    return {
        "labels": labels,
        "epsilon": draw(st.floats(0.1, 5)),
        "noise": draw(st.sampled_from(["laplace", "staircase", "staircase"])),
    }


def worst_ratio(staircase: Staircase, shift: int) -> float:
    """The largest log-ratio of any outcome with and without the shift, outcome by outcome."""
    outcome = np.arange(-4 * staircase.delta - shift, 4 * staircase.delta + shift + 1)
    return float(np.abs(staircase.log_mass(outcome) - staircase.log_mass(outcome - shift)).max())


def true_worst(bound: Bound, asked: list[dict[str, Any]], measured: list[Any]) -> float:
    """Brute force: every integer series that the bound admits, in every cell."""
    worst = 0.0
    for x, y in product(range(NX), range(NY)):
        for v in product(range(bound.step + 1), repeat=STEPS):
            if sum(v) > bound.window:
                continue
            loss = 0.0
            for question, answer in zip(asked, measured, strict=True):
                labels = np.broadcast_to(question["labels"], (NX, NY, STEPS))[x, y]
                for label, scale in enumerate(answer.scales):
                    shift = int(np.array(v)[labels == label].sum())
                    loss += worst_ratio(answer.staircase, shift) if answer.staircase else shift / scale
            worst = max(worst, loss)
    return worst


LITTLE_EVERYWHERE = {
    "bound": Bound(step=3, window=3),
    "asked": [{"labels": np.arange(STEPS).reshape(1, 1, STEPS), "epsilon": 1.0, "noise": "staircase"}],
}
"""A household with one Wh in each label crosses a step of the staircase in each, and stays within the window bound."""


@settings(max_examples=60)
@given(bound=bounds, asked=st.lists(sums(), min_size=1, max_size=3))
@example(**LITTLE_EVERYWHERE)
def test_accounted_loss_is_at_least_the_worst_over_all_households(bound: Bound, asked: list[dict[str, Any]]) -> None:
    kernel = kernel_of(source([]), bound)
    measured = [kernel.session().sums(**question) for question in asked]
    assert true_worst(bound, asked, measured) <= kernel.spent


@settings(max_examples=60)
@given(bound=bounds, asked=sums())
def test_accounted_loss_is_the_worst_where_a_household_can_reach_all_labels(
    bound: Bound, asked: dict[str, Any]
) -> None:
    asked = {**asked, "noise": "staircase"}
    kernel = kernel_of(source([]), bound)
    worst = true_worst(bound, [asked], [kernel.session().sums(**asked)])
    labels = np.broadcast_to(asked["labels"], (NX, NY, STEPS)).reshape(-1, STEPS)
    if bound.window >= max(len(set(row) - {-1}) for row in labels.tolist()):
        assert kernel.spent == pytest.approx(worst, rel=1e-9)
    assert worst <= kernel.spent


household = st.tuples(
    st.tuples(st.integers(0, NX - 1), st.integers(0, NY - 1)),
    st.lists(st.integers(0, 9), min_size=TRAIN + STEPS, max_size=TRAIN + STEPS),
)


@settings(max_examples=100)
@given(households=st.lists(household, max_size=4), one=household, bound=bounds, asked=sums(), training=st.booleans())
def test_no_household_moves_an_answer_beyond_its_staircase(
    households: list[Any], one: Any, bound: Bound, asked: dict[str, Any], *, training: bool
) -> None:
    """Through sources, sums and windows as they are: shifts are at most delta, in no more labels than were paid for."""
    window = WINDOW.before(TRAIN) if training else WINDOW
    labels = asked["labels"][..., : window.steps]
    options = {"labels": np.maximum(labels, 0), "epsilon": asked["epsilon"], "window": window, "noise": "staircase"}
    with_one, without = kernel_of(source([*households, one]), bound), kernel_of(source(households), bound)
    answer = with_one.session().sums(**options)
    shifts = np.abs(answer.values - without.session().sums(**options).values)
    assert shifts.max() <= answer.staircase.delta
    assert (shifts > 0).sum() * answer.staircase.epsilon <= with_one.spent
    assert with_one.spent == without.spent
