"""Strategies and deviations through the kernel: what is applied, what is refused, what overflows."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from tests.codes import has_code

from gridveil.model.errors import BudgetError, UsageError
from gridveil.model.window import Window
from gridveil.simulate.sources import kernel_on
from gridveil.trusted.budget import Bound
from gridveil.trusted.kernel.kernel import Kernel
from gridveil.trusted.kernel.questions import LARGEST
from gridveil.trusted.kernel.strategies import Factor, apply_factors, compute_deviations, count_sizes, round_factor
from gridveil.trusted.kernel.transforms import Fourier, Haar

WINDOW = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 4)
READINGS = np.arange(3 * 2 * 4).reshape(3, 2, 4)


def kernel(epsilon: float | str = 1, seed: int | None = 0, bound: Bound | None = None) -> Kernel:
    return kernel_on(READINGS, WINDOW, epsilon=epsilon, bound=bound or Bound(30, 120), seed=seed)


def test_answers_are_those_of_the_factors_that_come_back() -> None:
    rng = np.random.default_rng(0)
    x, t = rng.normal(size=(5, 3)), rng.normal(size=(2, 4))
    answers = kernel("1e12", seed=None).session().matrix(x, None, t, 1e12)
    assert answers.y is None
    exact = np.einsum("ax,ct,xyt->ayc", answers.x, answers.t, READINGS)
    np.testing.assert_allclose(answers.values, exact, atol=1e-6)
    np.testing.assert_allclose(answers.x, x, atol=2**-15)
    for transform in (Fourier(3), Haar()):
        found = kernel("1e12", seed=None).session().transform(transform, 1e12)
        np.testing.assert_allclose(found.values, READINGS @ transform.rows(4).T, atol=1e-3)


def test_the_noise_has_the_scale_that_comes_back() -> None:
    """Mean absolute value of Laplace noise is its scale; 8000 draws: outside 8 % once in 1e12."""
    window = Window(WINDOW.start, WINDOW.step, 8)
    asked = kernel_on(np.zeros((40, 25, 8)), window, epsilon=1, bound=Bound(1000, 3000), seed=None)
    found = asked.session().transform(Haar(exponent=0.5), 1.0)
    assert np.abs(found.values / found.scales).mean() == pytest.approx(1, rel=0.08)


def test_whole_matrices_are_not_rounded_and_cost_their_column_sums() -> None:
    asked = kernel("2")
    answers = asked.session().matrix(None, None, [[1, 1, 1, 1], [1, 1, -1, -1]], 2.0)
    assert answers.scales.ravel()[0] == pytest.approx(2 * 120 / 2.0)
    assert asked.spent == pytest.approx(2.0)
    assert (answers.values == np.rint(answers.values)).all()


def test_matrices_and_sums_share_an_account() -> None:
    asked = kernel("1", bound=Bound(30, 30))
    asked.session().matrix(None, None, [[1, 1, 0, 0]], 0.5)
    asked.session().sums(np.array([-1, -1, 0, 0]), 0.5)
    assert asked.spent == pytest.approx(0.5)


@pytest.mark.parametrize("epsilon", ["0.0001", "0.1", "3", "1e9"])
@pytest.mark.parametrize(
    "ask",
    [
        lambda k, e: k.session().matrix(None, [[0.3, 0.7]], [[0.1, 0.2, 0.3, 0.4]], e),
        lambda k, e: k.session().transform(Fourier(2), e),
        lambda k, e: k.session().transform(Haar(3), e, x=[[1, 1, 1], [1, -1, 0]]),
        lambda k, e: k.session().deviations(np.arange(6).reshape(3, 2, 1), e),
        lambda k, e: k.session().deviations(0, e),
    ],
)
@pytest.mark.parametrize("bound", [Bound(30, 120), Bound(30, 20)])
def test_the_whole_epsilon_is_used_and_no_more(ask: Any, epsilon: str, bound: Bound) -> None:
    asked = kernel(epsilon, bound=bound)
    ask(asked, float(epsilon))
    assert float(epsilon) * (1 - 1e-9) <= asked.spent <= float(epsilon)
    with pytest.raises(BudgetError):
        ask(asked, float(epsilon) / 100)


def test_deviations_are_exact_up_to_noise() -> None:
    labels = np.arange(6).reshape(3, 2, 1) % 4
    found = kernel("1e12", seed=None).session().deviations(labels, 1e12)
    expected = [np.abs(part - part.mean()).sum() for part in (READINGS[labels[..., 0] == i] for i in range(4))]
    np.testing.assert_allclose(found.values, expected, atol=1e-6)


def test_deviations_inside_pillars_cost_half_the_clip_and_across_twice_the_bound() -> None:
    asked = kernel("1", bound=Bound(30, 120))
    assert asked.session().deviations(np.arange(6).reshape(3, 2, 1), 1.0).scales[0] == pytest.approx(30 * 4 / 2)
    asked = kernel("1", bound=Bound(30, 6))
    assert asked.session().deviations(0, 1.0).scales[0] == pytest.approx(2 * 6 * (1 - 1 / 24))


@pytest.mark.parametrize(
    "ask",
    [
        lambda k: k.session().matrix(None, None, [[1, 2, 3]], 1),
        lambda k: k.session().matrix(None, None, [1, 2, 3, 4], 1),
        lambda k: k.session().matrix(None, [[np.nan, 1]], None, 1),
        lambda k: k.session().matrix(None, [[1e30, 1]], None, 1),
        lambda k: k.session().matrix(None, [[0, 0]], None, 1),
        lambda k: k.session().matrix(np.zeros((0, 3)), None, None, 1),
        lambda k: k.session().transform(Fourier(9), 1),
        lambda k: k.session().transform(type("Fourier", (Fourier,), {"sensitivity": lambda *_: 1e-9})(2), 1),
        lambda k: k.session().deviations(np.arange(24).reshape(3, 2, 4), 1),
        lambda k: k.session().deviations(-1, 1),
        lambda k: k.session().deviations(0.5, 1),
    ],
)
def test_what_makes_no_sense_or_brings_its_own_proof_is_refused(ask: Any) -> None:
    asked = kernel()
    with pytest.raises(UsageError):
        ask(asked)
    assert asked.spent == 0


def test_matrices_that_round_to_nothing_are_refused() -> None:
    asked = kernel("1")
    with pytest.raises(UsageError, check=has_code("strategy-vanishes")):
        asked.session().matrix(None, None, [[1e-30, 1e-30, 1e-30, 1e-30]], 1.0)
    assert asked.spent == 0


def test_answers_too_large_for_int64_are_cut_off_not_wrapped() -> None:
    cube = np.full((2, 1, 2), 2**40)
    factor = Factor(np.full((1, 2), 2**30), 30)
    assert apply_factors(cube, (factor, None, factor)).tolist() == [[[LARGEST]]]
    assert apply_factors(cube, (None, None, factor)).tolist() == [[[LARGEST]]] * 2
    small = Factor(np.full((1, 2), 2**10), 10)
    assert apply_factors(cube, (None, None, small)).tolist() == [[[2**51]]] * 2


def test_deviations_too_large_for_int64_are_cut_off_or_exact() -> None:
    marks = np.zeros((2, 1, 2), dtype=np.int64)
    sizes = count_sizes(marks, 1)
    huge = np.array([2**61, 0, 0, 0]).reshape(2, 1, 2)
    assert compute_deviations(huge, marks, sizes).tolist() == [LARGEST]
    large = np.array([2**59, 0, 0, 0]).reshape(2, 1, 2)
    assert compute_deviations(large, marks, sizes).tolist() == [6 * 2**59]


def test_rounding_is_to_the_nearest() -> None:
    assert round_factor(np.array([[0.3, -0.3, 2.0]]), 4).rows.tolist() == [[5, -5, 32]]
    assert round_factor(np.array([[3.0, -1.0]]), 4).bits == 0


def test_strategies_whose_columns_do_not_add_up_exactly_are_refused() -> None:
    """Millions of rows whose sums pass 2**53 would be charged a little less than they cost."""
    rows = np.full((2**12 + 1, 4), 2.0**30)
    rows[-1] = 2.0**30 * 2**10
    with pytest.raises(UsageError):
        kernel("30").session().matrix(None, None, rows, 1.0)
    with pytest.raises(UsageError, check=has_code("strategy-not-chargeable")):
        round_factor(np.full((2**13, 2), 2.0**30) * 2**10, 0)


@pytest.mark.parametrize(("entry", "epsilon"), [(0.3e-200, 1.0), (0.3, 5e-324), (0.3, 1e-300)])
def test_noise_beyond_floats_is_refused_in_words(entry: float, epsilon: float) -> None:
    asked = kernel()
    with pytest.raises((BudgetError, UsageError)):
        asked.session().matrix([[entry] * 3], [[entry] * 2], None, epsilon)
    assert asked.spent == 0


def test_answers_are_exact_up_to_the_cut_off_and_never_wrap() -> None:
    """Against Python's integers, around and far beyond the ends of int64, with signs that cancel."""
    rng = np.random.default_rng(0)
    edge = apply_factors(np.full((1, 1, 2), 2**32), (None, None, Factor(np.full((1, 2), 2**30), 30)))
    assert edge.tolist() == [[[LARGEST]]]
    for _ in range(200):
        cube = rng.integers(0, 2 ** int(rng.integers(1, 45)), (3, 2, 4))
        rows = rng.integers(-(2**30), 2**30, (5, 4)) >> int(rng.integers(0, 30))
        across = rng.integers(-(2**20), 2**20, (2, 3)) >> int(rng.integers(0, 20))
        found = apply_factors(cube, (Factor(across, 0), None, Factor(rows, 0)))
        exact = np.einsum("ax,ct,xyt->ayc", across.astype(object), rows.astype(object), cube.astype(object))
        np.testing.assert_array_equal(found, np.clip(exact, -LARGEST, LARGEST).astype(np.int64))
        marks = rng.integers(-1, 3, cube.shape)
        sizes = count_sizes(marks, 3)
        wide = cube << int(rng.integers(0, 16))
        deviations = [
            sum(abs(int(n) * int(x) - sum(map(int, wide[marks == i]))) for x in wide[marks == i])
            for i, n in enumerate(sizes)
        ]
        np.testing.assert_array_equal(
            compute_deviations(wide, marks, sizes), np.minimum(np.array(deviations, dtype=object), LARGEST)
        )
