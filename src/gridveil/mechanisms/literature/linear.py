"""Linear methods: the least-squares cube of a strategy's noisy answers, and its exact noise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from gridveil.model.arrays import Floats
from gridveil.trusted.kernel.session import NoisyAnswers
from gridveil.uncertainty import Estimate, LinearNoise

NEGLIGIBLE = 1e-10  # of the largest singular value: below are rows that say nothing, and rounding


def least_squares(answers: NoisyAnswers, **details: Any) -> Estimate:  # noqa: ANN401  # as in Estimate
    """Return the cube whose answers are nearest to the noisy ones, each weighted by its own noise.

    What the answers leave open is made as small as possible: frequencies that were not measured are zero, and a sum
    is spread evenly over its steps. The noise scales may differ along time, not between cells. The error model is exact
    but for the rounding of the noise to whole numbers: the estimate is linear in the answers.
    """
    scales = np.broadcast_to(answers.scales, answers.values.shape)[0, 0]
    x, y = (None if factor is None else invert(factor, np.ones(len(factor))) for factor in (answers.x, answers.y))
    t = np.eye(len(scales)) if answers.t is None else invert(answers.t, scales)
    values = answers.values
    for axis, back in enumerate((x, y, t)):
        if back is not None:
            values = np.moveaxis(np.tensordot(back, values, axes=(1, axis)), 0, axis)
    return Estimate(np.ascontiguousarray(values), LinearNoise(x, y, t * (math.sqrt(2) * scales)), details)


def invert(matrix: Floats, scales: Floats) -> Floats:
    """Return the matrix that takes answers with these noise scales back to what was asked about, by least squares.

    It weights each answer by the inverse of its variance, and gives the solution of least norm.

    >>> invert(np.array([[1.0], [1.0]]), np.array([1.0, 2.0]))
    array([[0.8, 0.2]])
    """
    weights = scales.min() / scales
    return np.asarray(np.linalg.pinv(matrix * weights[:, None], rcond=NEGLIGIBLE) * weights)


def count_shared_ranges(length: int) -> Floats:
    """Return, for every two places of an axis, how many of all ranges along it contain both.

    >>> count_shared_ranges(2)
    array([[2., 1.],
           [1., 2.]])
    """
    place = np.arange(length, dtype=np.float64)
    return np.asarray((np.minimum.outer(place, place) + 1) * (length - np.maximum.outer(place, place)))
