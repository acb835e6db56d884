"""Questions to the kernel that make no sense are refused here, by public numbers alone, before anything is spent."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gridveil.model.errors import BudgetError, UsageError
from gridveil.trusted.kernel.account import Marks
from gridveil.trusted.kernel.noise import LARGEST_SCALE, SMALLEST_SCALE

WIDEST_RATIO = 2.0**100
"""Relative scales stay where floats have full precision."""


def relative_scales(relative: ArrayLike | None, marks: Marks) -> NDArray[np.float64]:
    """Return how large the noise scales of the labels are relative to each other, one for each label."""
    count = int(marks.max()) + 1
    if not count:
        msg = "all labels are -1: there is nothing to measure"
        raise UsageError(msg, code="nothing-to-measure")
    if relative is None:
        return np.ones(count)
    ratios = np.array(relative, dtype=np.float64)  # a copy: what is charged for is what is used
    within = (ratios >= 1 / WIDEST_RATIO) & (ratios <= WIDEST_RATIO)
    if ratios.ndim != 1 or len(ratios) < count or not within.all():
        msg = f"relative scales: give one positive number, neither tiny nor huge, for each of the {count} labels"
        raise UsageError(msg, code="relative-scales")
    return ratios


def checked_epsilon(epsilon: float) -> float:
    """Return epsilon as a double, whatever kind of number it came as: a shorter float would round what is charged."""
    if not (math.isfinite(epsilon) and epsilon > 0):
        msg = f"a measurement with epsilon {epsilon}: it must be a positive number"
        raise BudgetError(msg, code="measurement-epsilon")
    return float(epsilon)


def check_scales(scales: NDArray[np.float64]) -> None:
    """Refuse noise that the sampler or the accounting could not represent."""
    # One of those that are the same in memory (a stride of 0) stands for all: there may be as many as the cube has.
    scales = scales[tuple(slice(None) if stride else slice(1) for stride in scales.strides)]
    if not (scales <= LARGEST_SCALE).all():
        msg = f"noise of scale {scales.max():.3g} Wh does not fit 64-bit integers: raise epsilon or lower the bounds"
        raise BudgetError(msg, code="noise-too-large")
    if not (scales >= SMALLEST_SCALE).all():
        msg = f"noise of scale {scales.min():.3g} Wh is none at all: lower epsilon"
        raise BudgetError(msg, code="noise-too-small")
