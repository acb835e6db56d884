"""The knapsack against enumeration of every admissible contribution, and compact accounts against plain ones."""

from datetime import UTC, datetime, timedelta
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.codes import has_code

from gridveil.model.errors import UsageError
from gridveil.model.window import Window
from gridveil.trusted.budget import Bound
from gridveil.trusted.kernel import account as account_module
from gridveil.trusted.kernel.account import Account, Marks, worst_loss

SHAPE = (2, 3, 4)
WINDOW = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), SHAPE[2])


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


@pytest.mark.parametrize(
    ("step", "window", "code"),
    [
        (0, 5, "bound-too-small"),
        (5, 0, "bound-too-small"),
        (-1, 5, "bound-too-small"),
        (1, 2**36 + 1, "bound-too-large"),
        (2**20, 2**33, "bounds-product"),
    ],
)
def test_bounds_that_could_break_the_arithmetic_are_refused(step: int, window: int, code: str) -> None:
    with pytest.raises(UsageError, check=has_code(code)):
        Bound(step, window)


@st.composite
def measurements(draw: st.DrawFn) -> tuple[Marks, Any]:
    """Labels of any shape that broadcasts to the cube, and a weight of each label; often equal, -1 where not measured.

    Labels that are broadcast, or repeat along an axis, have full length and do not vary.
    """
    shape = tuple(draw(st.sampled_from([1, full])) for full in SHAPE)
    size, least = int(np.prod(shape)), draw(st.sampled_from([-1, 0]))
    marks = np.array(draw(st.lists(st.integers(least, 2), min_size=size, max_size=size))).reshape(shape)
    if draw(st.booleans()):
        marks = np.broadcast_to(marks, SHAPE)
    weight = np.array(draw(st.lists(st.sampled_from([0.1, 0.1, 1 / 3, 7.0]), min_size=3, max_size=3)))
    return marks, weight


@given(
    made=st.lists(measurements(), min_size=1, max_size=5),
    bound=st.builds(Bound, step=st.integers(1, 4), window=st.integers(1, 20)),
)
def test_a_compact_account_has_the_losses_of_a_plain_one(made: list[Any], bound: Bound) -> None:
    """A plain one keeps a weight for each cell and step. Axes are short just where nothing measured varies."""
    account, plain, short = Account(WINDOW, bound), np.zeros(SHAPE), [True] * 3
    for marks, weight in made:
        weights = np.broadcast_to(np.where(marks >= 0, weight[marks], 0.0), SHAPE)
        plain = plain + weights
        short = [kept and not np.ptp(weights, axis=axis).any() for axis, kept in enumerate(short)]
        asked = account.loss_with(marks, weight)
        np.testing.assert_allclose(np.broadcast_to(asked, SHAPE[:2]), worst_loss(plain, SHAPE[2], bound), rtol=1e-12)
        account.add(marks, weight)
        np.testing.assert_array_equal(np.broadcast_to(account.levels[account.places], SHAPE), plain)
        assert [length == 1 for length in account.places.shape] == short


@pytest.mark.parametrize("most_pairs", [0, 10**9])
def test_an_account_of_many_weights_is_exact(most_pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than small integers number, told apart or not: 600 different weights, then 600 more on the same places."""
    monkeypatch.setattr(account_module, "MAX_PAIRS", most_pairs)
    random = np.random.default_rng(0)
    account, plain = Account(WINDOW, Bound(3, 7)), np.zeros((5, 30, 4))
    for _ in range(3):
        marks = random.integers(-1, 600, plain.shape).astype(np.int16)
        weight = random.uniform(1, 2, 600)
        account.add(marks, weight)
        plain += np.append(weight, 0)[marks]
        np.testing.assert_array_equal(account.levels[account.places], plain)
    assert len(account.levels) <= plain.size


def test_many_labels_of_two_weights_are_two_levels() -> None:
    """However many labels there are: an account does not grow with them."""
    shape = (1, 1025, 1024)
    account = Account(Window(WINDOW.start, WINDOW.step, 1024), Bound(3, 7))
    marks = np.arange(1025 * 1024).reshape(shape)
    account.add(marks, np.where(marks.ravel() % 2 == 0, 0.5, 0.25))
    assert marks.size > account_module.MAX_PAIRS
    assert sorted(account.levels) == [0.25, 0.5]


def test_equal_noise_on_everything_takes_one_number_whatever_its_labels() -> None:
    account = Account(WINDOW, Bound(3, 7))
    for marks in (np.arange(24).reshape(SHAPE), np.zeros((1, 1, 1), dtype=int), np.arange(4).reshape(1, 1, 4)):
        account.add(marks, np.full(24, 0.5))
    assert account.levels[account.places].tolist() == [[[1.5]]]
    account.add(np.array([0, 0, -1, -1]).reshape(1, 1, 4), np.array([0.5]))
    assert account.levels[account.places].tolist() == [[[2.0, 2.0, 1.5, 1.5]]]


@pytest.mark.parametrize("label", [-2, 3])
def test_a_label_without_a_weight_is_refused(label: int) -> None:
    account = Account(Window(datetime(2013, 1, 1, tzinfo=UTC), timedelta(hours=1), 2), Bound(1, 2))
    with pytest.raises(UsageError, check=has_code("account-labels")):
        account.loss_with(np.array([[[0, label]]]), np.ones(3))


def test_weights_of_another_number_of_steps_are_refused() -> None:
    with pytest.raises(UsageError, check=has_code("account-steps")):
        worst_loss(np.ones((1, 1, 2)), 3, Bound(1, 2))
