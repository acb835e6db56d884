"""Where the homes of the invented town stand, and in which district. The town is drawn on the unit square."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.model.units import Floats, Ints
from gridveil.simulate.habits import COMMUTERS, LATE_RISERS, PENSIONERS, Habits


@dataclass(frozen=True)
class District:
    """A cloud of homes around a centre; without a spread, homes lie anywhere.

    share: of the town's households. level: consumption of its households against the town's average, roughly.
    """

    name: str
    share: float
    level: float
    habits: Habits
    centre: tuple[float, float] = (0.5, 0.5)
    spread: float | None = None


DISTRICTS = (
    District("old town", 0.35, 0.85, LATE_RISERS, (0.44, 0.58), 0.065),
    District("station quarter", 0.18, 0.95, COMMUTERS, (0.72, 0.27), 0.055),
    District("suburbs", 0.33, 1.10, COMMUTERS, (0.47, 0.52), 0.16),
    District("garden village", 0.08, 1.10, PENSIONERS, (0.19, 0.25), 0.04),
    District("outskirts", 0.06, 1.40, PENSIONERS),
)


def place_homes(households: int, rng: np.random.Generator) -> tuple[Floats, Floats, Ints]:
    """Draw `u`, `v` inside the unit square and the district of every household."""
    district = rng.choice(len(DISTRICTS), size=households, p=[d.share for d in DISTRICTS])
    u, v = np.empty(households), np.empty(households)
    homeless = np.arange(households)
    while homeless.size:
        u[homeless], v[homeless] = _sites(district[homeless], rng)
        homeless = homeless[~_buildable(u[homeless], v[homeless])]
    return u, v, district


def _sites(district: Ints, rng: np.random.Generator) -> tuple[Floats, Floats]:
    sites = rng.random((2, district.size))
    for number, place in enumerate(DISTRICTS):
        if place.spread is not None:
            here = district == number
            centre = np.array(place.centre)[:, None]
            sites[:, here] = rng.normal(centre, place.spread, (2, np.count_nonzero(here)))
    return sites[0], sites[1]


def _buildable(u: Floats, v: Floats) -> np.ndarray[tuple[int], np.dtype[np.bool]]:
    """Homes stand inside the extent, and neither in the river nor in the park."""
    inside = (u > 0) & (u < 1) & (v > 0) & (v < 1)
    river = np.abs(v - 0.40 - 0.09 * np.sin(2 * np.pi * (u + 0.1))) < 0.028  # noqa: PLR2004 -- the river's course
    park = ((u - 0.57) / 0.07) ** 2 + ((v - 0.67) / 0.05) ** 2 < 1
    return inside & ~river & ~park
