"""Widths against closed forms, independent integrals and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from scipy.optimize import brentq

from gridveil.uncertainty.laplace import EXPANDED_KURTOSIS, cumulants, errors_of, exact_widths, expansion, t_quantile


def width(weights: list[float], counts: list[float] | None = None) -> float:
    return float(errors_of([(np.array(weights), np.array(counts or [1.0] * len(weights)))])[1][0])


def equal_parts(n: int) -> float:
    """Return the half-width for `n` parts of weight 1: their sum is a difference of two gamma variables."""

    def tail(q: float) -> float:
        top = n + 40 * math.sqrt(n) + 40
        return float(
            quad(lambda y: stats.gamma.pdf(y, n) * stats.gamma.sf(q + y, n), 0, top, epsabs=1e-13, limit=300)[0]
        )

    sd = math.sqrt(2 * n)
    return float(brentq(lambda q: tail(q) - 0.025, 1.5 * sd, 2.5 * sd, xtol=1e-11))


def test_one_part() -> None:
    assert width([7.0]) == pytest.approx(7 * math.log(20), rel=1e-10)


def test_two_equal_parts() -> None:
    q = width([1.0], [2.0])
    assert math.exp(-q) * (1 + q / 2) == pytest.approx(0.05, rel=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 40, 599, 601, 3000])
def test_equal_parts(n: int) -> None:
    expected = equal_parts(n)
    assert width([1.0], [float(n)]) == pytest.approx(expected, rel=1e-8)
    assert width([1.0] * n) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("weights", [[1, 0.5], [1, 0.9], [1, 1e-3], [1, 1e-9], [3, 2, 1], [100, 99, 1, 0.01]])
def test_different_parts(weights: list[float]) -> None:
    """The tail is a sum of exponentials, by partial fractions."""
    q = width(weights)
    squares = [a**2 for a in weights]
    shares = [math.prod(s / (s - other) for other in squares if other != s) for s in squares]
    assert sum(c * math.exp(-q / a) for a, c in zip(weights, shares, strict=True)) == pytest.approx(0.05, rel=1e-8)


def test_simulation() -> None:
    """A million draws of a mixed sum: the count outside is binomial; false alarms 1 in a million."""
    weights = np.array([5, 3, 3, 1, *[0.3] * 40])
    noise = np.random.default_rng().laplace(size=(1_000_000, 5)) @ weights[:5]
    noise += sum(np.random.default_rng().laplace(size=(1_000_000,)) * weight for weight in weights[5:])
    outside = int((np.abs(noise) > width(weights.tolist())).sum())
    assert stats.binomtest(outside, len(noise), 0.05).pvalue > 1e-6


@pytest.mark.parametrize("small", [1.0, 0.5, 0.2, 0.03])
def test_the_expansion_is_as_good_as_exact_where_it_takes_over(small: float) -> None:
    """One weight of 1 beside many small ones is the worst case."""
    weights = np.array([1.0, small])
    many = brentq(lambda n: cumulants(weights, np.array([1.0, n]))[1] - EXPANDED_KURTOSIS, 1, 1e9)
    counts = np.array([1.0, round(many)])
    sd, fourth, sixth = cumulants(weights, counts)
    exact = exact_widths(weights[None], counts[None]).item()
    assert sd * expansion(fourth, sixth) == pytest.approx(exact, rel=4e-6)


def test_no_noise() -> None:
    assert [part.item() for part in errors_of([(np.array([]), np.array([]))])] == [0.0, 0.0]


def test_tiny_and_huge_weights() -> None:
    assert width([1e-200]) == pytest.approx(1e-200 * math.log(20))
    assert width([1e200, 1e-200]) == pytest.approx(1e200 * math.log(20))


def test_batches_do_not_mix_queries_up() -> None:
    rng = np.random.default_rng(5)
    queries = [(rng.uniform(0, 1, n), np.ones(n)) for n in rng.integers(1, 50, 1200)]
    _, together = errors_of(queries)
    alone = [errors_of([query])[1].item() for query in queries[::97]]
    np.testing.assert_allclose(together[::97], alone, rtol=1e-12)


@pytest.mark.parametrize("freedom", [4, 9, 39, 199])
def test_students_quantile(freedom: int) -> None:
    assert t_quantile(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=4e-4)


def test_discrete_noise_is_within_a_watt_hour_of_the_continuous() -> None:
    """Differences of geometric and of exponential variables can be drawn together, less than 1 apart."""
    scale = 50.0
    draws = np.random.default_rng(1).exponential(scale, (2, 100_000))
    discrete = np.floor(draws)
    assert np.abs((discrete[0] - discrete[1]) - (draws[0] - draws[1])).max() < 1
    ratio = math.exp(-1 / scale)
    assert stats.kstest(discrete[0], stats.geom(1 - ratio, loc=-1).cdf).statistic < 0.03
    assert 2 * ratio / (1 - ratio) ** 2 == pytest.approx(2 * scale**2 * (1 - 1 / (12 * scale**2)), rel=1e-6)
