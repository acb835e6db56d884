"""The shape of the day as earlier releases tell it: post-processing of what is public, never of readings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np

from gridveil.estimate import Floats
from gridveil.mechanisms.mosaic.public_shape import HOURS, KINDS, SATURDAY
from gridveil.release.catalogue import Listed
from gridveil.release.open import Release, open_release

BACK = timedelta(days=28)
"""How far back is looked: long enough to average noise out, short enough to follow the seasons."""

PIECE = timedelta(minutes=15)
"""Clocks differ from UTC by multiples of this: no shorter piece of a step lies in two hours."""

LEAST = 0.1
"""The least part of the average that an hour is believed to have: noise can make less of it, a town does not."""


@dataclass(frozen=True)
class LearnedShape:
    """Consumption in each hour of the day, weekdays and then weekends, and the names of the releases that told it."""

    hourly: tuple[float, ...]
    learned_from: tuple[str, ...]

    def in_words(self) -> str:
        """Return where the numbers come from, for the label."""
        return (
            f"The shape of the day in profile is computed from the released values of {', '.join(self.learned_from)}, "
            "earlier releases of this series, and from no readings."
        )


def learn_shape(series: Path, releases: Sequence[Listed], before: datetime, zone: str) -> LearnedShape | None:
    """Return the average day of the latest releases that ended by `before`, by the clock of `zone`.

    None where there are none, or where they tell of no consumption. An hour of which they have no step (no weekend was
    published yet, say) is taken from the other kind of day, or is as the average.
    """
    earlier = [listed for listed in releases if listed.end <= before]
    latest = [listed for listed in earlier if listed.end > before - BACK] or earlier[-1:]
    energy, time = np.zeros((len(KINDS), HOURS)), np.zeros((len(KINDS), HOURS))
    for listed in latest:
        _add(open_release(series / listed.path), ZoneInfo(zone), energy, time)
    average = energy.sum() / max(time.sum(), 1.0)
    if not average > 0:
        return None
    hourly = np.divide(energy, time, out=np.full_like(energy, np.nan), where=time > 0)
    hourly = np.where(np.isnan(hourly), hourly[::-1], hourly)
    hourly = np.maximum(np.where(np.isnan(hourly), average, hourly) / average, LEAST)
    return LearnedShape(tuple(np.round(hourly, 4).ravel().tolist()), tuple(listed.path for listed in latest))


def _add(release: Release, clock: ZoneInfo, energy: Floats, time: Floats) -> None:
    """Add a release's consumption, of all cells together, to that of the hours its steps lie in, piece by piece."""
    window = release.window
    boxes = [[0, release.grid.nx, 0, release.grid.ny, step, step + 1] for step in range(window.steps)]
    pieces = max(1, window.step // PIECE)
    for start, total in zip(window.times(), release.values_of(boxes), strict=True):
        for piece in range(pieces):
            middle = (start + (piece + 0.5) * window.step / pieces).astimezone(clock)
            hour = int(middle.weekday() >= SATURDAY), middle.hour
            energy[hour] += total / pieces
            time[hour] += window.step / timedelta(hours=1) / pieces
