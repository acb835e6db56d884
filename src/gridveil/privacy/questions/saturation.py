"""Sums too large for 64 bits, cut off instead of wrapped around, by arithmetic that is the same for all data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

LARGEST = 2**62


def saturated(wrapped: Ints, nearly: Floats) -> Ints:
    """Return exact sums, cut off at +-2**62, from the same sums modulo 2**64 and in floats.

    Guarantee: as long as `nearly` is within 2**61 of the exact sum, which doubles are for all sums of fewer than
    2**20 terms whose absolute values add up to less than 2**93, the result is the exact sum, cut off. If
    `|nearly| >= 1.5 * 2**62` the exact sum is beyond 2**62; otherwise it is within 2**63, where int64 has not wrapped.
    Cutting off moves no answer further than it was moved, so that sensitivities hold. No branch depends on the data.

    >>> saturated(np.array([7, -(2**62)]), np.array([7.0, 3 * 2.0**62]))
    array([                  7, 4611686018427387904])
    """
    beyond = np.abs(nearly) >= 1.5 * LARGEST
    return np.where(beyond, np.where(nearly < 0, -LARGEST, LARGEST), np.clip(wrapped, -LARGEST, LARGEST))
