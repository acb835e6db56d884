"""The cells with the highest consumption over a period, and their possible ranks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gridveil.model.arrays import Floats
from gridveil.model.errors import UsageError
from gridveil.release.format.read import reading
from gridveil.release.query.open import Answer, Release, step_range

# Maps of steps that need not be adjacent.


def values_at(release: Release, schedules: Sequence[Floats] | Floats) -> Floats:
    """Return every cell's weighted sum over steps, kWh (schedule, y, x); a schedule has one weight for each step.

    By parts, so that only the edges at which a weight changes are read: all mornings of a year are 730 maps.
    """
    planes = np.zeros((len(schedules), release.grid.ny + 1, release.grid.nx + 1))
    prefix = release._prefix  # noqa: SLF001 -- the same room: prefix sums are not for others
    if len(schedules):
        changes = -np.diff(np.asarray(schedules), axis=1, prepend=0.0, append=0.0)
        with reading(release.path):
            edges = np.flatnonzero(changes.any(axis=0)).tolist()
            for edge, sums in zip(edges, prefix.planes(edges), strict=True):
                planes += changes[:, edge, None, None] * sums
    return np.diff(np.diff(planes, axis=1), axis=2)


# The cells that used most over a period, and which other places they may have in truth.

MISSES = 0.05  # of 95 % intervals
Places = NDArray[np.int64]


@dataclass(frozen=True)
class High(Answer):
    """A cell, its answer, and its possible places in the ranking of all cells.

    They are right if the intervals of all cells hold together, widened so that they do in 95 of 100 maps: see
    `widen_jointly`.
    """

    x: int
    y: int
    place: tuple[int, int]


def highest(release: Release, start: int, stop: int, count: int) -> list[High]:
    """Return the `count` cells that used most from step `start` to before step `stop`, highest first."""
    step_range((start, stop), release.window)
    if count < 1:
        msg = f"count {count}: ask for at least one cell"
        raise UsageError(msg, code="count-invalid")
    cells = release.cells(start, stop)
    value, low, high = (part.astype(np.float64) for part in (cells.value, cells.low, cells.high))
    y, x = np.unravel_index(np.argsort(-value, axis=None, kind="stable")[:count], value.shape)
    period = np.broadcast_to([start, stop], (len(x), 2))
    answers = release.answers_of(np.column_stack([x, x + 1, y, y + 1, period]))
    # Places go by the intervals that are shown: those of all cells at once may be approximations.
    value[y, x], low[y, x], high[y, x] = answers.value, answers.low, answers.high
    first, last = (place[y, x] for place in places(*widen_jointly(value, low, high)))
    return [
        High(
            float(answers.value[i]),
            float(answers.standard_error[i]),
            float(answers.low[i]),
            float(answers.high[i]),
            x=int(x[i]),
            y=int(y[i]),
            place=(int(first[i]), int(last[i])),
        )
        for i in range(len(x))
    ]


def widen_jointly(value: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Return both ends of the 95 % intervals of `n` cells, widened so that all hold together in 95 of 100 maps.

    Each must then miss with a chance of at most 5 % / n. Laplace and normal noise, and all sums of such, have
    log-concave densities, and so `P(|X| > r q) <= P(|X| > q)^r`: intervals `r = ln(20 n) / ln(20)` times as wide are
    wide enough, and just so for a single Laplace variable. About other errors this is a convention.

    >>> low, high = widen_jointly(np.full(20, 5.0), np.full(20, 4.0), np.full(20, 7.0))
    >>> low.round(9)[0].item(), high.round(9)[0].item()
    (3.0, 9.0)
    """
    ratio = math.log(value.size / MISSES) / math.log(1 / MISSES)
    # A value may lie outside its own interval, where perhaps nobody lives.
    return np.minimum(value + ratio * (low - value), low), np.maximum(value + ratio * (high - value), high)


def places(low: Floats, high: Floats) -> tuple[Places, Places]:
    """Return the best and the worst place of every cell that intervals allow; 1 is the highest.

    A cell is behind those whose interval begins above the end of its own, and before those whose interval ends below
    its beginning; nothing is said of the others.

    >>> [place.tolist() for place in places(np.array([7.0, 2.0, 1.0]), np.array([9.0, 4.0, 3.0]))]
    [[1, 2, 2], [1, 3, 3]]
    """
    above = low.size - np.searchsorted(np.sort(low, axis=None), high, side="right")
    below = np.searchsorted(np.sort(high, axis=None), low, side="left")
    return 1 + above, low.size - below


def order_in_words(ranked: list[High]) -> str:
    """Say what the places mean for the order of the highest cells.

    >>> first = High(9.0, 1.0, 7.0, 11.0, x=0, y=0, place=(1, 1))
    >>> second = High(4.0, 1.0, 2.0, 6.0, x=1, y=0, place=(2, 5))
    >>> order_in_words([first])
    'If all intervals hold (widened so that they do together), this is the true order.'
    >>> order_in_words([first, second]).split("; ")[1]
    '1 of these 2 cells then has no other place, the others may change places.'
    """
    settled = sum(first == last for first, last in (cell.place for cell in ranked))
    if settled == len(ranked):
        return "If all intervals hold (widened so that they do together), this is the true order."
    if settled == 0:
        return (
            "Their order is open, even if all intervals hold (widened so that they do together): intervals overlap, so "
            "the true order may be another one, and cells that are not in this list may belong in it."
        )
    which = f"{settled} of these {len(ranked)} cells then {'has' if settled == 1 else 'have'} no other place"
    return (
        "Possible places are those if all intervals hold (widened so that they do together); "
        f"{which}, the others may change places."
    )
