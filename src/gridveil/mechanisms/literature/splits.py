"""Where to split boxes in two: a noisy search for the place that leaves both sides most homogeneous."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gridveil.mechanisms.literature.boxes import Boxes, Shape, paint, shape_of, sides_of
from gridveil.model.units import Floats, Ints
from gridveil.trusted.kernel.session import Session


def longest_axes(boxes: Boxes, shape: Shape) -> Ints:
    """Return for each box the axis along which it is longest, as a fraction of the cube and if it can be split there.

    >>> longest_axes(np.array([[[0, 2], [0, 4], [0, 8]], [[0, 1], [0, 2], [0, 1]]]), (4, 4, 16)).tolist()
    [1, 1]
    """
    sides = sides_of(boxes)
    return np.asarray(np.where(sides > 1, sides / shape, 0.0).argmax(axis=1))


def halve(boxes: Boxes, axes: Ints, at: Ints) -> tuple[Boxes, Ints]:
    """Split each box along its axis after `at` places; return the halves and the number of the box each came from.

    A box that has one place along its axis stays as it is.
    """
    numbers = np.arange(len(boxes))
    split = sides_of(boxes)[numbers, axes] > 1
    left, right = boxes.copy(), boxes[split]
    middle = boxes[numbers, axes, 0] + at
    left[numbers[split], axes[split], 1] = middle[split]
    right[np.arange(len(right)), axes[split], 0] = middle[split]
    parents = np.concatenate([numbers, numbers[split]])
    order = np.argsort(parents, kind="stable")
    return np.concatenate([left, right])[order], parents[order]


class Search:
    """Searches the best split of all boxes at once: where `sum |value - mean|` of the two sides is least.

    Boxes are disjoint, so a candidate of each box is one measurement together. Starting from the middle, `rounds`
    times the places halfway to both ends of what is left of the box are tried; the best of three is kept and the ends
    move in. That is `2 * rounds + 1` measurements at most, each with `epsilon`.
    """

    def __init__(self, measure: Session, boxes: Boxes, axes: Ints, epsilon: float) -> None:
        self._measure, self._epsilon = measure, epsilon
        numbers = np.arange(len(boxes))
        self._sides = sides_of(boxes)[numbers, axes]
        self._box = paint(boxes, shape_of(measure))
        places = np.indices(self._box.shape, sparse=True)
        along: Ints = np.choose(axes[self._box], places)
        self._place = along - boxes[numbers, axes, 0][self._box]

    def best(self, rounds: int) -> Ints:
        """Return how many places of each box are to be left of its split: at least one, and not all."""
        low, high = np.ones_like(self._sides), np.maximum(self._sides - 1, 1)
        at = (low + high) // 2
        score = self._scores(at, high > low, np.zeros(len(at)))
        for _ in range(rounds):
            lower, upper = (low + at) // 2, (at + high + 1) // 2
            scores = np.stack([score, self._scores(lower, lower < at, score), self._scores(upper, upper > at, score)])
            choice = scores.argmin(axis=0)
            low, high = np.choose(choice, [lower, low, at]), np.choose(choice, [upper, at, high])
            at, score = np.choose(choice, [at, lower, upper]), scores.min(axis=0)
        return np.asarray(at)

    def _scores(self, at: Ints, asked: NDArray[np.bool_], known: Floats) -> Floats:
        """Measure the deviations left by splits of the boxes that are asked for; of others repeat what is known."""
        scores = known.copy()
        if asked.any():
            numbers = np.where(asked, np.cumsum(asked) - 1, -1)[self._box]
            labels = np.where(numbers < 0, -1, 2 * numbers + (self._place >= at[self._box]))
            answers = self._measure.deviations(labels, self._epsilon)
            scores[asked] = answers.values.reshape(-1, 2).sum(axis=1)
        return scores
