"""A question to the kernel, worked out from public numbers alone: what to compute, what noise, what it costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gridveil.cube import Window
from gridveil.privacy.account import ROUNDING, Account, Marks
from gridveil.privacy.bound import Bound
from gridveil.privacy.staircase import Staircase

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Kind = Literal["sums", "matrix", "transform", "deviations", "household_totals"]


@dataclass(frozen=True)
class Scope:
    """What a question is about: the cube of a window under a bound."""

    window: Window
    bound: Bound
    shape: tuple[int, int, int]


@dataclass(frozen=True)
class Question:
    """Exact integer answers as a function of the cube, and the scale of the noise on each, in the same integers.

    weights: what the account of the scope is charged: labels and the weight of each. Without, the charge is fixed:
        `epsilon` in every pillar.
    staircase: the noise on every answer, if it is not Laplace noise. It has the variance that the scales tell.
    """

    kind: Kind
    scope: Scope
    epsilon: float
    exact: Callable[[Ints], Ints]
    scales: Floats
    weights: tuple[Marks, Floats] | None
    staircase: Staircase | None = None


def unit_scale(own: float, epsilon: float) -> float:
    """Return the scale at which a measurement that costs `own` at scale 1 costs `epsilon`, or a little less."""
    return own * (1 + 3 * ROUNDING) / epsilon


def knapsack(scope: Scope, weights: Floats) -> float:
    """Return what a measurement with these weights, broadcastable to (x, y, t), costs by itself."""
    return float(Account(scope.window, scope.bound).loss_with(*as_weights(weights)).max())


def as_weights(weights: Floats) -> tuple[Marks, Floats]:
    """Return weights (x, y, t) as an account takes them: every place a label of its own."""
    return np.arange(weights.size).reshape(weights.shape), weights.ravel()
