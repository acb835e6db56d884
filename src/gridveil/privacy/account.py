"""What has been spent: the worst privacy loss of a household, per pillar."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridveil.cube import Window
from gridveil.errors import UsageError
from gridveil.privacy.bound import Bound

Floats = NDArray[np.float64]
Marks = NDArray[np.signedinteger[Any] | np.unsignedinteger[Any]]
"""Labels of every (x, y, t), broadcastable to the cube."""

Weights = Floats
"""Loss per Wh of every (x, y, t), broadcastable to the cube: an axis of length 1 stands for equal weights."""

# Losses are sums of positive floats. Adding n of them errs by at most n * 2**-53 relative, so raising the sum
# by ROUNDING makes it an upper bound as long as no more than 2 * MOST_TERMS were added up: steps and measurements of
# an account, and measurements of a kernel, are limited to MOST_TERMS each. What a measurement's rows add up to is
# exact (labels: each place has one; strategies: `rounded` refuses those whose columns do not add up exactly).
ROUNDING = 1e-10
MOST_TERMS = 400_000


def worst_loss(weights: Weights, steps: int, bound: Bound) -> Floats:
    """Return, per pillar, the largest loss that a household within the bound can suffer.

    Guarantee: the result is `max { sum_t w_t v_t : 0 <= v_t <= step, sum_t v_t <= window }` up to rounding. This is a
    fractional knapsack: give the heaviest steps their full `step`, the next one what is left of `window`. Because
    `step` and `window` are integers, an integer contribution attains it.

    >>> worst_loss(np.array([[[1.0, 3.0, 2.0]]]), 3, Bound(step=10, window=15))
    array([[40.]])
    """
    full, rest = divmod(bound.window, bound.step)
    if weights.shape[-1] == 1:
        return np.asarray(weights[..., 0] * min(bound.step * steps, bound.window))
    if full >= steps:
        return np.asarray(bound.step * weights.sum(axis=-1))
    last = steps - 1 - full
    heaviest = np.partition(weights, last, axis=-1)[..., last:]  # the first of these is the smallest
    return np.asarray(bound.step * heaviest[..., 1:].sum(axis=-1) + rest * heaviest[..., 0])


@dataclass
class Account:
    """The weights of all measurements made on one window under one bound, added up.

    Guarantee: let a household contribute `v` to its pillar `p`. A Laplace measurement `y_j = A_j x + noise(b_j)`
    moves the log-probability of any answer by at most `sum_t |A_j,pt| v_t / b_j`, so all measurements together, each
    perhaps chosen by the answers before it, move that of the whole transcript by at most `sum_t W_pt v_t`, with `W_pt`
    the sum of the weights `|A_j,pt| / b_j`. The worst admissible `v` gives the loss of the pillar.

    A measurement is given as its labels and the weight of each label (see `weights_of`). An axis along which no
    measurement's weights vary is kept at length 1 (see `varying`), so that equal noise on everything takes one number,
    whatever its labels. The loss is the same: `W` is a sum of arrays that do not vary along the axis, so neither does
    it, and the array of length 1 stands for just that `W`. Along x and y, pillars with equal weights have equal losses,
    and along t `worst_loss` takes one weight for all steps.
    """

    window: Window
    bound: Bound
    weights: Weights = field(default_factory=lambda: np.zeros((1, 1, 1)))
    measurements: int = 0

    def loss_with(self, marks: Marks, weight: Floats) -> Floats:
        """Return the loss of every pillar, broadcastable to (x, y), if this measurement were made too."""
        if self.window.steps + self.measurements >= MOST_TERMS:
            msg = f"more than {MOST_TERMS} steps and measurements in one window cannot be accounted for"
            raise UsageError(msg)
        marks = varying(marks, weight)
        rows = max(len(marks), len(self.weights))
        # One slab of the grid at a time: a copy of the whole cube would cost more than the arithmetic.
        pairs = zip(_rows(marks, rows), _rows(self.weights, rows), strict=True)
        slabs = (weights_of(mark, weight) + before for mark, before in pairs)
        return np.concatenate([worst_loss(slab, self.window.steps, self.bound) for slab in slabs])

    def add(self, marks: Marks, weight: Floats) -> None:
        """Put the measurement into the account."""
        marks = varying(marks, weight)
        shape = np.broadcast_shapes(self.weights.shape, marks.shape)
        if self.weights.shape != shape:
            self.weights = np.broadcast_to(self.weights, shape).copy()
        for row, mark in enumerate(_rows(marks, len(self.weights))):
            self.weights[row] += weights_of(mark[0], weight)
        self.measurements += 1


def weights_of(marks: Marks, weight: Floats) -> Weights:
    """Return the weight of every cell and step from the weights of labels; label -1 weighs nothing."""
    return np.append(weight, 0.0)[marks]


def varying(marks: Marks, weight: Floats) -> Marks:
    """Return the labels cut to length 1 along every axis that their weights do not vary along.

    Guarantee: `weights_of` the result, broadcast, is `weights_of(marks, weight)`. Where all labels weigh the same and
    none is -1 there is one weight; else each slab is looked at, and an axis is cut only if all slabs equal the first
    one (x), and each is the same all along y, or t. Labels that are -1 weigh 0.

    >>> varying(np.array([[[0, 1, -1], [1, 0, -1]]]), np.array([0.5, 0.5])).tolist()
    [[[0, 1, -1]]]
    """
    if (weight == weight[0]).all() and marks.min() >= 0:
        return marks[:1, :1, :1]
    varies = np.zeros(3, dtype=bool)
    first = weights_of(marks[0], weight)
    for slab in marks:  # one at a time, and only until all axes are known to vary
        if (varies | (np.array(marks.shape) == 1)).all():
            break
        weights = weights_of(slab, weight)
        varies |= [(weights != first).any(), (weights != weights[:1]).any(), (weights != weights[:, :1]).any()]
    return marks[tuple(slice(None) if varied else slice(1) for varied in varies)]


def _rows(array: NDArray[Any], count: int) -> Iterator[NDArray[Any]]:
    """Give out `count` slabs along the first axis, the same one again where there is only one."""
    return (array[i : i + 1] if len(array) > 1 else array for i in range(count))
