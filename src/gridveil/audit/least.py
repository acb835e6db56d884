"""What the attacks must attain, so that an audit that finds nothing wrong has looked: its own lower limits."""

from __future__ import annotations

AT_EPSILON = 1.0
"""The minimum is stated for this epsilon."""

LEAST: dict[str, float] = {
    "mosaic": 0.1,
    "stpt": 0.1,
    "stpt-paper": 0.1,
    "outer": 0.1,
    "pgm": 0.1,
    "even": 0.7,
    "identity": 0.7,
    "fourier": 0.1,
    "fourier-20": 0.1,
    "wavelet": 0.1,
    "wavelet-20": 0.1,
    "fast": 0.1,
    "ar1": 0.7,
    "ug": 0.1,
    "ag": 0.1,
    "granularity": 0.1,
    "dpcube": 0.1,
    "htf": 0.1,
    "dawa": 0.1,
    "hb": 0.1,
    "privelet": 0.1,
    "hdmm": 0.1,
}
"""By mechanism. A lower bound below its minimum means that an attack got weaker, or that there is too much noise."""


def least(mechanism: str, epsilon: float) -> float | None:
    """Return the minimum for a mechanism; `None` where none is stated."""
    return LEAST.get(mechanism) if epsilon == AT_EPSILON else None
