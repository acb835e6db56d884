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


def least(mechanism: str, epsilon: float) -> float | None:
    """Return the minimum for a mechanism; `None` where none is stated."""
    return LEAST.get(mechanism) if epsilon == AT_EPSILON else None
