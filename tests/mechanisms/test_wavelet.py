"""Wavelet perturbation, with PyWavelets as oracle."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
import pywt

from gridveil.mechanisms.base import make
from gridveil.mechanisms.literature.wavelet import WaveletPerturbation
from gridveil.model.window import Window
from gridveil.simulate.sources import kernel_on
from gridveil.trusted.budget import Bound
from gridveil.trusted.kernel.transforms import Haar

START, HOUR = datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1)


def coarsest(series: np.ndarray, k: int) -> np.ndarray:
    """What is left of a series of 2**n steps if only its k coarsest coefficients are kept."""
    parts = pywt.wavedec(series, "haar", mode="periodization")
    lengths = [len(part) for part in parts]
    kept = np.concatenate(parts)
    kept[k:] = 0
    return pywt.waverec(np.split(kept, np.cumsum(lengths)[:-1]), "haar", mode="periodization")


@pytest.mark.parametrize("k", [1, 2, 7, 10, 20, 64, 128])
def test_without_noise_it_is_the_truncated_haar_transform(k: int) -> None:
    series = np.random.default_rng(5).integers(0, 1500, 128)
    kernel = kernel_on(
        series[None, None], Window(START, HOUR, 128), epsilon="1e12", bound=Bound(1500, 192_000), seed=None
    )
    estimate = WaveletPerturbation(k).release(kernel.session()).values[0, 0]
    np.testing.assert_allclose(estimate, coarsest(series, k), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("k", [1, 8, 10, 20])
def test_padding_takes_nothing_away(k: int) -> None:
    """The padding is known to be zero: a constant stays one, and sums over the steps of a wavelet are right."""
    window, bound = Window(START, HOUR, 120), Bound(1500, 180_000)
    constant = kernel_on(np.full((1, 1, 120), 700), window, epsilon="1e12", bound=bound, seed=None)
    np.testing.assert_allclose(WaveletPerturbation(k).release(constant.session()).values, 700, rtol=1e-6)
    cube = np.random.default_rng(6).integers(0, 1500, (2, 1, 120))
    any_series = kernel_on(cube, window, epsilon="1e12", bound=bound, seed=None)
    estimate = WaveletPerturbation(k).release(any_series.session()).values
    rows = Haar(k).rows(120)
    np.testing.assert_allclose(estimate @ rows.T, cube @ rows.T, rtol=1e-6, atol=1e-3)


def test_noise_on_nothing_has_the_variance_of_the_exact_sensitivity() -> None:
    """The window of 120 steps has the oracle's noise, 0.165 kWh^2 at epsilon 30 in the mean of its 128 padded steps.

    A million draws on 128 steps: the sample variance is within 2 %, 9 of its s.d. (1e-12 false alarms or fewer).
    """
    measure = kernel_on(
        np.zeros((1, 1, 120)), Window(START, HOUR, 120), epsilon=30, bound=Bound(1500, 180_000)
    ).session()
    answers = measure.transform(Haar(10), 30 * (1 - 1e-9))
    orthonormal = np.ravel(answers.scales) / np.sqrt(128 / np.array([1, 1, 2, 2, 4, 4, 4, 4, 8, 8])) / 1000
    np.testing.assert_allclose(orthonormal, orthonormal[0])
    assert 10 * 2 * orthonormal[0] ** 2 / 128 == pytest.approx(0.165, rel=0.002)
    assert orthonormal[0] == pytest.approx(1.877 * 1.5 * 120**0.5 / 30, rel=0.0005)

    window, bound = Window(START, HOUR, 128), Bound(1500, 192_000)
    kernel = kernel_on(np.zeros((316, 317, 128)), window, epsilon=30, bound=bound, seed=7)
    noise = WaveletPerturbation(10).release(kernel.session()).values / 1000  # type: ignore[operator]  # values are dense here
    scale = Haar(10).sensitivity(128, bound) / 1000 / 30
    assert (noise**2).mean() == pytest.approx(10 * 2 * scale**2 / 128, rel=0.02)


def test_more_wavelets_than_there_are_is_all_of_them() -> None:
    kernel = kernel_on(np.zeros((1, 1, 5)), Window(START, HOUR, 5), epsilon=1, bound=Bound(1500, 7500))
    assert make("wavelet-20", {}).release(kernel.session()).details == {"wavelets": 8}
