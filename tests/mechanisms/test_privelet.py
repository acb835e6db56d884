"""Privelet+: exact sensitivity on time, wavelets of space only where the rule says so."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
import pywt

from gridveil.mechanisms.literature.privelet import Privelet, make_wavelets
from gridveil.model.window import Window
from gridveil.simulate.sources import kernel_on
from gridveil.trusted.budget import Bound


def window(steps: int) -> Window:
    return Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), steps)


def test_noise_is_that_of_the_exact_sensitivity_and_not_of_eight_levels() -> None:
    """Unnormalised coefficients of 120 steps move by 204 step bounds together, not by 8 x 120.

    A million draws; the total of a pillar has the noise of 7,812 ones: 6 s.d. of their sample variance (2e-9).
    """
    kernel = kernel_on(np.zeros((62, 126, 128)), window(128), epsilon=30, bound=Bound(1500, 192_000), seed=8)
    totals = Privelet().release(kernel.session()).values.sum(axis=2) / 1000
    assert (totals**2).mean() == pytest.approx(2 * (204 * 1.5 / 30) ** 2, rel=6 * (5 / totals.size) ** 0.5)


def test_mean_variance_of_steps_on_nothing() -> None:
    """A million draws. The inverse of a Haar matrix is known: the variance of a step is 2 b^2 sum of 1 / n^2, n the
    lengths of its nodes. Within 2 %; the finest coefficients, with the largest share of it, are 500,000 draws, so
    that is more than 6 of its s.d. (1e-8).
    """
    kernel = kernel_on(np.zeros((62, 126, 128)), window(128), epsilon=30, bound=Bound(1500, 192_000), seed=9)
    noise = Privelet().release(kernel.session()).values / 1000  # type: ignore[operator]  # values are dense here
    lengths = np.array([128, *(2**level for level in range(1, 8))])
    assert (noise**2).mean() == pytest.approx(2 * (204 * 1.5 / 30) ** 2 * (1 / lengths**2.0).sum(), rel=0.02)


def test_wide_grids_get_wavelets_and_come_back_exactly() -> None:
    cube = np.random.default_rng(10).integers(1, 1500, (1, 800, 3))
    kernel = kernel_on(cube, window(3), epsilon="1e12", bound=Bound(1500, 4500), seed=None)
    estimate = Privelet().release(kernel.session())
    assert estimate.errors.x is None
    assert estimate.errors.y is not None
    np.testing.assert_allclose(estimate.values, cube, rtol=1e-6)


def test_wavelets_of_space_are_haar_wavelets() -> None:
    rows = make_wavelets(1024)
    assert rows is not None
    series = np.random.default_rng(11).normal(size=1024)
    expected = np.concatenate(pywt.wavedec(series, "haar", mode="periodization"))
    lengths = np.abs(rows).sum(axis=1)
    np.testing.assert_allclose(rows @ series / np.sqrt(lengths), expected, atol=1e-9)
    assert np.abs(rows).sum(axis=0).max() == 11
