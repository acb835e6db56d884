"""Sensitivities of the transforms against published figures and brute force."""

from itertools import product

import numpy as np
import pytest

from gridveil.model.errors import UsageError
from gridveil.trusted.budget import Bound
from gridveil.trusted.kernel.transforms import Fourier, Haar


@pytest.mark.parametrize(
    ("steps", "exponent", "expected"),
    [(8, 0, 10), (8, 0.5, 4.742641), (16, 0, 23), (16, 0.5, 8.596194), (32, 0, 46), (64, 0, 102), (128, 0, 204)],
)
def test_haar_recursion_gives_the_known_sensitivities(steps: int, exponent: float, expected: float) -> None:
    assert Haar(None, exponent).sensitivity(steps, Bound(1, steps)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("k", "expected"), [(4, 1.398), (8, 1.732), (10, 1.877), (16, 2.220), (20, 2.424), (32, 2.925), (64, 3.872)]
)
def test_haar_truncated_on_120_steps(k: int, expected: float) -> None:
    unit = 1500 * np.sqrt(120)
    assert Haar(k).sensitivity(120, Bound(1500, 180_000)) / unit == pytest.approx(expected, abs=6e-4)


def test_haar_is_exact_and_fourier_a_bound() -> None:
    """Every integer series of up to 6 steps, under every kind of bound."""
    rng = np.random.default_rng(0)
    for _ in range(120):
        steps, step = int(rng.integers(1, 7)), int(rng.integers(1, 4))
        bound = Bound(step, int(rng.integers(1, step * steps + 3)))
        series = np.array([v for v in product(range(step + 1), repeat=steps) if sum(v) <= bound.window]).T
        padded = 1 << (steps - 1).bit_length()
        haar = Haar(int(rng.integers(1, padded + 1)), float(rng.choice([0, 0.5, 1])))
        worst = np.abs(haar.rows(steps) / haar.relative(steps)[:, None] @ series).sum(axis=0).max()
        assert haar.sensitivity(steps, bound) == pytest.approx(worst, rel=1e-12)
        fourier = Fourier(int(rng.integers(1, steps // 2 + 2)))
        assert np.abs(fourier.rows(steps) @ series).sum(axis=0).max() <= fourier.sensitivity(steps, bound) * (1 + 1e-12)
        rounded = np.rint(fourier.rows(steps) * 2**3)
        assert np.abs(rounded @ series).sum(axis=0).max() <= fourier.sensitivity(steps, bound, bits=3)


@pytest.mark.parametrize("k", [10, 20])
def test_fourier_under_a_plain_clip_is_the_tight_bound(k: int) -> None:
    unit = 1500 * np.sqrt(120)
    found = Fourier(k).sensitivity(120, Bound(1500, 180_000)) / unit
    assert found == pytest.approx((1 + np.sqrt(2 * k - 1)) / 2, rel=1e-12)


def test_a_window_bound_lowers_both() -> None:
    for transform in (Fourier(10), Haar(16)):
        plain = transform.sensitivity(120, Bound(1500, 180_000))
        assert transform.sensitivity(120, Bound(1500, 20_000)) < 0.6 * plain


@pytest.mark.parametrize("steps", [1, 2, 3, 7, 8, 24])
def test_fourier_rows_are_orthonormal(steps: int) -> None:
    rows = Fourier(steps // 2 + 1).rows(steps)
    assert rows.shape == (steps, steps)
    np.testing.assert_allclose(rows @ rows.T, np.eye(steps), atol=1e-12)


def test_high_fourier_frequencies_are_as_precise_as_the_lowest() -> None:
    rows, t = Fourier(500).rows(999), np.arange(999)
    for k in (2, 77, 499):
        np.testing.assert_array_equal(rows[2 * k - 1 : 2 * k + 1], rows[1:3, k * t % 999])


@pytest.mark.parametrize("steps", [1, 2, 5, 8, 24])
def test_haar_rows_of_the_padded_series_are_orthogonal(steps: int) -> None:
    padded = 1 << (steps - 1).bit_length()
    rows = Haar().rows(padded)
    np.testing.assert_array_equal(rows @ rows.T, np.diag(Haar(exponent=1).relative(padded)))
    np.testing.assert_array_equal(Haar().rows(steps), rows[:, :steps])


@pytest.mark.parametrize("make", [lambda: Fourier(0), lambda: Fourier(14), lambda: Haar(0), lambda: Haar(33)])
def test_too_many_or_too_few_are_refused(make: object) -> None:
    with pytest.raises(UsageError):
        make().rows(25)  # type: ignore[operator]  # a maker of a transform


def test_other_exponents_and_counts_are_refused() -> None:
    with pytest.raises(UsageError):
        Haar(4, exponent=-1)
    for make in (Fourier, Haar):
        with pytest.raises(TypeError):
            make(2.5)


def test_extreme_bounds_do_not_overflow() -> None:
    bound = Bound(step=409_368_176_241_571, window=4)
    assert Haar(None, 0).sensitivity(1000, bound) == pytest.approx(44.0)  # all in one step: total and 10 levels
