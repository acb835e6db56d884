"""What makes days of one town differ: weather, which all households share, and days that are their own."""

from __future__ import annotations

from datetime import timedelta

import numpy as np

from gridveil.model.units import Floats
from gridveil.model.window import Window

# All are standard deviations of logarithms, as seen among London households in winter (Low Carbon London, one half).
DAYS_TOGETHER = 0.03
HOURS_TOGETHER = 0.027
HOURS = 4.0
"""How long what hours share lasts."""

OWN_DAYS = 0.12
"""On top of the spikes that an invented household has anyway, which do not last."""


def unrest(households: int, window: Window, rng: np.random.Generator) -> Floats:
    """Draw a factor around 1 for each household and step (household, step)."""
    ends = (np.arange(window.steps) + 0.5) * (window.step / timedelta(days=1))
    day = ends.astype(np.int64)
    together = rng.normal(0, DAYS_TOGETHER, day[-1] + 1)[day] + _lasting(window, rng)
    own = rng.normal(0, OWN_DAYS, (households, day[-1] + 1))[:, day]
    variance = DAYS_TOGETHER**2 + HOURS_TOGETHER**2 + OWN_DAYS**2
    return np.asarray(np.exp(together + own - variance / 2))


def _lasting(window: Window, rng: np.random.Generator) -> Floats:
    """Draw what hours share: a stationary series that forgets itself within hours."""
    kept = np.exp(-(window.step / timedelta(hours=1)) / HOURS)
    values = rng.normal(0, HOURS_TOGETHER, window.steps)
    values[1:] *= np.sqrt(1 - kept**2)
    for step in range(1, window.steps):
        values[step] += kept * values[step - 1]
    return values
