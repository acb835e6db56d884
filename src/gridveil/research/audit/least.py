"""What the attacks must attain, so that an audit that finds nothing wrong has looked: its own lower limits."""

from __future__ import annotations

AT_EPSILON = 1.0
"""The minimum is stated for this epsilon."""

LEAST: dict[str, float] = {
    "mosaic": 0.45,
    "stpt": 0.45,
    "stpt-paper": 0.02,
    "outer": 0.6,
    "pgm": 0.6,
    "even": 0.7,
    "identity": 0.7,
    "fourier": 0.25,
    "fourier-20": 0.25,
    "wavelet": 0.35,
    "wavelet-20": 0.35,
    "fast": 0.5,
    "ar1": 0.7,
    "ug": 0.6,
    "ag": 0.5,
    "granularity": 0.5,
    "dpcube": 0.5,
    "htf": 0.5,
    "dawa": 0.35,
    "hb": 0.7,
    "privelet": 0.5,
    "hdmm": 0.7,
}
"""By mechanism. A lower bound below its minimum means that an attack got weaker, or that there is too much noise."""


BY_WHOLE_RUNS: dict[str, float] = {"identity": 0.5}
"""What whole runs must attain, by the release alone: 10,000 of identity do. Of others there are too few."""

LARGEST_LOSS, LARGEST_LOSSES = 0.99, {"stpt-paper": 0.6}
"""The exact loss that some canary must have, and mechanisms where it is less: the claim, where calibration is tight."""

LOSS = 0.9
"""The exact loss that every canary must have: nearly the claim. One that is not there loses nothing."""
LOSSES: dict[str, float] = {
    "stpt-paper": 0.3,
    "fourier": 0.15,
    "fourier-20": 0.15,
    "wavelet": 0.2,
    "wavelet-20": 0.2,
    "fast": 0.2,
    "dawa": 0.3,
    "privelet": 0.25,
}
"""Where it is less, by mechanism: noise is set by the worst household of all, and not every canary is that one."""
SMALL_CANARY, SMALL_LOSS = "one step over its bound", 0.05
"""A canary that is held far below the window bound loses less, and what it must lose at all mechanisms."""


def least(mechanism: str, epsilon: float) -> float | None:
    """Return the minimum for a mechanism; `None` where none is stated."""
    return LEAST.get(mechanism) if epsilon == AT_EPSILON else None


def least_by_whole_runs(mechanism: str, epsilon: float) -> float | None:
    """Return the minimum for the whole runs of a mechanism; `None` where none is stated."""
    return BY_WHOLE_RUNS.get(mechanism) if epsilon == AT_EPSILON else None


def least_largest_loss(mechanism: str, epsilon: float) -> float | None:
    """Return what the largest exact loss of all attacks must come to; `None` where nothing is stated."""
    stated = mechanism in LEAST and epsilon == AT_EPSILON
    return LARGEST_LOSSES.get(mechanism, LARGEST_LOSS) if stated else None


def least_loss(mechanism: str, attack: str, epsilon: float) -> float | None:
    """Return the smallest exact loss that an attack must come to; `None` where none is stated."""
    if mechanism not in LEAST or epsilon != AT_EPSILON:
        return None
    return SMALL_LOSS if attack == SMALL_CANARY else LOSSES.get(mechanism, LOSS)
