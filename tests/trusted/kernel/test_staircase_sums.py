"""Sums with staircase noise: what the kernel charges, hands out and refuses."""

import math
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.codes import has_code

from gridveil.model.errors import BudgetError, UsageError
from gridveil.model.window import Window
from gridveil.simulate.sources import SeededLaplace, Tape, kernel_on
from gridveil.trusted.budget import Bound
from gridveil.trusted.kernel.kernel import Kernel
from gridveil.trusted.kernel.labels import count_labels_and_steps
from gridveil.trusted.kernel.staircase import Staircase, choose_staircase

WINDOW = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 4)
BOUND = Bound(step=10, window=25)
READINGS = np.arange(3 * 2 * 4).reshape(3, 2, 4)
CELLS = np.arange(6).reshape(3, 2, 1)


def kernel(epsilon: float | str = 1, seed: int | None = 0, bound: Bound = BOUND) -> Kernel:
    return kernel_on(READINGS, WINDOW, epsilon=epsilon, bound=bound, seed=seed)


@pytest.mark.parametrize("epsilon", ["1", "0.1", "0.01", "3", "30", "700", "1e9"])
@pytest.mark.parametrize("labels", [0, CELLS, np.arange(4), np.arange(24).reshape(3, 2, 4) % 5])
def test_one_measurement_uses_the_whole_budget_and_no_more(labels: Any, epsilon: str) -> None:
    asked = kernel(epsilon)
    measured = asked.session().sums(labels, float(epsilon), noise="staircase")
    assert Fraction(asked.spent) <= Fraction(epsilon)
    assert asked.spent >= float(epsilon) * (1 - 1e-9)
    assert np.isfinite(measured.values).all()
    assert (np.isfinite(measured.scales) & (measured.scales > 0)).all()


def test_delta_is_the_most_a_label_moves_and_labels_of_a_pillar_share_epsilon() -> None:
    for labels, delta, most in (
        (0, 25, 1),
        (CELLS, 25, 1),
        (np.arange(4), 10, 4),
        (np.array([0, 0, 1, -1]), 20, 2),
        (np.where(CELLS == 3, np.arange(4), -1), 10, 4),
        (np.where(CELLS == 3, np.array([0, 1, 1, 1]), 0), 25, 2),
    ):
        measured = kernel().session().sums(labels, 1.0, noise="staircase")
        staircase = measured.staircase
        assert staircase is not None
        assert staircase.delta == delta
        assert staircase.epsilon == pytest.approx(1 / most, rel=1e-9)
        assert most * staircase.epsilon < 1.0
        assert staircase == choose_staircase(delta, staircase.epsilon)
        assert measured.scales == pytest.approx([math.sqrt(staircase.variance / 2)] * (np.max(labels) + 1))


def test_it_is_a_fixed_charge_beside_all_others() -> None:
    asked = kernel("2")
    asked.session().sums(CELLS, 1.0, noise="staircase")
    asked.session().sums(CELLS, 0.5)
    asked.session().household_totals([0], 0.25)
    asked.session().sums(0, 0.25, noise="staircase")
    assert 2 - 1e-9 <= asked.spent <= 2
    assert [record.noise for record in asked.records] == ["staircase", "laplace", "laplace", "staircase"]
    before = asked.spent
    with pytest.raises(BudgetError, check=has_code("over-budget")):
        asked.session().sums(0, 0.1, noise="staircase")
    assert asked.spent == before
    assert len(asked.records) == 4


@pytest.mark.parametrize(
    "options", [{"relative": [1.0, 2.0]}, {"sequential": True}, {"noise": "gauss"}, {"labels": -1}, {"labels": 0.5}]
)
def test_questions_without_meaning_are_refused_before_anything_is_spent(options: dict[str, Any]) -> None:
    asked = kernel()
    with pytest.raises(UsageError):
        asked.session().sums(**{"labels": 0, "epsilon": 1.0, "noise": "staircase", **options})
    assert asked.spent == 0


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf, 1e-7, 1e-300, 1e17, 1e300])
def test_epsilons_that_cannot_be_drawn_are_refused_before_anything_is_spent(epsilon: float) -> None:
    asked = kernel("1e30")
    with pytest.raises(BudgetError):
        asked.session().sums(0, epsilon, noise="staircase")
    assert asked.spent == 0


def test_noise_beyond_64_bits_is_refused() -> None:
    window = Window(WINDOW.start, WINDOW.step, 2**20)
    asked = kernel_on(np.zeros((1, 1, 2**20)), window, epsilon=1, bound=Bound(2**16, 2**36))
    with pytest.raises(BudgetError, check=has_code("noise-too-large")):
        asked.session().sums(0, 1e-6, noise="staircase")
    assert asked.spent == 0
    assert 2.0**45 < asked.session().sums(0, 1e-3, noise="staircase").scales[0] < 2.0**50


def test_answers_are_exact_up_to_noise() -> None:
    asked = kernel("1e9", seed=None)
    bounded = np.minimum(READINGS, 10)
    totals = bounded.sum(axis=-1, keepdims=True)
    bounded = np.where(totals > 25, bounded * 25 // totals, bounded)
    measured = asked.session().sums(CELLS, 1e8, noise="staircase")
    assert measured.values.tolist() == bounded.sum(axis=-1).ravel().tolist()
    assert measured.staircase is not None


def test_laplace_is_the_default() -> None:
    measured = kernel().session().sums(CELLS, 1.0)
    assert measured.staircase is None
    assert measured.scales == pytest.approx([25.0] * 6)


def test_crowding_counts_labels_and_steps_of_the_worst_pillars() -> None:
    random = np.random.default_rng(0)
    for _ in range(200):
        shape = tuple(int(random.choice([1, full])) for full in (3, 2, 4))
        marks = random.integers(-1, 4, shape)
        whole = np.broadcast_to(marks, (3, 2, 4)).reshape(6, 4)
        counts = (whole[:, :, None] == np.arange(4)).sum(axis=1)
        assert count_labels_and_steps(marks, 4) == ((counts > 0).sum(axis=1).max(), counts.max())
        assert count_labels_and_steps(marks.astype(np.int8), 4) == count_labels_and_steps(marks, 4)


def test_seeded_noise_is_repeatable_and_has_the_variance() -> None:
    """The seed is fixed: it either passes always or never."""
    for staircase in (Staircase(5, 2, 0.5), Staircase(1000, 300, 2.0), choose_staircase(150_000, 10.0)):
        zeros = np.zeros(200_000, dtype=np.int64)
        drawn = SeededLaplace(1).add_staircase(zeros, staircase)
        assert (drawn == SeededLaplace(1).add_staircase(zeros, staircase)).all()
        assert drawn.var() == pytest.approx(staircase.variance, rel=0.1)
        levels = np.bincount(staircase.level(drawn))[:2] / len(drawn)
        mass = np.exp(staircase.log_mass([0, staircase.inner]))
        assert levels == pytest.approx(mass * [2 * staircase.inner - 1, 2 * staircase.delta], rel=0.1)


def test_a_tape_repeats_staircase_answers_and_notices_another_noise() -> None:
    tape = Tape.record(seed=3)
    values = np.arange(4)
    laplace, stairs = tape.add(values, np.ones(4)), tape.add_staircase(values, Staircase(5, 2, 1.0))
    again = tape.replay()
    assert again.add(values + 7, np.ones(4)).tolist() == laplace.tolist()
    assert again.add_staircase(values + 7, Staircase(5, 2, 1.0)).tolist() == stairs.tolist()
    again.check_played()
    for other in (Staircase(5, 2, 1.1), Staircase(5, 3, 1.0), Staircase(6, 2, 1.0)):
        again = tape.replay()
        again.add(values, np.ones(4))
        with pytest.raises(AssertionError):
            again.add_staircase(values, other)
    for ask in (
        lambda tape: tape.add(values, np.array([0.1, 5, 2, 1])),
        lambda tape: tape.add_staircase(values[:3], Staircase(5, 2, 1.0)),
    ):
        again = tape.replay()
        again.add(values, np.ones(4))
        with pytest.raises(AssertionError):
            ask(again)
    with pytest.raises(AssertionError):
        tape.replay().add_staircase(values, Staircase(5, 2, 1.0))
