"""How mosaic divides its budget between how much, where and when: from public numbers and what was released before."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class MosaicShares:
    """Epsilon for the total of the map, for the sums of its regions, and for those of its steps."""

    total: float
    space: float
    time: float


def divide(epsilon: float, households: float) -> MosaicShares:
    """Divide what the histogram left over.

    The total matters while the sum of all regions is drowned in their noise. Time needs a larger part of a small
    budget: where most households live shows even through much noise.

    >>> spending = divide(3.0, 1000.0)
    >>> round(spending.total, 2), round(spending.space, 2), round(spending.time, 2)
    (0.06, 2.27, 0.67)
    """
    total = min(max(60 / max(epsilon * households, 1.0), 0.005), 0.2)
    time = min(max(0.3 - 0.065 * math.log(epsilon), 0.15), 0.3)
    return MosaicShares(*(epsilon * part / (1 + total) for part in (total, 1 - time, time)))
