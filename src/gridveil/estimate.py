"""What a mechanism hands over: values for every cell and step, and what is needed for an error bar."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class NoisyParts:
    """The noise of independent sums over disjoint parts of the cube, spread over each part's cells.

    A range query that covers the share `s_i` of part `i` has the noise `sum_i s_i * Laplace(scales[i])`.

    labels: which part a cell and step belongs to (-1: none), broadcastable to the cube (x, y, t);
        `None` when every cell and step is a part of its own.
    scales: Laplace scale of each part's sum, Wh; with `labels=None` broadcastable to the cube.
    shares: the fraction of its part's sum that a cell and step holds, broadcastable to the cube.
    """

    labels: Ints | None
    scales: Floats
    shares: Floats


@dataclass(frozen=True)
class Replicates:
    """Reconstructions repeated with redrawn noise, and whatever else was uncertain; their spread is the error bar.

    Replicate `r` is the cube `space[r, x, y] * time[r, t]`, Wh: separable, so a query costs O(replicates).
    """

    space: Floats
    time: Floats


@dataclass(frozen=True)
class LinearNoise:
    """The noise of a linear reconstruction: the cube `(x (x) y (x) time) z`, `z` independent Laplace of variance 1.

    Each factor has the shape (length of its axis, any), or is `None` for an identity: independent noise along it. Their
    product is in Wh.
    """

    x: Floats | None
    y: Floats | None
    time: Floats | None


@dataclass(frozen=True)
class Estimate:
    """A reconstructed cube in Wh, axes (x, y, t), with its error model.

    `details` are public facts about how it was made (numbers of parts, choices taken), for the label. Like
    `values`, they may only come from measurements and public numbers.
    """

    values: Floats
    errors: NoisyParts | Replicates | LinearNoise
    details: dict[str, Any] = field(default_factory=dict)
