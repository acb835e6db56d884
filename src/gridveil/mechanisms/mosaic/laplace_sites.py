"""Gaussian stand-ins for Laplace noise: what to make of a noisy number once its neighbours say what to expect."""

from __future__ import annotations

import math

import numpy as np

from gridveil.estimate import Floats

ROUNDS, KEEP = 8, 0.2
FAR = 8.0
# Chebyshev coefficients of log(erfc(z) exp(z^2) / t), t = 1 / (1 + z / 2); relative error below 1.2e-7
# (Press et al., Numerical Recipes, section 6.2).
ERFC = (-1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587, -0.82215223)
ERFC_LAST = 0.17087277


def laplace_sites(covariance: Floats, values: Floats, scales: Floats, laplace: Floats) -> tuple[Floats, Floats]:
    """Return Gaussian measurements (values, variances) that say the same as Laplace ones, by expectation propagation.

    covariance: of the measured numbers beforehand; their mean is 0.
    scales: of the noise; its variance is twice the square. Where `laplace` is 0, noise is Gaussian and stays so.

    Laplace noise is mostly small: a sum of few numbers is known better than its variance says, and a number far from
    what its neighbours expect counts for little. Where noise is large, this is worth up to half the variance.
    """
    wide = 2 * scales**2
    seen, variances = values, wide
    for _ in range(ROUNDS):
        inverse = np.linalg.inv(covariance + np.diag(variances))
        alone = 1 / np.diag(inverse)
        expected = seen - inverse @ seen * alone
        without = np.maximum(alone - variances, 1e-9 * wide)
        mean, variance = tilted(expected - values, without, scales)
        precision = np.maximum(1 / variance - 1 / without, 1e-6 / wide)
        shifted = precision * values + (mean / variance - (expected - values) / without)
        precision = np.where(laplace > 0, precision, 1 / wide)
        shifted = np.where(laplace > 0, shifted, values / wide)
        # Both parameters move only most of the way at once: all sites change together.
        shifted = (1 - KEEP) * shifted + KEEP * seen / variances
        variances = 1 / ((1 - KEEP) * precision + KEEP / variances)
        seen = shifted * variances
    return seen, variances


def tilted(mean: Floats, variance: Floats, scale: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance of a normal variable whose density is multiplied by `exp(-|u| / scale)`.

    >>> tilted(np.array([0.0]), np.array([1.0]), np.array([1e9]))[1].round(6)
    array([1.])
    """
    sd = np.sqrt(variance)
    above, below = mean / sd - sd / scale, -mean / sd - sd / scale
    odds = (log_half(above) - mean / scale) - (log_half(below) + mean / scale)
    part = 1 / (1 + np.exp(-np.clip(odds, -700, 700)))
    (up, up_var), (down, down_var) = _positive(above), _positive(below)
    first = part * up - (1 - part) * down
    second = part * (up_var + up**2) + (1 - part) * (down_var + down**2)
    return sd * first, variance * np.maximum(second - first**2, 1e-12)


def log_half(z: Floats) -> Floats:
    """Return the log of twice the normal distribution function.

    >>> log_half(np.array([-40.0])).round(3)
    array([-803.915])
    """
    scaled = _log_erfcx(np.abs(z) / math.sqrt(2))
    tail = scaled - z**2 / 2
    return np.where(z < 0, tail, np.log1p(1 - np.minimum(np.exp(tail), 1.0)))


def _positive(centre: Floats) -> tuple[Floats, Floats]:
    """Return mean and variance of a normal variable of variance 1 around `centre`, given that it is positive."""
    far = np.maximum(-centre, FAR)
    near = np.maximum(centre, -FAR)
    rate = np.exp(-(near**2) / 2 - log_half(near)) * math.sqrt(2 / math.pi)
    # Far below zero, differences of nearly equal numbers lose all digits: asymptotic series instead.
    mean = np.where(centre < -FAR, 1 / far - 2 / far**3 + 10 / far**5, near + rate)
    variance = np.where(centre < -FAR, 1 / far**2 - 6 / far**4 + 50 / far**6, 1 - rate * (rate + near))
    return mean, np.maximum(variance, 1e-12)


def _log_erfcx(z: Floats) -> Floats:
    """Return `log(erfc(z) exp(z^2))` for z that are not negative."""
    t = 1 / (1 + z / 2)
    total = np.full_like(z, ERFC_LAST)
    for coefficient in reversed(ERFC):
        total = total * t + coefficient
    return np.asarray(total + np.log(t))
