"""A question to the kernel, worked out from public numbers alone: what to compute, what noise, what it costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gridveil.model.units import Floats, Ints
from gridveil.model.window import Window
from gridveil.trusted.kernel.account import ROUNDING, Account, Marks
from gridveil.trusted.kernel.bound import Bound
from gridveil.trusted.kernel.slabs import Slab
from gridveil.trusted.kernel.staircase import Staircase

Kind = Literal["sums", "matrix", "transform", "deviations", "household_totals"]


@dataclass(frozen=True)
class Scope:
    """What a question is about: the cube of a window under a bound."""

    window: Window
    bound: Bound
    shape: tuple[int, int, int]


@dataclass(frozen=True)
class KernelQuestion:
    """Exact integer answers as a function of the cube, and the scale of the noise on each, in the same integers.

    exact: from slabs that together are the cube, in a fresh array, which noise is added to in place.
    weights: what the account of the scope is charged: labels and the weight of each. Without, the charge is fixed:
        `epsilon` in every pillar.
    staircase: the noise on every answer, if it is not Laplace noise. It has the variance that the scales tell.
    """

    kind: Kind
    scope: Scope
    epsilon: float
    exact: Callable[[Iterable[Slab]], Ints]
    scales: Floats
    weights: tuple[Marks, Floats] | None
    staircase: Staircase | None = None


def at_once(exact: Callable[[Ints], Ints]) -> Callable[[Iterable[Slab]], Ints]:
    """Return a function of the whole cube as one of its slabs: a cube that is held is one slab."""

    def of_slabs(slabs: Iterable[Slab]) -> Ints:
        ((_, cube),) = slabs
        return exact(cube)

    return of_slabs


def unit_scale(own: float, epsilon: float) -> float:
    """Return the scale at which a measurement that costs `own` at scale 1 costs `epsilon`, or a little less."""
    return own * (1 + 3 * ROUNDING) / epsilon


def knapsack(scope: Scope, weights: Floats) -> float:
    """Return what a measurement with these weights, broadcastable to (x, y, t), costs by itself."""
    return float(Account(scope.window, scope.bound).loss_with(*as_weights(weights)).max())


def as_weights(weights: Floats) -> tuple[Marks, Floats]:
    """Return weights (x, y, t) as an account takes them: every place a label of its own."""
    return np.arange(weights.size).reshape(weights.shape), weights.ravel()
