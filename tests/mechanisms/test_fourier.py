"""Fourier perturbation: which waves come through, and how much noise."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from gridveil.mechanisms.base import make
from gridveil.mechanisms.literature.fourier import FourierPerturbation
from gridveil.model.window import Window
from gridveil.simulate.sources import kernel_on
from gridveil.trusted.budget import Bound

WINDOW = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 120)
PLAIN = Bound(step=1500, window=180_000)


@pytest.mark.parametrize(("waves", "comes_through"), [(3, True), (9, True), (10, False), (12, False)])
def test_slow_waves_come_through_and_fast_ones_vanish(waves: int, comes_through: bool) -> None:  # noqa: FBT001  # a parameter of the test
    wave = np.sin(2 * np.pi * waves * np.arange(120) / 120)
    series = np.rint(700_000 * (1 + wave)).astype(int)
    kernel = kernel_on(series[None, None], WINDOW, epsilon="1e12", bound=Bound(1_500_000, 180_000_000), seed=None)
    estimate = FourierPerturbation(k=10).release(kernel.session()).values[0, 0] / 700_000
    np.testing.assert_allclose(estimate, 1 + wave if comes_through else np.ones(120), atol=1e-5)


@pytest.mark.parametrize(("k", "variance", "pillar"), [(10, 0.682, 22.74), (20, 2.559, 30.74)])
def test_noise_on_nothing_has_the_variance_of_the_tight_sensitivity(k: int, variance: float, pillar: float) -> None:
    """Epsilon 30, a million Laplace draws for k = 10: the sample variance is within 2 %, 9 of its s.d.; the s.d. of
    52,900 pillar sums within 3 %, 6 of theirs. Four checks, about 1e-8 false alarms.
    """
    side = 230
    kernel = kernel_on(np.zeros((side, side, 120)), WINDOW, epsilon=30, bound=PLAIN, seed=4)
    noise = FourierPerturbation(k).release(kernel.session()).values / 1000  # type: ignore[operator]  # values are dense here
    assert (noise**2).mean() == pytest.approx(variance, rel=0.02)
    assert noise.sum(axis=2).std() == pytest.approx(pillar, rel=0.03)


def test_a_tighter_window_bound_means_less_noise() -> None:
    tight, plain = (
        FourierPerturbation().release(kernel_on(np.zeros((1, 1, 120)), WINDOW, epsilon=1, bound=bound).session()).errors
        for bound in (Bound(1500, 60_000), PLAIN)
    )
    expected = (60 / 120**0.5 + (18 * (1.5 * 60 - 60**2 / 120)) ** 0.5) / ((1 + 19**0.5) / 2 * 1.5 * 120**0.5)
    assert np.abs(tight.time).max() / np.abs(plain.time).max() == pytest.approx(expected, rel=1e-6)
    assert expected == pytest.approx(0.871, rel=1e-3)


def test_more_frequencies_than_there_are_is_all_of_them() -> None:
    window = Window(WINDOW.start, WINDOW.step, 7)
    kernel = kernel_on(np.zeros((1, 1, 7)), window, epsilon=1, bound=PLAIN)
    assert make("fourier-20", {}).release(kernel.session()).details == {"frequencies": 4}
