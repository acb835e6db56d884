"""The staircase distribution by itself: its mass, its variance, its guarantee, and the coin that its sampler tosses."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from tests.codes import has_code

from gridveil.model.errors import BudgetError, UsageError
from gridveil.trusted.kernel import noise as noise_module
from gridveil.trusted.kernel.account import ROUNDING
from gridveil.trusted.kernel.noise import LARGEST_ANSWER, ExactNoise
from gridveil.trusted.kernel.staircase import LARGEST_EPSILON, SMALLEST_EPSILON, Staircase, choose_staircase

EPSILONS = (1e-3, 0.03, 0.5, 1.0, 3.0, 10.0, 22.0, 60.0)
SMALL = [(1, 1), (2, 1), (2, 2), (5, 2), (7, 7), (40, 13)]


@pytest.mark.parametrize(("delta", "inner"), SMALL)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0, 60.0])
def test_mass_and_variance_are_those_of_the_definition(delta: int, inner: int, epsilon: float) -> None:
    staircase = Staircase(delta, inner, epsilon)
    reach = delta * math.ceil(60 / epsilon) + inner
    k = np.arange(-reach, reach + 1)
    mass = np.exp(staircase.log_mass(k))
    assert mass.sum() == pytest.approx(1, rel=1e-12)
    assert (mass == mass[::-1]).all()
    assert (mass * k.astype(float) ** 2).sum() == pytest.approx(staircase.variance, rel=1e-11)
    levels = [0] * inner + [1] * delta + [2] * delta
    for sign in (1, -1):
        assert staircase.level(sign * np.arange(len(levels))).tolist() == levels


@pytest.mark.parametrize("delta", [1, 1000, 2**36])
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("part", [0.0, 0.3, 1.0])
def test_variance_is_stable(delta: int, epsilon: float, part: float) -> None:
    """Against the sum over shells in 60 digits."""
    inner = max(1, round(part * delta))
    with localcontext(prec=60):
        q = (-Decimal(epsilon)).exp()
        total = Decimal(2 * inner - 1)
        square = Decimal(inner * (inner - 1) * (2 * inner - 1)) / 3
        weight, squares = Decimal(1), lambda below: (below - 1) * below * (2 * below - 1) // 6
        for j in range(1, math.ceil(60 / epsilon) + 2):
            weight *= q
            total += 2 * delta * weight
            square += 2 * weight * (squares(j * delta + inner) - squares((j - 1) * delta + inner))
        expected = float(square / total)
    assert Staircase(delta, inner, epsilon).variance == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("epsilon", [*EPSILONS, 0.2, 2.0, 5.0, 15.0, 30.0])
def test_the_best_staircase_is_the_best_of_all(epsilon: float) -> None:
    for delta in [*range(1, 41), 100, 777]:
        least = min(Staircase(delta, inner, epsilon).variance for inner in range(1, delta + 1))
        assert choose_staircase(delta, epsilon).variance <= least * (1 + 1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_best_staircase_beats_the_laplace(epsilon: float) -> None:
    """Of the scale `delta / epsilon`, which is what Laplace noise for the same guarantee needs."""
    for delta in (2, 50, 150_000, 2**36):
        laplace = 0.5 / math.sinh(epsilon / delta / 2) ** 2
        assert choose_staircase(delta, epsilon).variance < laplace
    assert choose_staircase(150_000, 10.0).variance < (0.03 * 150_000) ** 2


@pytest.mark.parametrize(("delta", "inner"), SMALL)
@pytest.mark.parametrize("epsilon", [0.001, 1.0, 30.0])
def test_a_shift_costs_epsilon_for_every_delta_begun_and_no_less(delta: int, inner: int, epsilon: float) -> None:
    """All shifts up to three deltas, all outcomes within five: the worst is what the guarantee says, exactly."""
    staircase = Staircase(delta, inner, epsilon)
    outcome = np.arange(-8 * delta, 8 * delta + 1)
    for shift in range(1, 3 * delta + 1):
        levels = np.abs(staircase.level(outcome) - staircase.level(outcome - shift))
        assert levels.max() == math.ceil(shift / delta)
        moved = np.abs(staircase.log_mass(outcome) - staircase.log_mass(outcome - shift)).max()
        assert moved == pytest.approx(epsilon * math.ceil(shift / delta), rel=1e-12)


@pytest.mark.parametrize("epsilon", [SMALLEST_EPSILON, *EPSILONS, 79.0, 95.0, 499.0, 501.0, 1e9, LARGEST_EPSILON])
@pytest.mark.parametrize("delta", [1, 3, 150_000, 2**36])
def test_the_coin_errs_to_the_safe_side(delta: int, epsilon: float) -> None:
    """In 200 digits: the step from the middle to the first shell is at most epsilon, and hardly less."""
    for inner in {1, delta // 3 + 1, delta, choose_staircase(delta, epsilon).inner}:
        staircase = Staircase(delta, inner, epsilon)
        chance = noise_module._to_chance(staircase.outer_odds)
        assert 0 < chance < 2**128
        with localcontext(prec=200):
            odds = Decimal(chance) / (2**128 - chance)
            rate = 1 / Decimal(1 / epsilon)  # what OpenDP draws shells with
            step = (Decimal(2 * delta) / (2 * inner - 1) / (1 - (-rate).exp()) / odds).ln()
            assert 0 < step < Decimal(epsilon)
            assert rate <= Decimal(epsilon) * (1 + Decimal(2) ** -52)
            if chance > 2**34:
                assert step > Decimal(epsilon) - 2 * Decimal(ROUNDING)


def test_odds_as_floats_have_them_would_not_do() -> None:
    """Without raising the odds, some staircases would cost more than their epsilon: the test above has teeth."""
    over = 0
    for epsilon in np.linspace(0.5, 5, 40):
        staircase = choose_staircase(1000, float(epsilon))
        with localcontext(prec=60):
            exact = Decimal(2000) / (2 * staircase.inner - 1) / (Decimal(float(epsilon)).exp() - 1)
            over += Decimal(staircase.outer_odds) < exact
    assert over > 0


@pytest.mark.parametrize(
    ("delta", "inner", "epsilon"),
    [(0, 0, 1.0), (5, 0, 1.0), (5, 6, 1.0), (2**36 + 1, 1, 1.0), (-3, -3, 1.0)],
)
def test_what_is_no_staircase_is_refused(delta: int, inner: int, epsilon: float) -> None:
    with pytest.raises(UsageError, check=has_code("staircase-shape")):
        Staircase(delta, inner, epsilon)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.nan, math.inf, SMALLEST_EPSILON / 2, LARGEST_EPSILON * 2])
def test_epsilons_that_cannot_be_drawn_are_refused(epsilon: float) -> None:
    with pytest.raises(BudgetError, check=has_code("staircase-epsilon")):
        choose_staircase(5, epsilon)


def test_fields_are_python_numbers() -> None:
    staircase = Staircase(np.int32(2**30), np.int16(3), np.float32(0.1))
    assert (type(staircase.delta), type(staircase.inner), type(staircase.epsilon)) == (int, int, float)
    with pytest.raises(TypeError):
        Staircase(1.5, 1, 1.0)


def test_answers_are_cut_off_as_if_integers_had_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Noise beyond int64 makes the same answer whatever the true value was."""
    staircase = Staircase(1, 1, 1.0)
    monkeypatch.setattr(noise_module, "_toss", lambda _, count: np.ones(count, dtype=bool))
    monkeypatch.setattr(noise_module, "_draw_geometric", lambda _, count: np.full(count, 2**63 - 1))
    monkeypatch.setattr(noise_module, "_draw_uniform", lambda _, count: np.arange(count) % 2)
    values = np.repeat([-(2**63), -(2**62), -1, 0, 1, 2**62, 2**63 - 1], 2)
    answers = ExactNoise().add_staircase(values, staircase)
    assert answers.tolist() == [LARGEST_ANSWER, -LARGEST_ANSWER] * 7
    monkeypatch.setattr(noise_module, "_draw_geometric", lambda _, count: np.full(count, 2**27))
    wide = Staircase(2**36, 2**35, 1.0)
    assert ExactNoise().add_staircase(values, wide).tolist() == [LARGEST_ANSWER, -LARGEST_ANSWER] * 7


def test_uniform_numbers_are_drawn_again_where_they_would_favour_small_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    tape = iter([[2**64 - 1, 5, 2**64 - 2], [2**64 - 1], [7]])
    monkeypatch.setattr(noise_module, "draw_words", lambda count: np.array(next(tape), dtype=np.uint64)[:count])
    assert noise_module._draw_uniform(3, 3).tolist() == [
        2,
        2,
        1,
    ]  # 2**64 - 1 is a multiple of 3: only the last is beyond


def test_coins_fall_exactly_by_their_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    for chance in (1, 2**64 - 1, 2**64, 5 * 2**64 + 3, 2**128 - 1):
        bits = [chance - 1, chance, 0, 2**128 - 1]
        halves = np.array([[b >> 64 for b in bits], [b % 2**64 for b in bits]], dtype=np.uint64)
        monkeypatch.setattr(noise_module, "draw_words", lambda _, halves=halves: halves.ravel())
        assert noise_module._toss(chance, 4).tolist() == [True, False, True, False]
