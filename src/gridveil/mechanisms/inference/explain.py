"""How rough the field of households is and how clumped they are: what explains the noisy sums best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gridveil.mechanisms.inference.cells import Lumps
from gridveil.mechanisms.inference.field import Evidence, FieldLevel, Fit, Waves, fit
from gridveil.model.units import Floats

SIZES = np.geomspace(0.05, 6.4, 8)
"""Prior standard deviations of the longest wave."""
FALLING = np.array([0.75, 1.0, 1.5, 2.0, 2.5])
"""How fast shorter waves get smaller: a power of the frequency. Towns are rough (1), a hill is smooth (2 and more)."""
CLUMPING = np.array([0.01, 0.1, 0.3, 1.0, 3.0])
"""Relative variance of rates between neighbouring regions, beyond the waves."""
START = (4, 2, 1)

Choice = tuple[int, int, int]
Known = tuple[Lumps, Evidence]


@dataclass(frozen=True)
class Explained:
    """The best fit, with the lumps it goes with."""

    fit: Fit
    lumps: Lumps
    clumping: float


def explain(waves: Waves, known_of: Callable[[float], Known], offsets: Floats, level: FieldLevel) -> Explained:
    """Climb over a table of choices, one step along one axis at a time, to the highest evidence."""
    fits: dict[Choice, Fit] = {}
    known: dict[int, Known] = {}
    start = np.zeros(waves.regions.shape[1])
    start[0] = level.log - np.log(np.exp(offsets).sum())

    def evidence(choice: Choice, near: Floats) -> float:
        size, falling, clumping = choice
        if clumping not in known:
            known[clumping] = known_of(float(CLUMPING[clumping]))
        if choice not in fits:
            prior = waves.prior(float(SIZES[size]), float(FALLING[falling]))
            fits[choice] = fit(waves, prior, known[clumping][1], offsets, level, near)
        return fits[choice].evidence

    here, highest = START, evidence(START, start)
    while True:
        for there in _neighbours(here):
            found = evidence(there, fits[here].coefficients)
            if found > highest:
                here, highest = there, found
                break
        else:
            return Explained(fits[here], known[here[2]][0], float(CLUMPING[here[2]]))


def _neighbours(choice: Choice) -> list[Choice]:
    """Return what differs by one step along one axis of the table."""
    size, falling, clumping = choice
    steps = [
        *((size + by, falling, clumping) for by in (-1, 1)),
        *((size, falling + by, clumping) for by in (-1, 1)),
        *((size, falling, clumping + by) for by in (-1, 1)),
    ]
    within = [range(len(SIZES)), range(len(FALLING)), range(len(CLUMPING))]
    return [each for each in steps if all(index in allowed for index, allowed in zip(each, within, strict=True))]
