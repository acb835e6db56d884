"""A question to the kernel, worked out from public numbers alone: what to compute, what noise, what it costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gridveil.model.arrays import Floats, Ints
from gridveil.model.errors import BudgetError
from gridveil.model.limits import Limits
from gridveil.model.window import Window
from gridveil.trusted.kernel.account import ROUNDING, Account, Marks
from gridveil.trusted.kernel.bound import Bound
from gridveil.trusted.kernel.labels import Slab
from gridveil.trusted.kernel.staircase import Staircase

Kind = Literal["sums", "matrix", "transform", "deviations", "household_totals"]

Matrices = tuple[Floats | None, Floats | None, Floats | None]
"""Of a strategy along x, y and t; `None` is an identity."""

LARGEST = 2**62
"""Answers that may be too large for 64 bits are cut off here (see `saturate`)."""


@dataclass(frozen=True)
class Scope:
    """What a question is about: the cube of a window under a bound, and how much of it is worked on at a time."""

    window: Window
    bound: Bound
    shape: tuple[int, int, int]
    limits: Limits


@dataclass(frozen=True)
class KernelQuestion:
    """Exact integer answers as a function of the data, and the scale of the noise on each, in the same integers.

    exact: the answers from slabs that together are the cube, in a fresh array; or the edges (Wh) of the bins that
        households are counted in by their totals.
    weights: what the account of the scope is charged: labels and the weight of each. Without, the charge is fixed:
        `epsilon` in every pillar.
    staircase: the noise on every answer, if it is not Laplace noise. It has the variance that the scales tell.
    per_wh: how many units of each answer make one Wh.
    matrices: the strategy that is applied, as it was rounded.
    """

    kind: Kind
    scope: Scope
    epsilon: float
    exact: Callable[[Iterable[Slab]], Ints] | Ints
    scales: Floats
    weights: tuple[Marks, Floats] | None
    staircase: Staircase | None = None
    per_wh: Ints | float = 1.0
    matrices: Matrices = (None, None, None)


def check_epsilon(epsilon: float) -> float:
    """Return epsilon as a double, whatever kind of number it came as: a shorter float would round what is charged."""
    if not (math.isfinite(epsilon) and epsilon > 0):
        msg = f"a measurement with epsilon {epsilon}: it must be a positive number"
        raise BudgetError(msg, code="measurement-epsilon")
    return float(epsilon)


def apply_to_cube(exact: Callable[[Ints], Ints]) -> Callable[[Iterable[Slab]], Ints]:
    """Return a function of the whole cube as one of its slabs: a cube that is held is one slab."""

    def of_slabs(slabs: Iterable[Slab]) -> Ints:
        ((_, cube),) = slabs
        return exact(cube)

    return of_slabs


def compute_unit_scale(own: float, epsilon: float) -> float:
    """Return the scale at which a measurement that costs `own` at scale 1 costs `epsilon`, or a little less."""
    return own * (1 + 3 * ROUNDING) / epsilon


def compute_cost(scope: Scope, weights: Floats) -> float:
    """Return what a measurement with these weights, broadcastable to (x, y, t), costs by itself."""
    return float(Account(scope.window, scope.bound).loss_with(*to_weights(weights)).max())


def to_weights(weights: Floats) -> tuple[Marks, Floats]:
    """Return weights (x, y, t) as an account takes them: every place a label of its own."""
    return np.arange(weights.size).reshape(weights.shape), weights.ravel()


def saturate(wrapped: Ints, nearly: Floats) -> Ints:
    """Return exact sums, cut off at +-2**62, from the same sums modulo 2**64 and in floats.

    Guarantee: as long as `nearly` is within 2**61 of the exact sum, the result is the exact sum, cut off: if
    `|nearly| >= 1.5 * 2**62` the exact sum is beyond 2**62, otherwise it is within 2**63, where int64 has not wrapped.
    Doubles are that near if the number of terms times the sum of their absolute values is below 2**113. It is: what a
    household can add to all answers together is at most the largest scale, 2**50, times epsilon, so 2**27 households
    make sums below 2**77 times epsilon, of fewer than 2**30 terms, and epsilon would have to pass 2**6 first.
    Cutting off moves no answer further than it was moved, so that sensitivities hold. No branch depends on the data.

    >>> saturate(np.array([7, -(2**62)]), np.array([7.0, 3 * 2.0**62]))
    array([                  7, 4611686018427387904])
    """
    beyond = np.abs(nearly) >= 1.5 * LARGEST
    return np.where(beyond, np.where(nearly < 0, -LARGEST, LARGEST), np.clip(wrapped, -LARGEST, LARGEST))
