from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from gridveil.mechanisms.literature.ar1 import Ar1, filter_matrix, learn
from gridveil.model.window import Window
from gridveil.simulate.sources import kernel_on
from gridveil.trusted.budget import Bound
from gridveil.uncertainty import LinearNoise

WINDOW = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 48)
BOUND = Bound(step=20_000, window=100_000)


def process(pillars: int, steps: int, memory: float, seed: int) -> np.ndarray:
    """Pillars of variance 1 around means of their own."""
    random = np.random.default_rng(seed)
    values = random.normal(size=(pillars, steps))
    for step in range(1, steps):
        values[:, step] = memory * values[:, step - 1] + (1 - memory**2) ** 0.5 * values[:, step]
    return np.asarray(values + 5 * random.normal(size=(pillars, 1)))


def test_without_noise_anything_is_found_again() -> None:
    cube = np.random.default_rng(0).integers(0, 2000, (5, 7, 48))
    estimate = Ar1().release(kernel_on(cube, WINDOW, epsilon="1e9", bound=BOUND, seed=None).session())
    np.testing.assert_allclose(estimate.values, cube, atol=1e-6)


@pytest.mark.parametrize("noise", [0.0, 2.0])
def test_the_process_is_learned_through_the_noise(noise: float) -> None:
    """400,000 numbers; the estimates' standard deviations are below 0.01, and 0.06 is six of them (1 in 1e8)."""
    pillars = process(2000, 200, memory=0.8, seed=0)
    noisy = pillars + np.random.default_rng(1).laplace(0, noise / 2**0.5, pillars.shape)
    variance, memory = learn(noisy, noise**2)
    # Taking each pillar's mean away takes (1 + m) / (1 - m) / 200 of the variance with it: 0.045.
    assert variance == pytest.approx(1 - 0.045, abs=0.06)
    assert memory == pytest.approx(0.8, abs=0.06)


def test_filtering_helps_when_the_model_holds() -> None:
    """Mean squared errors over 100,000 numbers: far apart."""
    pillars = process(1000, 100, memory=0.9, seed=2)
    noisy = pillars + np.random.default_rng(3).laplace(0, 2**0.5, pillars.shape)
    variance, memory = learn(noisy, 4.0)
    filtered = noisy @ filter_matrix(100, variance, memory, 4.0).T
    assert ((filtered - pillars) ** 2).mean() < 0.6
    assert ((noisy - pillars) ** 2).mean() > 3


def test_nothing_to_learn_leaves_the_means() -> None:
    matrix = filter_matrix(5, variance=0.0, memory=0.0, noise_variance=1.0)
    np.testing.assert_allclose(matrix, 0.2)
    assert learn(np.zeros((3, 1)), 1.0) == (0.0, 0.0)
    np.testing.assert_allclose(filter_matrix(4, variance=1.0, memory=0.5, noise_variance=1e-12), np.eye(4), atol=1e-11)


@pytest.mark.parametrize("level", [0, 3000])
def test_noise_has_the_covariance_it_is_said_to_have(level: int) -> None:
    """2,500 pillars of nothing, or of a wave.

    The variances of some steps and of the sum of all lie within six of their standard deviations (1 in 1e8 each).
    """
    wave = np.rint(level * (1 + np.sin(np.arange(48) / 3))).astype(int)
    cube = np.broadcast_to(wave, (50, 50, 48))
    bound = Bound(step=20_000, window=200_000)
    kernel = kernel_on(cube, WINDOW, epsilon=100, bound=bound)
    estimate = Ar1().release(kernel.session())
    assert isinstance(estimate.errors, LinearNoise)
    assert estimate.errors.time is not None
    mix = estimate.errors.time / (2**0.5 * bound.window / 100)
    errors = estimate.values.reshape(-1, 48) - mix @ wave
    covariance = estimate.errors.time @ estimate.errors.time.T
    for query in (np.eye(48)[0], np.eye(48)[1], np.eye(48)[47], np.ones(48)):
        answers, variance = errors @ query, query @ covariance @ query
        assert abs((answers**2).mean() / variance - 1) < 6 * (5 / len(answers)) ** 0.5
