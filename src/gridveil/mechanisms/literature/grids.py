"""How fine a grid is worth its noise: the rule of uniform grids, in one to three dimensions."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field

from gridveil.model.units import Floats, Ints
from gridveil.trusted.kernel.session import Measurement, Session

Share = Annotated[float, Field(gt=0, lt=1)]
"""A fraction of the budget."""

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]

TOTAL_SHARE = 0.02
"""Of the budget, for the noisy total that decides how fine a grid will be."""


def measure_total(measure: Session, epsilon: float) -> Measurement:
    """Measure the total of the cube."""
    return measure.sums(np.zeros((1, 1, 1), dtype=np.int64), epsilon)


def most_of(measure: Session) -> int:
    """Return the most that one household can add to the sum of the whole window, Wh."""
    return min(measure.bound.step * measure.window.steps, measure.bound.window)


def blocks_worth(people: Floats, epsilon: float, sides: Ints, constant: float) -> Floats:
    """Return how many blocks boxes of these sides (box, axis) are worth, between 1 and all their cells and steps.

    People: each box's sum in units of what one household can add. The error of a block's noise and that of taking the
    block for uniform balance at `(people * epsilon / constant) ** (2 / (d + 2))` blocks per axis, in `d` axes that can
    be cut at all: `sqrt(people * epsilon / constant)` in two, the rule of Qardaji, Yang and Li.

    >>> blocks_worth(np.array([1000.0, -3.0]), 1.0, np.array([[32, 32, 1], [32, 32, 1]]), 10.0)
    array([100.,   1.])
    """
    dimensions = (sides > 1).sum(axis=1)
    blocks = np.maximum(people * epsilon / constant, 1.0) ** (2 * dimensions / (dimensions + 2))
    return np.asarray(np.minimum(blocks, sides.prod(axis=1, dtype=np.float64)))


def near_cubes(sides: Ints, blocks: Floats) -> Ints:
    """Return into how many parts to cut each axis so that about `blocks` blocks of equal sides come out.

    An axis that is shorter than the side of a block stays whole, and the others take over.

    >>> near_cubes(np.array([[32, 32, 120], [2, 32, 32]]), np.array([1920.0, 16.0])).tolist()
    [[8, 8, 30], [1, 4, 4]]
    """
    cut = sides > 1
    for _ in range(sides.shape[1]):
        product = np.where(cut, sides, 1).prod(axis=1, dtype=np.float64)
        side = (product / blocks) ** (1 / np.maximum(cut.sum(axis=1), 1))
        cut &= sides >= side[:, None]
    parts = np.where(cut, np.rint(sides / np.maximum(side, 1.0)[:, None]), 1.0)
    return np.clip(parts, 1, sides).astype(np.int64)
