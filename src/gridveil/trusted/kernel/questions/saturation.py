"""Sums too large for 64 bits, cut off instead of wrapped around, by arithmetic that is the same for all data."""

from __future__ import annotations

import numpy as np

from gridveil.model.units import Floats, Ints

LARGEST = 2**62


def saturated(wrapped: Ints, nearly: Floats) -> Ints:
    """Return exact sums, cut off at +-2**62, from the same sums modulo 2**64 and in floats.

    Guarantee: as long as `nearly` is within 2**61 of the exact sum, the result is the exact sum, cut off: if
    `|nearly| >= 1.5 * 2**62` the exact sum is beyond 2**62, otherwise it is within 2**63, where int64 has not wrapped.
    Doubles are that near if the number of terms times the sum of their absolute values is below 2**113. It is: what a
    household can add to all answers together is at most the largest scale, 2**50, times epsilon, so 2**27 households
    make sums below 2**77 times epsilon, of fewer than 2**30 terms, and epsilon would have to pass 2**6 first.
    Cutting off moves no answer further than it was moved, so that sensitivities hold. No branch depends on the data.

    >>> saturated(np.array([7, -(2**62)]), np.array([7.0, 3 * 2.0**62]))
    array([                  7, 4611686018427387904])
    """
    beyond = np.abs(nearly) >= 1.5 * LARGEST
    return np.where(beyond, np.where(nearly < 0, -LARGEST, LARGEST), np.clip(wrapped, -LARGEST, LARGEST))
