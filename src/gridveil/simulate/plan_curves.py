"""Curves through a few noisy points: they fall, and somewhere they cross a level."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise


def falling(values: Sequence[float]) -> list[float]:
    """Return the values nearest to these that never rise (least squares): rises are replaced by their mean.

    >>> falling([9.0, 4.0, 6.0, 1.0])
    [9.0, 5.0, 5.0, 1.0]
    """
    blocks: list[tuple[float, int]] = []
    for value in values:
        mean, count = value, 1
        while blocks and blocks[-1][0] < mean:
            before, many = blocks.pop()
            mean, count = (before * many + mean * count) / (many + count), many + count
        blocks.append((mean, count))
    return [mean for mean, count in blocks for _ in range(count)]


def crossing(curve: Mapping[float, float], level: float) -> float | None:
    """Return where a falling curve reaches a level, between its points on logarithmic paper, or that it does not.

    >>> crossing({1.0: 40.0, 4.0: 10.0}, 20.0)
    2.0
    >>> crossing({1.0: 40.0, 4.0: 30.0}, 20.0)
    """
    points = sorted(curve.items())
    if points and points[0][1] <= level:
        return points[0][0]
    for (left, high), (right, low) in pairwise(points):
        if low <= level < high:
            part = 1.0 if low <= 0 else math.log(high / level) / math.log(high / low)
            return float(left * (right / left) ** part)
    return None
