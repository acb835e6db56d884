"""What is known of every step without any data: the time of day."""

from __future__ import annotations

import numpy as np

from gridveil.model.units import Floats
from gridveil.model.window import Window

DAILY_HOURS = (24, 12)


def harmonics(window: Window) -> Floats:
    """Return sines and cosines of the day and the half day at every step, axes (step, harmonic).

    A rhythm needs at least two steps to show: steps of a day or more have none. There is no weekday input: a
    training window of days has hardly seen one, and a network fed with unseen values goes astray.

    >>> from datetime import UTC, datetime, timedelta
    >>> harmonics(Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=6), 2)).round().tolist()
    [[0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 0.0, -1.0]]
    >>> harmonics(Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(days=1), 3)).shape
    (3, 0)
    """
    step = window.step.total_seconds() / 3600
    hours = window.start.timestamp() / 3600 % 24 + step * np.arange(window.steps)
    angles = [2 * np.pi * hours / period for period in DAILY_HOURS if 2 * step <= period]
    waves = [wave for angle in angles for wave in (np.sin(angle), np.cos(angle))]
    return np.stack(waves, axis=1) if waves else np.zeros((window.steps, 0))
