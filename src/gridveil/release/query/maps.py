"""Maps of steps that need not be adjacent."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gridveil.model.units import Floats
from gridveil.release.format.read import reading
from gridveil.release.query.open import Release


def values_at(release: Release, schedules: Sequence[Floats] | Floats) -> Floats:
    """Return every cell's weighted sum over steps, kWh (schedule, y, x); a schedule has one weight for each step.

    By parts, so that only the edges at which a weight changes are read: all mornings of a year are 730 maps.
    """
    planes = np.zeros((len(schedules), release.grid.ny + 1, release.grid.nx + 1))
    prefix = release._prefix  # noqa: SLF001 -- the same room: prefix sums are not for others
    if len(schedules):
        changes = -np.diff(np.asarray(schedules), axis=1, prepend=0.0, append=0.0)
        with reading(release.path):
            edges = np.flatnonzero(changes.any(axis=0)).tolist()
            for edge, sums in zip(edges, prefix.planes(edges), strict=True):
                planes += changes[:, edge, None, None] * sums
    return np.diff(np.diff(planes, axis=1), axis=2)
