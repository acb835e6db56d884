"""Boxes of cells and steps: cutting the cube into them, labelling them, and spreading their sums."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridveil.model.estimate import Estimate, NoisyParts
from gridveil.model.units import Floats, Ints
from gridveil.trusted.kernel.session import Session

Boxes = NDArray[np.int64]
"""Axes (box, axis, 2): for x, y and t, where a box begins and the place after its last."""

Shape = tuple[int, int, int]


def shape_of(measure: Session) -> Shape:
    """Return the shape of the published cube."""
    return measure.grid.nx, measure.grid.ny, measure.window.steps


def whole(shape: Shape) -> Boxes:
    """Return the cube as one box."""
    return np.array([[[0, length] for length in shape]], dtype=np.int64)


def sides_of(boxes: Boxes) -> Ints:
    """Return how long every box is along each axis, axes (box, axis)."""
    return np.asarray(boxes[:, :, 1] - boxes[:, :, 0])


def sizes_of(boxes: Boxes) -> Ints:
    """Return how many cells and steps are in every box."""
    return np.asarray(sides_of(boxes).prod(axis=1))


def subdivide(boxes: Boxes, counts: Ints) -> tuple[Boxes, Ints]:
    """Cut each box into a grid of `counts` (box, axis) blocks of almost equal sides.

    Returns the blocks, box by box, and the number of the box that each came from.

    >>> blocks, parents = subdivide(whole((4, 1, 3)), np.array([[2, 1, 2]]))
    >>> blocks[:, 2].tolist()
    [[0, 1], [1, 3], [0, 1], [1, 3]]
    """
    blocks = counts.prod(axis=1)
    parents = np.repeat(np.arange(len(boxes)), blocks)
    within = np.arange(len(parents)) - np.repeat(np.cumsum(blocks) - blocks, blocks)
    _, along_y, along_t = counts[parents].T
    index = np.stack([within // (along_y * along_t), within // along_t % along_y, within % along_t], axis=1)
    begin, side, parts = boxes[parents, :, 0], sides_of(boxes)[parents], counts[parents]
    return np.stack([begin + index * side // parts, begin + (index + 1) * side // parts], axis=2), parents


def paint(boxes: Boxes, shape: Shape) -> Ints:
    """Return for every cell and step the number of the box it is in, -1 for none. The boxes must be disjoint.

    >>> paint(np.array([[[0, 1], [0, 1], [2, 4]]]), (1, 1, 5)).ravel().tolist()
    [-1, -1, 0, 0, -1]
    """
    # Each box adds its number, counted from 1, at its corners with alternating signs; sums along the axes fill it.
    corners = np.zeros([length + 1 for length in shape], dtype=np.int64)
    numbers = np.arange(1, len(boxes) + 1)
    for corner in np.ndindex(2, 2, 2):
        place = tuple(boxes[:, axis, end] for axis, end in enumerate(corner))
        np.add.at(corners, place, (-1) ** sum(corner) * numbers)
    for axis in range(3):
        np.cumsum(corners, axis=axis, out=corners)
    return corners[:-1, :-1, :-1] - 1


def spread(boxes: Boxes, sums: Floats, variances: Floats, shape: Shape, details: dict[str, Any]) -> Estimate:
    """Spread the sum of each box evenly over it. The boxes must cover the cube; `variances` are of the sums' noise.

    The error model has a box's variance as that of one Laplace variable, and boxes as independent.
    """
    labels, sizes = paint(boxes, shape), sizes_of(boxes)
    errors = NoisyParts(labels, np.sqrt(variances / 2), (1 / sizes)[labels])
    return Estimate((sums / sizes)[labels], errors, {"parts": len(boxes), **details})
