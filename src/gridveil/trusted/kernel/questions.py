"""Questions to the kernel, worked out from public numbers alone; sums by label, and counts of households by total."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from gridveil.model.arrays import Floats, Ints
from gridveil.model.errors import BudgetError, UsageError
from gridveil.model.running import Limits
from gridveil.model.window import Window
from gridveil.trusted.budget import Bound
from gridveil.trusted.kernel.account import ROUNDING, Account, Marks
from gridveil.trusted.kernel.labels import (
    Slab,
    count_labels_and_steps,
    count_most_steps,
    parse_labels,
    parse_relative_scales,
    sum_slabs,
)
from gridveil.trusted.kernel.noise import SMALLEST_SCALE
from gridveil.trusted.kernel.staircase import Staircase, choose_staircase

# A question to the kernel, worked out from public numbers alone: what to compute, what noise, what it costs.

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


# Sums of the cube by label, and counts of households by their totals.


def ask_sums(
    scope: Scope,
    epsilon: float,
    labels: ArrayLike | None,
    *,
    relative: ArrayLike | None,
    sequential: bool,
    noise: str,
) -> KernelQuestion:
    """Return the question for the sum of the cube over each label; see `Session.sums`.

    Guarantee: see `ask_laplace_sums` and `ask_staircase_sums`.
    """
    kinds = {"laplace": ask_laplace_sums, "staircase": ask_staircase_sums}
    if noise not in kinds:
        msg = f"noise {noise!r}: there are {' and '.join(kinds)}"
        raise UsageError(msg, code="noise-unknown")
    return kinds[noise](scope, epsilon, labels, relative=relative, sequential=sequential)


def ask_laplace_sums(
    scope: Scope, epsilon: float, labels: ArrayLike | None, *, relative: ArrayLike | None, sequential: bool
) -> KernelQuestion:
    """Return the question for sums with Laplace noise.

    Guarantee: the scales are `s * relative` with `s` such that this measurement by itself costs `epsilon` in the
    worst-off pillar: its own knapsack value, or the sum over labels `i` of
    `max_p min(step * n_i(p), window) / b_i` (`n_i(p)`: steps of pillar `p` in label `i`) if `sequential`, which is
    a fixed charge.
    """
    if labels is None:
        return _ask_every_value(scope, epsilon, relative=relative, sequential=sequential)
    marks = parse_labels(labels, scope.shape)
    ratios = parse_relative_scales(relative, marks)
    if sequential:
        step = min(scope.bound.step, scope.bound.window)  # their product with steps then fits int64
        most = np.minimum(step * count_most_steps(marks, scope.window.steps, len(ratios)), scope.bound.window)
        own = float((most / ratios).sum())
    else:
        own = float(Account(scope.window, scope.bound).loss_with(marks, 1 / ratios).max())
    scales = ratios * compute_unit_scale(own, epsilon)
    weights = None if sequential else (marks, 1 / scales)
    return KernelQuestion("sums", scope, epsilon, lambda slabs: sum_slabs(slabs, marks, len(scales)), scales, weights)


def _ask_every_value(scope: Scope, epsilon: float, *, relative: ArrayLike | None, sequential: bool) -> KernelQuestion:
    """Return the question for every cell and step by itself, in the order x, y, t, without labels for them.

    Guarantee: that of `ask_laplace_sums` for labels 0, 1, 2, ... and equal scales `b`. Each cell and step is in one
    label, which weighs `1 / b`: to an account that is one weight for all of them, just as if they were one label
    (see `drop_constant_axes`).
    """
    if relative is not None or sequential:
        msg = "every cell and step by itself has the same noise: for relative scales or sequential charges, give labels"
        raise UsageError(msg, code="sums-need-labels")
    everything = np.zeros((1, 1, 1), dtype=np.int64)
    own = float(Account(scope.window, scope.bound).loss_with(everything, np.ones(1)).max())
    scale = np.array([compute_unit_scale(own, epsilon)])

    def exact(slabs: Iterable[Slab]) -> Ints:
        values = np.empty(scope.shape, dtype=np.int64)
        for rows, slab in slabs:
            values[rows] = slab
        return values.reshape(-1)

    scales = np.broadcast_to(scale, math.prod(scope.shape))
    return KernelQuestion("sums", scope, epsilon, exact, scales, (everything, 1 / scale))


def ask_staircase_sums(
    scope: Scope, epsilon: float, labels: ArrayLike | None, *, relative: ArrayLike | None, sequential: bool
) -> KernelQuestion:
    """Return the question for sums with staircase noise.

    Guarantee: a fixed charge of `epsilon`. In pillar `p` a household moves the sum of label `i` by at most
    `min(step * n_i(p), window)` (`n_i(p)`: steps of `p` in label `i`), which is 0 in labels that the pillar has no step
    in, and at most `delta`, the largest of them, in the others. By the guarantee of `Staircase` it loses no more than
    the staircase's epsilon in each of those; the largest number of labels in a pillar times that is `epsilon`, less a
    little: floats err by far less than the slack of `compute_unit_scale`, and so does the sampler (see `ExactNoise`).
    The loss of a staircase is not in proportion to the shift, so the window bound cannot be shared out among labels:
    many labels in one pillar are better measured with Laplace noise.
    """
    if labels is None or relative is not None or sequential:
        msg = "staircase noise is the same for all labels, which must be given: anything else is for Laplace noise"
        raise UsageError(msg, code="staircase-options")
    marks = parse_labels(labels, scope.shape)
    count = len(parse_relative_scales(None, marks))
    most_labels, longest = count_labels_and_steps(marks, scope.window.steps)
    delta = min(scope.bound.step * longest, scope.bound.window)
    staircase = choose_staircase(delta, 1 / compute_unit_scale(most_labels, epsilon))
    # Noise that is zero in practice keeps a scale that one can divide by.
    scales = np.full(count, max(math.sqrt(staircase.variance / 2), SMALLEST_SCALE))
    return KernelQuestion("sums", scope, epsilon, lambda slabs: sum_slabs(slabs, marks, count), scales, None, staircase)


def ask_household_totals(scope: Scope, epsilon: float, edges: ArrayLike) -> KernelQuestion:
    """Return the question for the number of households with a window total in each bin; see `Session.household_totals`.

    Guarantee: a household is in at most one bin, so one count moves by one: with scale `1 / epsilon` the loss is
    `epsilon`, in every pillar, whatever else is measured (a fixed charge).
    """
    bins = np.array(np.asarray(edges), dtype=np.int64)  # a copy, which nobody else can change after the check
    if bins.ndim != 1 or not len(bins) or (np.diff(bins) <= 0).any():
        msg = "edges must be a list of increasing whole numbers of Wh"
        raise UsageError(msg, code="edges-invalid")
    scales = np.full(len(bins), compute_unit_scale(1.0, epsilon))
    return KernelQuestion("household_totals", scope, epsilon, bins, scales, None)
