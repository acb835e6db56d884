"""Identity and even: the two ends that everything else lies between."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from gridveil.mechanisms.literature.even import Even
from gridveil.mechanisms.literature.identity import Identity
from gridveil.model.window import Window
from gridveil.simulate.sources import kernel_on
from gridveil.trusted.budget import Bound
from gridveil.uncertainty import NoisyParts

WINDOW = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 6)
BOUND = Bound(step=1000, window=4000)
READINGS = np.random.default_rng(0).integers(0, 600, (4, 3, 6))


def test_identity_is_exact_without_noise_and_charges_the_window_bound() -> None:
    exact = Identity().release(kernel_on(READINGS, WINDOW, epsilon="1e9", bound=BOUND, seed=None).session())
    np.testing.assert_array_equal(exact.dense(), READINGS)
    kernel = kernel_on(READINGS, WINDOW, epsilon=2, bound=BOUND)
    estimate = Identity().release(kernel.session())
    assert isinstance(estimate.errors, NoisyParts)
    assert estimate.errors.labels is None
    assert float(estimate.errors.scales.squeeze()) == pytest.approx(4000 / 2, rel=1e-9)


def test_even_spreads_one_total() -> None:
    exact = Even().release(kernel_on(READINGS, WINDOW, epsilon="1e9", bound=BOUND, seed=None).session())
    assert exact.dense().shape == READINGS.shape
    np.testing.assert_allclose(exact.dense(), READINGS.sum() / READINGS.size)
    assert isinstance(exact.errors, NoisyParts)
    assert float(exact.errors.shares.squeeze()) * READINGS.size == pytest.approx(1)


def test_noise_of_identity_on_nothing_has_the_variance_it_should() -> None:
    """5,040 draws of Laplace noise: the sample variance lies within six of its standard deviations (1 in 1e8)."""
    window = Window(WINDOW.start, WINDOW.step, 120)
    kernel = kernel_on(np.zeros((6, 7, 120)), window, epsilon=1, bound=BOUND, seed=None)
    noise = Identity().release(kernel.session()).dense()
    variance = 2 * 4000.0**2
    spread = variance * (5 / noise.size) ** 0.5  # the fourth moment of a Laplace variable is 6 variances squared
    assert abs(noise.var() - variance) < 6 * spread
    assert abs(noise.mean()) < 6 * (variance / noise.size) ** 0.5
