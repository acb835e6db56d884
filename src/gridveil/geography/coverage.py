"""What share of each cell an outline covers, exactly, by the rule that font rasterisers use.

An outline is a set of directed segments, its inside on their left. The area of a cell that lies inside is a sum over
segments: each covers, with the sign of its direction, everything east of it. So a segment is cut where it crosses the
grid's lines, each piece gives a trapezium to its own cell and a whole strip to all cells east of it, and the strips are
added up by one cumulative sum along each row. No cell is intersected with anything, however many corners there are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gridveil.model.errors import UsageError
from gridveil.model.units import Floats

Segments = tuple[Floats, Floats]  # where they start and where they end, (n, 2)
MOST_PIECES = 2**20
NEARLY = 1e-9  # of a cell: rounding


def coverage(outline: Segments, nx: int, ny: int) -> Floats:
    """Return the share (y, x) of each cell of an `nx` x `ny` grid inside an outline, in units of cells.

    >>> corners = np.array([[0.5, 0.0], [3.0, 0.0], [3.0, 1.0], [0.5, 1.0]])
    >>> coverage((corners, np.roll(corners, -1, axis=0)), 3, 2).tolist()
    [[0.5, 1.0, 1.0], [0.0, 0.0, 0.0]]
    """
    start, end = pieces(outline, nx, ny)
    strip = start[:, 1] - end[:, 1]  # southward is positive: what lies east of it is inside
    middle = (start + end) / 2
    column, row = (
        np.minimum(np.floor(middle[:, axis]), last).astype(np.int64) for axis, last in ((0, nx), (1, ny - 1))
    )
    east = strip * (middle[:, 0] - column)
    place = row * (nx + 2) + column
    room = ny * (nx + 2)
    strips = np.bincount(place, strip - east, room) + np.bincount(place + 1, east, room)[:room]
    shares = strips.reshape(ny, nx + 2).cumsum(axis=1)[:, :nx]
    shares[shares < NEARLY] = 0.0
    shares[shares > 1 - NEARLY] = 1.0
    return np.asarray(shares)


def pieces(segments: Segments, nx: int, ny: int) -> Segments:
    """Cut segments at all lines x = 0 to nx and y = 0 to ny, and move what lies outside to the nearest point inside.

    Moving changes nothing inside: no line between a point outside and the nearest one inside goes through the inside.
    """
    start, end = segments
    counts, firsts = zip(
        *(_crossed(start[:, axis], end[:, axis], size) for axis, size in enumerate((nx, ny))), strict=True
    )
    if len(start) + sum(int(count.sum()) for count in counts) > MOST_PIECES:
        msg = "the area's outline is too intricate: simplify it"
        raise UsageError(msg, code="outline-too-intricate")
    owners, shares = [np.arange(len(start))], [np.zeros(len(start))]
    for axis, (count, first) in enumerate(zip(counts, firsts, strict=True)):
        owner = np.repeat(np.arange(len(start)), count)
        line = np.arange(len(owner)) - np.repeat(count.cumsum() - count, count) + first[owner]
        owners.append(owner)
        shares.append((line - start[owner, axis]) / (end[owner, axis] - start[owner, axis]))
    owner, share = np.concatenate(owners), np.concatenate(shares)
    order = np.lexsort((share, owner))
    owner, share = owner[order], share[order]
    points = start[owner] + share[:, None] * (end[owner] - start[owner])
    last = np.append(owner[1:] != owner[:-1], [True] * bool(len(owner)))
    following = np.where(last[:, None], end[owner], np.roll(points, -1, axis=0))
    corner = np.array([nx, ny], dtype=float)
    return np.clip(points, 0.0, corner), np.clip(following, 0.0, corner)


def _crossed(start: Floats, end: Floats, size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many of the lines 0 to `size` lie strictly between two numbers, and the first of them."""
    low, high = np.minimum(start, end), np.maximum(start, end)
    first = np.clip(np.floor(low) + 1, 0, size + 1)
    last = np.clip(np.ceil(high) - 1, -1, size)
    return np.maximum(last - first + 1, 0).astype(np.int64), first.astype(np.int64)
