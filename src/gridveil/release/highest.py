"""The cells that used most over a period, and how certain their order is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gridveil.errors import UsageError
from gridveil.release.open import Answer, Release
from gridveil.release.times import step_range


@dataclass(frozen=True)
class High(Answer):
    """A cell, its answer, and the places in the ranking of all cells that single cells' intervals allow it."""

    x: int
    y: int
    place: tuple[int, int]


class Intervals(Protocol):
    """Both ends of every cell's 95 % interval."""

    @property
    def low(self) -> NDArray[np.floating]:
        """The lower end."""

    @property
    def high(self) -> NDArray[np.floating]:
        """The upper end."""


def highest(release: Release, start: int, stop: int, count: int) -> list[High]:
    """Return the `count` cells that used most from step `start` to before step `stop`, highest first."""
    step_range((start, stop), release.window)
    if count < 1:
        msg = f"count {count}: ask for at least one cell"
        raise UsageError(msg)
    cells = release.cells(start, stop)
    ranking = np.argsort(-cells.value, axis=None, kind="stable")[:count]
    y, x = np.unravel_index(ranking, cells.value.shape)
    period = np.broadcast_to([start, stop], (len(x), 2))
    answers = release.answers_of(np.column_stack([x, x + 1, y, y + 1, period]))
    first, last = (place[y, x] for place in places(cells))
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


def places(cells: Intervals) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the best and the worst place of every cell that the intervals allow; 1 is the highest.

    A cell is surely behind those whose interval begins above the end of its own, surely before those whose interval
    ends below its beginning; nothing is said of the others.
    """
    low, high = np.asarray(cells.low), np.asarray(cells.high)
    surely_above = low.size - np.searchsorted(np.sort(low, axis=None), high, side="right")
    surely_below = np.searchsorted(np.sort(high, axis=None), low, side="left")
    return 1 + surely_above, low.size - surely_below


def order_in_words(ranked: list[High]) -> str:
    """Say what the places mean for the order of the highest cells.

    >>> first = High(9.0, 1.0, 7.0, 11.0, x=0, y=0, place=(1, 1))
    >>> second = High(4.0, 1.0, 2.0, 6.0, x=1, y=0, place=(2, 5))
    >>> order_in_words([first, second])
    'Going by their 95 % intervals, the place of 1 of these 2 cells is certain; the others may change places.'
    """
    certain = sum(first == last for first, last in (cell.place for cell in ranked))
    if certain == len(ranked):
        return "Going by their 95 % intervals, their order is certain: none overlaps with another cell's."
    if certain == 0:
        return (
            "Going by their 95 % intervals, none of these places is certain: intervals overlap, so the true order may "
            "be another one, and cells that are not in this list may belong in it."
        )
    return (
        f"Going by their 95 % intervals, the place of {certain} of these {len(ranked)} cells is certain; "
        "the others may change places."
    )
