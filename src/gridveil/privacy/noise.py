"""The only place where noise is drawn."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from opendp.domains import atom_domain, vector_domain
from opendp.measurements import make_laplace
from opendp.metrics import l1_distance
from opendp.mod import enable_features

enable_features("contrib")  # OpenDP's word for "not yet vetted by a third party"; tests/statistics re-tests the sampler

# Noise of a larger scale would reach the limits of int64, where it is cut off; one of a smaller scale is zero in
# practice, and on the way to numbers that floats no longer hold with full precision.
LARGEST_SCALE = 2.0**50
SMALLEST_SCALE = 2.0**-50


class Noise(Protocol):
    """Adds noise to exact integer answers. Only `ExactLaplace` is taken for private; others are for tests."""

    def add(self, values: NDArray[np.int64], scales: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return each value with fresh noise of its own scale added."""


class ExactLaplace:
    """OpenDP's discrete Laplace on 64-bit integers: exact sampling from the operating system's randomness.

    Guarantee: adding noise of scale `b` to an integer makes the log-probability of any answer move by at most
    `d / b` when the integer moves by `d`, and independent answers add up. The noise has
    `P(k) = (1 - q) / (1 + q) * q**|k|` with `q = exp(-1/b)` for integer `k`, so
    `|log P(y - x) - log P(y - x')| = ||y - x| - |y - x'|| / b <= |x - x'| / b`.
    No floating-point number takes part in drawing or adding it, `b` enters as the exact rational that its float
    stands for, and there is no seed to set. OpenDP cuts sums off at the ends of int64: post-processing.
    """

    __slots__ = ()  # nothing on it can be replaced

    def add(self, values: NDArray[np.int64], scales: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return each value with fresh noise of its own scale added."""
        answers = np.empty_like(values)
        distinct, which = np.unique(scales, return_inverse=True)
        for i, scale in enumerate(distinct):
            of_scale = which == i
            answers[of_scale] = _measurement(float(scale))(values[of_scale].tolist())
        return answers


def _measurement(scale: float):  # type: ignore[no-untyped-def]  # noqa: ANN202  # OpenDP has no type information
    return make_laplace(vector_domain(atom_domain(T="i64")), l1_distance(T="i64"), scale=scale)
