"""How far single households stray from the profile they share, and the variance that this gives to a period."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gridveil.model.arrays import Floats

BATCH_NUMBERS = 2**20


@dataclass(frozen=True)
class Behaviour:
    """How far single households stray from the profile in time that they share; public numbers, not of the release.

    A household that uses `x` in the window uses `x * (profile(P) + e(P))` in a period `P`. Its `e` comes from a
    stationary process in units of its mean use, the sum of independent ones with the covariance at a lag of `d` hours

        strengths[i]^2 * exp(-d / hours[i]) * cos(2 pi d / periods[i])        (a period of infinity: no cosine)

    of which the sum over the window is taken off again in proportion to the profile, so that the whole window has none.
    """

    strengths: tuple[float, ...]
    hours: tuple[float, ...]
    periods: tuple[float, ...]


# Fitted to the relative variance that households of London have in periods of an hour to three weeks (Low Carbon
# London, winter, one half of the households): moments, half days and days, how the window differs from other weeks, and
# habits of the day. Public numbers: no release changes them.
LONDON = Behaviour(
    strengths=(0.638, 0.177, 0.263, 0.309, 0.189, 0.210),
    hours=(0.5, 24.0, 1000.0, 1000.0, 1000.0, 1000.0),
    periods=(math.inf, math.inf, math.inf, 24.0, 12.0, 8.0),
)


def half_variances(behaviour: Behaviour, steps: int, hours: float) -> Floats:
    """Return `g(n)` for n = 0 to `steps`: half the variance of the process' integral over n steps of so many hours.

    In units of the mean use in the whole window. One process has the covariance `Re exp(-rate d)`, with a complex rate,
    whose second antiderivative is `Re (rate d - 1 + exp(-rate d)) / rate^2`.

    >>> g = half_variances(Behaviour((1.0,), (1e9,), (np.inf,)), steps=4, hours=1.0)
    >>> np.round(2 * g, 6).tolist()
    [0.0, 0.0625, 0.25, 0.5625, 1.0]
    """
    lengths = np.arange(steps + 1) * hours
    total = np.zeros(steps + 1)
    for strength, decay, period in zip(behaviour.strengths, behaviour.hours, behaviour.periods, strict=True):
        rate = 1 / decay - 2j * np.pi / period
        passed = rate * lengths
        # Near 0 the difference below has no digits left; there the series has.
        series = passed**2 * (0.5 - passed / 6 + passed**2 / 24)
        area = np.where(np.abs(passed) < 1e-3, series, passed - 1 + np.exp(-passed)) / rate**2  # noqa: PLR2004 - 1e-10 off
        total += strength**2 * area.real
    return np.asarray(total / (steps * hours) ** 2)


def variances(half: Floats, periods: NDArray[np.int64], shares: Floats) -> Floats:
    """Return the variances of `e(P)` (period, profile), of periods (start, end in steps) with shares of some profiles.

    A process minus its own sum over the window, in proportion to the profile: `e(P) = Z(P) - share * Z(window)`, and
    covariances of integrals are sums of `g` of the distances between their ends.

    >>> half = half_variances(Behaviour((1.0,), (0.5,), (np.inf,)), steps=24, hours=1.0)
    >>> variances(half, np.array([[0, 24], [3, 4]]), np.array([[1.0], [1 / 24]])).round(5).tolist()
    [[0.0], [0.00091]]
    """
    first, last = periods.T
    steps = len(half) - 1
    both = half[last] + half[steps - first] - half[first] - half[steps - last]
    return _around_profile(2 * half[last - first], both, half[steps], shares)


def schedule_variances(behaviour: Behaviour, hours: float, schedules: Floats, shares: Floats) -> Floats:
    """Return the variances of `e(a) = sum_t a_t e_t` (schedule, profile) for weights `a` of steps.

    With `Z_t` the integral over step `t`, `e(a) = sum_t (a_t - share) Z_t`. The covariance of `Z_t` and `Z_u` depends
    on the lag alone, so its quadratic form is a product of Fourier transforms.

    >>> some = Behaviour((1.0,), (0.5,), (np.inf,))
    >>> schedule_variances(some, 1.0, np.eye(24)[[3]], np.array([[1 / 24]])).round(5).tolist()
    [[0.00091]]
    """
    steps = schedules.shape[1]
    lags = _covariances(behaviour, steps, hours)
    size = 2 ** (2 * steps - 1).bit_length()
    ring = np.zeros(size)
    ring[:steps] = lags
    ring[size - steps + 1 :] = lags[:0:-1]
    twice = np.where(np.arange(size // 2 + 1) % (size // 2) == 0, 1.0, 2.0) / size  # other frequencies stand for two
    spectrum = np.fft.rfft(ring).real * twice
    own = np.concatenate([np.abs(np.fft.rfft(some, size)) ** 2 @ spectrum for some in batches(schedules, size)])
    to_all = np.cumsum(lags) + np.cumsum(lags)[::-1] - lags[0]
    return _around_profile(own, schedules @ to_all, to_all.sum() / 2, shares)


def _covariances(behaviour: Behaviour, steps: int, hours: float) -> Floats:
    """Return the covariance of the process' integrals over two steps by their lag, units as in `half_variances`."""
    lags = np.zeros(steps)
    for strength, decay, period in zip(behaviour.strengths, behaviour.hours, behaviour.periods, strict=True):
        rate = 1 / decay - 2j * np.pi / period
        ahead = np.exp(-rate * hours * np.arange(steps - 1))
        lags[1:] += strength**2 * (ahead * (np.expm1(-rate * hours) / rate) ** 2).real
    lags /= (steps * hours) ** 2
    lags[0] = 2 * half_variances(behaviour, steps, hours)[1]
    return lags


def _around_profile(own: Floats, both: Floats, half_of_all: float, shares: Floats) -> Floats:
    """Return the variances of a sum with a share of the window's taken off; `both` is their covariance."""
    return np.asarray(np.maximum(own[:, None] + 2 * shares * (shares * half_of_all - both[:, None]), 0.0))


def batches(rows: Floats, columns: int) -> list[Floats]:
    """Split rows so that a table with so many columns for each takes little room."""
    return np.array_split(rows, len(rows) * columns // BATCH_NUMBERS + 1)
