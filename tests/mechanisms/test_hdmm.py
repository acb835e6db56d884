"""HDMM: the optimiser finds strategies as good as the published ones."""

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize, rosen, rosen_der

from gridveil.mechanisms.inference.field import minimise
from gridveil.mechanisms.literature.hdmm import _compute_from_roots, compute_total_variance, optimise_p_identity
from gridveil.mechanisms.literature.linear import count_shared_ranges


def rms(strategy: np.ndarray) -> float:
    """Root mean square error of all ranges, at unit noise variance."""
    length = strategy.shape[1]
    ranges = np.array([np.eye(length)[i : j + 1].sum(axis=0) for i in range(length) for j in range(i, length)])
    covariance = np.linalg.inv(strategy.T @ strategy)
    return float(np.sqrt(np.einsum("qi,ij,qj->q", ranges, covariance, ranges).mean()))


@pytest.mark.parametrize(("length", "published", "sums"), [(32, 3.196, 2), (120, 4.67, 8)])
def test_strategies_are_as_good_as_the_published_ones(length: int, published: float, sums: int) -> None:
    assert rms(np.eye(length)) == pytest.approx(((length + 2) / 3) ** 0.5)
    for seed in range(3):
        strategy = optimise_p_identity(length, seed)
        assert strategy is not None
        assert len(strategy) == length + sums
        assert rms(strategy) < 1.005 * published
        np.testing.assert_allclose(strategy.sum(axis=0), 1)
        assert (strategy >= 0).all()


def test_short_axes_are_left_alone() -> None:
    assert all(optimise_p_identity(length, 0) is None for length in (1, 2, 5, 16))


def test_variance_is_the_trace_it_is_said_to_be_and_its_gradient_is_right() -> None:
    generator = np.random.default_rng(12)
    weights, products = generator.random((3, 7)), count_shared_ranges(7)
    strategy = np.concatenate([np.eye(7), weights]) / (1 + weights.sum(axis=0))
    expected = np.trace(np.linalg.inv(strategy.T @ strategy) @ products)
    assert compute_total_variance(weights, products)[0] == pytest.approx(expected)

    def value(roots: np.ndarray) -> float:
        return _compute_from_roots(roots.reshape(3, 7), products)[0]

    def gradient(roots: np.ndarray) -> np.ndarray:
        return _compute_from_roots(roots.reshape(3, 7), products)[1].ravel()

    assert check_grad(value, gradient, np.sqrt(weights).ravel()) < 1e-4


def test_the_minimiser_finds_the_minimum_of_rosenbrocks_valley() -> None:
    found = minimise(lambda x: (float(rosen(x)) + 1, rosen_der(x)), np.zeros(6), tolerance=1e-14)
    np.testing.assert_allclose(found, 1, atol=1e-4)


def test_the_minimiser_is_as_good_as_scipys() -> None:
    products = count_shared_ranges(32)
    start = np.sqrt(np.random.default_rng(0).random((2, 32)))

    def function(flat: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = _compute_from_roots(flat.reshape(2, 32), products)
        return value, gradient.ravel()

    theirs = minimize(function, start.ravel(), jac=True, method="L-BFGS-B").fun
    assert (
        _compute_from_roots(minimise(lambda roots: _compute_from_roots(roots, products), start), products)[0]
        < 1.01 * theirs
    )
