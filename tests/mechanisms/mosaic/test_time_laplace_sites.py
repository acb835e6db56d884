"""Moments of a normal variable seen through Laplace noise, against a fine grid; sites against exact answers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_ndtr

from gridveil.mechanisms.mosaic.laplace_sites import laplace_sites, log_half, tilted


def test_the_normal_distribution_function_is_known_far_out() -> None:
    z = np.linspace(-60, 20, 801)
    np.testing.assert_allclose(log_half(z), log_ndtr(z) + np.log(2), atol=2e-7)


@pytest.mark.parametrize("mean", [-3.0, 0.0, 0.7, 12.0])
@pytest.mark.parametrize("variance", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("scale", [0.2, 1.0, 20.0])
def test_moments_are_those_of_a_fine_grid(mean: float, variance: float, scale: float) -> None:
    u = np.linspace(mean - 12 * variance**0.5, mean + 12 * variance**0.5, 2_000_001)
    u = np.sort(np.concatenate([u, np.linspace(-40 * scale, 40 * scale, 2_000_001)]))
    logs = -((u - mean) ** 2) / (2 * variance) - np.abs(u) / scale
    density = np.exp(logs - logs.max()) * np.gradient(u)
    density /= density.sum()
    expected = density @ u
    got = tilted(np.array([mean]), np.array([variance]), np.array([scale]))
    assert got[0][0] == pytest.approx(expected, abs=1e-3 * variance**0.5)
    assert got[1][0] == pytest.approx(density @ (u - expected) ** 2, rel=2e-3)


def test_many_measurements_of_one_number_are_worth_their_median() -> None:
    # One number measured 41 times: the posterior of a flat prior is near the median and twice as sure as the mean is.
    noisy = 5 + np.random.default_rng(3).laplace(0.0, 1.0, 41)
    values, variances = laplace_sites(np.full((41, 41), 1e4), noisy, np.ones(41), np.ones(41))
    grid = np.linspace(3, 7, 4001)
    density = np.exp(-np.abs(noisy[:, None] - grid).sum(axis=0) + np.abs(noisy - 5).sum())
    density /= density.sum()
    mean = density @ grid
    assert (values / variances).sum() / (1 / variances).sum() == pytest.approx(mean, abs=0.02)
    assert 1 / (1 / variances).sum() == pytest.approx(density @ (grid - mean) ** 2, rel=0.1)


def test_gaussian_measurements_stay_as_they_are() -> None:
    values, variances = laplace_sites(np.eye(3), np.array([1.0, 2.0, 3.0]), np.ones(3), np.zeros(3))
    np.testing.assert_allclose(values, [1, 2, 3])
    np.testing.assert_allclose(variances, 2.0)
