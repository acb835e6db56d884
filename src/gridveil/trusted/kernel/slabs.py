"""Cubes that are too large to be held: asked for and answered in slabs of rows along x."""

from __future__ import annotations

import math
from collections.abc import Iterator

from gridveil.model.errors import UsageError
from gridveil.model.units import Ints

Slab = tuple[slice, Ints]
"""Some rows of a cube along x, and the cube's values there."""

HELD_VALUES = 2**27
"""Cells x steps that a kernel keeps between questions, of all its cubes together: 1 GB, an eighth of the memory that a
year of hours on 256 x 256 cells is published in. A larger cube is asked for anew, slab by slab, for every question."""

SLAB_VALUES = 2**24
"""Cells x steps, or answers, that are worked on at a time: 128 MB. A slab has one row at least."""


def is_held(values: int) -> bool:
    """Return whether so many cells x steps are few enough to be held: a public number decides."""
    return values <= HELD_VALUES


def check_held(shape: tuple[int, int, int]) -> None:
    """Refuse a cube that is too large to be held, for questions that look at it as a whole."""
    if not is_held(math.prod(shape)):
        msg = (
            f"only sums can be measured of a cube of {shape[0]} x {shape[1]} x {shape[2]}: other questions take at "
            f"most {HELD_VALUES} cells x steps; use a coarser grid, a shorter window, or a mechanism that measures "
            "sums, as mosaic, stpt, identity and even do"
        )
        raise UsageError(msg, code="cube-too-large")


def slabs_of(shape: tuple[int, ...]) -> Iterator[slice]:
    """Give out the first axis of an array of this shape in runs of about SLAB_VALUES values. Public numbers only.

    >>> [rows.start for rows in slabs_of((5, 2**23))]
    [0, 2, 4]
    """
    rows = max(1, SLAB_VALUES // math.prod(shape[1:]))
    return (slice(first, min(first + rows, shape[0])) for first in range(0, shape[0], rows))
