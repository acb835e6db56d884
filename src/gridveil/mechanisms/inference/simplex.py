"""Joint non-negativity: the nearest numbers that are not negative and have a given sum. Post-processing."""

from __future__ import annotations

import numpy as np

from gridveil.model.units import Floats


def project(values: Floats, totals: Floats | float) -> Floats:
    """Return the nearest point of `{v >= 0, sum v = total}` to each row of values (last axis).

    All numbers are lowered by the same amount and cut at zero. Cutting alone would add to the sum what noise it
    removes below zero (half a Laplace scale a number, where there is nothing but noise): the sum of a large region
    would drown in it. A total that is not positive leaves nothing.

    >>> project(np.array([3.0, 2.0, -1.0]), 4.0)
    array([2.5, 1.5, 0. ])
    """
    wanted = np.asarray(totals, dtype=np.float64)[..., None]
    falling = -np.sort(-values, axis=-1)
    lowered = (np.cumsum(falling, axis=-1) - wanted) / np.arange(1, values.shape[-1] + 1)
    # How many stay above zero: a prefix, and at least one if anything is wanted.
    kept = np.maximum(np.count_nonzero(falling > lowered, axis=-1, keepdims=True), 1)
    by = np.take_along_axis(lowered, kept - 1, axis=-1)
    return np.asarray(np.where(wanted > 0, np.maximum(values - by, 0.0), 0.0), dtype=np.float64)
