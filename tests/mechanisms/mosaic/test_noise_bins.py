"""Noise in bins: as good as the noise itself, and few of them, however flat a staircase is."""

from __future__ import annotations

import numpy as np
import pytest

from gridveil.mechanisms.inference.totals import LIKE_LAPLACE, NoiseBins
from gridveil.model.arrays import Floats
from gridveil.trusted.kernel.session import Measurement
from gridveil.trusted.kernel.staircase import SMALLEST_EPSILON, Staircase, choose_staircase

BOUND = 150_000


def bins(stairs: Staircase) -> NoiseBins:
    return NoiseBins.of(Measurement(np.zeros(1, np.int64), np.array([(stairs.variance / 2) ** 0.5]), stairs))


def below(noise: NoiseBins, at: Floats) -> Floats:
    """The probability of noise below a value, according to the bins."""
    return np.interp(at, noise.edges, np.concatenate([[0.0], np.cumsum(noise.mass * np.diff(noise.edges))]))


def exactly_below(stairs: Staircase, at: Floats) -> Floats:
    """The same from the staircase itself, with each whole number spread over a Wh around it."""
    size = np.abs(at)
    level = np.maximum(np.floor((size - stairs.inner + 0.5) / stairs.delta) + 1, 0.0)
    start = np.where(level > 0, stairs.inner - 0.5 + (level - 1) * stairs.delta, 0.0)  # of the level's shell
    before = np.maximum(level - 1, 0)
    shells = -np.expm1(-stairs.epsilon * before) / np.expm1(stairs.epsilon)
    top = np.exp(float(stairs.log_mass(0)))
    passed = np.where(level > 0, stairs.inner - 0.5 + stairs.delta * shells, 0.0)
    beyond = 0.5 - top * (passed + (size - start) * np.exp(-stairs.epsilon * level))
    return np.where(at < 0, beyond, 1 - beyond)


@pytest.mark.parametrize("epsilon", [SMALLEST_EPSILON, 0.001, 0.05, 0.0999, 0.1, 0.3, 0.5, 1.0, 3.0, 10.0])
def test_few_bins_are_enough(epsilon: float) -> None:
    """Where a staircase is taken for Laplace, what Laplace's bins do (0.0035) is added to what that does (0.0006)."""
    stairs = choose_staircase(BOUND, epsilon)
    noise = bins(stairs)
    assert len(noise.mass) <= 420  # every shell by itself would make 40,008 at epsilon 0.001
    at = np.linspace(-18, 18, 20_001) * noise.deviation
    error = np.abs(below(noise, at) - exactly_below(stairs, at)).max()
    assert error < (0.0042 if epsilon < LIKE_LAPLACE else 1e-6)


@pytest.mark.parametrize("epsilon", [0.01, 0.0999])
def test_a_flat_staircase_is_laplace(epsilon: float) -> None:
    stairs = choose_staircase(BOUND, epsilon)
    scale = (stairs.variance / 2) ** 0.5
    at = np.linspace(-18, 18, 20_001) * scale
    laplace = np.where(at < 0, np.exp(np.minimum(at, 0) / scale) / 2, 1 - np.exp(-np.maximum(at, 0) / scale) / 2)
    assert np.abs(exactly_below(stairs, at) - laplace).max() < 6e-4


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 3.0])
def test_other_staircases_keep_their_steps(epsilon: float) -> None:
    stairs = choose_staircase(BOUND, epsilon)
    noise = bins(stairs)
    first = stairs.inner - 0.5 + stairs.delta * np.arange(3)
    assert np.isin(first, noise.edges).all()
    k = np.array([0, stairs.inner - 1, stairs.inner, stairs.inner + stairs.delta - 1, stairs.inner + stairs.delta])
    np.testing.assert_allclose(noise.at(k.astype(np.float64)), np.exp(stairs.log_mass(k)), rtol=1e-12)
