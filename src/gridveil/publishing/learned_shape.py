"""The shape of the day as earlier releases tell it: post-processing of what is public, never of readings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np

from gridveil.mechanisms.mosaic.public_shape import HOURS, KINDS, SATURDAY
from gridveil.model.errors import InputError
from gridveil.model.units import Floats
from gridveil.model.window import Window
from gridveil.release.format import wording
from gridveil.release.format.files import SUMS, VALUES
from gridveil.release.format.sums import digest, read_sums
from gridveil.release.query.open import Release, open_release
from gridveil.release.series.catalogue import Listed
from gridveil.release.series.series import read_part

BACK = timedelta(days=28)
"""How far back is looked: long enough to average noise out, short enough to follow the seasons."""

PIECE = timedelta(minutes=15)
"""Clocks differ from UTC by multiples of this: no shorter piece of a step lies in two hours."""

FLAT = 0.1
"""A day whose hours differ by less than this (relative standard deviation) was not seen for noise: a town's differ by a
third. To start from it would be worse than to start from nothing, which `mosaic` believes in less firmly."""

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

    None where there are none, or where they tell of no consumption, or of none that changes with the hour.
    """
    earlier = [listed for listed in releases if listed.end <= before]
    latest = [listed for listed in earlier if listed.end > before - BACK] or earlier[-1:]
    hourly = average_day([_totals(_opened(series, listed)) for listed in latest], zone)
    return None if hourly is None else LearnedShape(hourly, tuple(listed.path for listed in latest))


def average_day(releases: Sequence[tuple[Window, Floats]], zone: str) -> tuple[float, ...] | None:
    """Return the consumption of each hour of the day from that of windows' steps, relative to the average, if it shows.

    An hour of which there is no step (no weekend was published yet, say) is taken from the other kind of day, or is as
    the average.
    """
    clock, energy, time = ZoneInfo(zone), np.zeros((len(KINDS), HOURS)), np.zeros((len(KINDS), HOURS))
    for window, totals in releases:
        pieces = max(1, window.step // PIECE)
        for start, total in zip(window.times(), totals, strict=True):
            for piece in range(pieces):
                middle = (start + (piece + 0.5) * window.step / pieces).astimezone(clock)
                hour = int(middle.weekday() >= SATURDAY), middle.hour
                energy[hour] += total / pieces
                time[hour] += window.step / timedelta(hours=1) / pieces
    average = energy.sum() / max(time.sum(), 1.0)
    if not average > 0:
        return None
    hourly = np.divide(energy, time, out=np.full_like(energy, np.nan), where=time > 0)
    hourly = np.where(np.isnan(hourly), hourly[::-1], hourly)
    hourly = np.maximum(np.where(np.isnan(hourly), average, hourly) / average, LEAST)
    return None if hourly.std() < FLAT else tuple(np.round(hourly, 4).ravel().tolist())


def _opened(series: Path, listed: Listed) -> Release:
    """Open a release if it is the one that the catalogue lists, and private: else what is learned from it is not."""
    part = read_part(series, listed)
    if not part.label.private:
        msg = (
            f"{part.folder}: it is {wording.NOT_PRIVATE}, and a release that learned from it would not be private "
            "either; give a new series another --out"
        )
        raise InputError(msg, code="learned-not-private")
    if digest(part.folder / VALUES) != read_sums(part.folder / SUMS).get(VALUES):
        msg = f"{part.folder}: its values are not those of {SUMS}; see `gridveil verify`, and bring back what it was"
        raise InputError(msg, code="learned-changed")
    return open_release(part.folder)


def _totals(release: Release) -> tuple[Window, Floats]:
    """Return a release's window, and the consumption of all cells together in each of its steps."""
    steps = range(release.window.steps)
    return release.window, release.values_of([[0, release.grid.nx, 0, release.grid.ny, t, t + 1] for t in steps])
