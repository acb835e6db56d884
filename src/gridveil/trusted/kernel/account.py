"""Accounting: the largest privacy loss of a household, per pillar."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridveil.model.arrays import Floats
from gridveil.model.errors import UsageError
from gridveil.model.window import Window
from gridveil.trusted.budget import Bound

Marks = NDArray[np.signedinteger[Any] | np.unsignedinteger[Any]]
"""Labels of every (x, y, t), broadcastable to the cube."""

Weights = Floats
"""Loss per Wh of every (x, y, t), broadcastable to the cube: an axis of length 1 stands for equal weights."""

# Losses are sums of positive floats. Adding n of them errs by at most n * 2**-53 relative, so raising the sum
# by ROUNDING makes it an upper bound as long as no more than 2 * MAX_TERMS were added up: steps and measurements of
# an account, and measurements of a kernel, are limited to MAX_TERMS each. What a measurement's rows add up to is
# exact (labels: each place has one; strategies: `round_factor` refuses those whose columns do not add up exactly).
ROUNDING = 1e-10
MAX_TERMS = 400_000

MAX_PAIRS = 2**20
"""Of weights before a measurement and its own, that an account tells apart: a few MB, and never the size of a cube."""


def worst_loss(weights: Weights, steps: int, bound: Bound) -> Floats:
    """Return, per pillar, the largest loss that a household within the bound can suffer.

    Guarantee: the result is `max { sum_t w_t v_t : 0 <= v_t <= step, sum_t v_t <= window }` up to rounding. This is a
    fractional knapsack: give the heaviest steps their full `step`, the next one what is left of `window`. Because
    `step` and `window` are integers, an integer contribution attains it. Weights are never negative: they are absolute
    values over scales.

    >>> worst_loss(np.array([[[1.0, 3.0, 2.0]]]), 3, Bound(step=10, window=15))
    array([[40.]])
    """
    if weights.shape[-1] not in {1, steps}:
        msg = f"weights of {weights.shape[-1]} steps for a window of {steps}: one for each step, or one for all"
        raise UsageError(msg, code="account-steps")
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
    measurement's weights vary is kept at length 1 (see `drop_constant_axes`), so that equal noise on everything takes
    one number, whatever its labels. The loss is the same: `W` is a sum of arrays that do not vary along the axis, so
    neither does it, and the array of length 1 stands for just that `W`. Along x and y, pillars with equal weights have
    equal losses, and along t `worst_loss` takes one weight for all steps.

    What does vary is kept as the few different weights that there are, and which of them each place has.

    levels: the different weights. places: which of them every (x, y, t) has, broadcastable to the cube.
    """

    window: Window
    bound: Bound
    levels: Floats = field(default_factory=lambda: np.zeros(1))
    places: Marks = field(default_factory=lambda: np.zeros((1, 1, 1), dtype=np.uint8))
    measurements: int = 0

    def loss_with(self, marks: Marks, weight: Floats) -> Floats:
        """Return the loss of every pillar, broadcastable to (x, y), if this measurement were made too."""
        if self.window.steps + self.measurements >= MAX_TERMS:
            msg = f"more than {MAX_TERMS} steps and measurements in one window cannot be accounted for"
            raise UsageError(msg, code="account-too-long")
        if marks.min() < -1 or marks.max() >= len(weight):  # it would be charged as another label, or not at all
            msg = f"labels from {marks.min()} to {marks.max()} with {len(weight)} weights: each label needs one"
            raise UsageError(msg, code="account-labels")
        marks, weights = drop_constant_axes(marks, weight), weights_of(weight)
        # One slab of the grid at a time: a copy of the whole cube would cost more than the arithmetic.
        slabs = (self.levels[place] + weights[mark] for place, mark in _pair_rows(self.places, marks))
        return np.concatenate([worst_loss(slab, self.window.steps, self.bound) for slab in slabs])

    def add(self, marks: Marks, weight: Floats) -> None:
        """Put the measurement into the account."""
        self.levels, self.places = add_weights(self.levels, self.places, drop_constant_axes(marks, weight), weight)
        self.measurements += 1


def weights_of(weight: Floats) -> Floats:
    """Return the weights of labels with that of label -1, which weighs nothing, as the last: indexed by labels."""
    return np.append(weight, 0.0)


def drop_constant_axes(marks: Marks, weight: Floats) -> Marks:
    """Return the labels cut to length 1 along every axis that their weights do not vary along.

    Guarantee: what is cut off has the weights of what is left, so that broadcasting brings them back. Where all labels
    weigh the same and none is -1 there is one weight; else each slab is looked at, and an axis is cut only if all slabs
    equal the first one (x), and each is the same all along y, or t. Labels that are -1 weigh 0.

    >>> drop_constant_axes(np.array([[[0, 1, -1], [1, 0, -1]]]), np.array([0.5, 0.5])).tolist()
    [[[0, 1, -1]]]
    """
    if (weight == weight[0]).all() and marks.min() >= 0:
        return marks[:1, :1, :1]
    of_label = weights_of(weight)
    first, varies = of_label[marks[0]], np.zeros(3, dtype=bool)
    for slab in marks:  # one at a time, and only until all axes are known to vary
        if (varies | (np.array(marks.shape) == 1)).all():
            break
        weights = of_label[slab]
        varies |= [(weights != first).any(), (weights != weights[:1]).any(), (weights != weights[:, :1]).any()]
    return marks[tuple(slice(None) if varied else slice(1) for varied in varies)]


def add_weights(levels: Floats, places: Marks, marks: Marks, weight: Floats) -> tuple[Floats, Marks]:
    """Return the levels and places of an account with the weights of a measurement added.

    Guarantee: `levels[places]` of the result is that of the account plus `weights_of(weight)[marks]`. A place's new
    level is the sum of its old one and the measurement's weight; those pairs of the two that occur are numbered.
    Where there may be too many pairs for that, every place has a level of its own.
    """
    shape, weights = np.broadcast_shapes(places.shape, marks.shape), weights_of(weight)
    different, kind = np.unique(weights, return_inverse=True)
    if len(levels) * len(different) > MAX_PAIRS:
        own = np.empty(shape)
        for row, (place, mark) in enumerate(_pair_rows(places, marks)):
            own[row] = levels[place] + weights[mark]
        return own.ravel(), np.arange(own.size, dtype=np.min_scalar_type(own.size)).reshape(shape)

    def pairs() -> Iterator[NDArray[np.int64]]:  # they do not fit the small integers of places and labels
        return (place * np.int64(len(different)) + kind[mark] for place, mark in _pair_rows(places, marks))

    occurs = np.zeros(len(levels) * len(different), dtype=bool)
    for pair in pairs():
        occurs[pair] = True
    number = (np.cumsum(occurs) - 1).astype(np.min_scalar_type(occurs.sum()))
    numbers = np.empty(shape, dtype=number.dtype)
    for row, pair in enumerate(pairs()):
        numbers[row] = number[pair]
    return np.add.outer(levels, different).ravel()[occurs], numbers


def _pair_rows(places: Marks, marks: Marks) -> Iterator[tuple[Marks, Marks]]:
    """Give out slabs of both along x, one of the grid's rows at a time, the same one again where there is only one."""
    rows = max(len(places), len(marks))
    return zip(_iterate_rows(places, rows), _iterate_rows(marks, rows), strict=True)


def _iterate_rows(array: NDArray[Any], count: int) -> Iterator[NDArray[Any]]:
    """Give out `count` slabs along the first axis, the same one again where there is only one."""
    return (array[i : i + 1] if len(array) > 1 else array for i in range(count))
