"""The paper's sanitisation: one noisy sum for each part of the quantized pattern, spread over the part."""

from __future__ import annotations

from typing import Literal

import numpy as np

from gridveil.model.estimate import Estimate, NoisyParts
from gridveil.model.units import Floats, Ints
from gridveil.trusted.kernel.session import Session

Calibration = Literal["joint", "theorem8"]
Spread = Literal["proportional", "uniform"]


def release_parts(
    measure: Session, pattern: Floats, labels: Ints, epsilon: float, calibration: Calibration, spread: Spread
) -> Estimate:
    """Measure the sum of each part for `epsilon` altogether and spread it over the part's cells and steps."""
    if calibration == "theorem8":
        relative = theorem8_scales(labels, measure.bound.step, measure.bound.window)
        noisy = measure.sums(labels, epsilon, relative=relative, sequential=True)
    else:
        noisy = measure.sums(labels, epsilon)
    shares = shares_of_parts(pattern if spread == "proportional" else np.ones_like(pattern), labels)
    values = noisy.values[labels] * shares
    return Estimate(values, NoisyParts(labels, noisy.scales, shares), {"parts": len(noisy.scales)})


def theorem8_scales(labels: Ints, step_bound: int, window_bound: int) -> Floats:
    """Return the relative noise scales of the paper's Theorem 8.

    It shares epsilon out in proportion to `s**(2/3)`, `s` being the most that one household can add to a part, and
    scales are `s / epsilon`: so they are in proportion to `s**(1/3)`.
    """
    nx, ny, _ = labels.shape
    count = int(labels.max()) + 1
    pillar = np.arange(nx * ny).reshape(nx, ny, 1)
    steps = np.bincount((pillar * count + labels).ravel(), minlength=nx * ny * count).reshape(-1, count).max(axis=0)
    most: Floats = np.minimum(step_bound * steps, window_bound).astype(np.float64)
    return most ** (1 / 3)


def shares_of_parts(weights: Floats, labels: Ints) -> Floats:
    """Return the fraction of its part that each entry is given: in proportion to its weight.

    A negative weight counts as 0 (a network may predict one); a part whose weights are all 0 is spread evenly.
    """
    positive = np.maximum(weights, 0.0)
    sums = np.bincount(labels.ravel(), weights=positive.ravel())
    positive = np.where(sums[labels] > 0, positive, 1.0)
    return positive / np.bincount(labels.ravel(), weights=positive.ravel())[labels]
