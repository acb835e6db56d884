"""The variance that households' own behaviour gives to a period, in closed form; see `gridveil.estimate.Behaviour`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gridveil.estimate import Behaviour, Floats


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
    own = 2 * half[last - first][:, None]
    both = half[last] + half[steps - first] - half[first] - half[steps - last]
    return np.asarray(np.maximum(own + 2 * shares * (shares * half[steps] - both[:, None]), 0.0))
