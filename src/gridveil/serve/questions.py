"""Questions to a release, answered as the API says them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gridveil.cube import Window
from gridveil.errors import UsageError
from gridveil.release.highest import highest as highest_cells
from gridveil.release.open import Answers, Release
from gridveil.release.profile import typical_day, typical_week
from gridveil.serve.cache import Cache
from gridveil.serve.facts import iso, period
from gridveil.serve.regions import Range, Wanted
from gridveil.serve.served import Served

PARTS = ("value", "standard_error", "low", "high")
USUAL_POINTS, MOST_POINTS = 2_000, 10_000
MOST_CELLS_JSON = 100_000
DECIMALS = 6  # of kWh; float32 has no more


class Somewhere(Protocol):
    """A region, however it was given."""

    def wanted(self) -> Wanted:
        """Return the region."""


class Asked(Somewhere, Protocol):
    """A region and a period, however they were given."""

    def steps(self, window: Window) -> Range:
        """Return the steps."""


def query(served: Served, asked: Asked) -> dict[str, Any]:
    """Return the consumption of a region over a period."""
    release = served.release
    grid, wanted, (first, last) = release.grid, asked.wanted(), asked.steps(release.window)
    box = wanted.box(grid)
    if box is None:
        area = wanted.area(grid)
        cells, answers = area.cells, release.over(area, [[first, last]])
    else:
        (x0, x1), (y0, y1) = box
        cells, answers = float((x1 - x0) * (y1 - y0)), release.answers_of([[x0, x1, y0, y1, first, last]])
    answer = {name: numbers[0] for name, numbers in arrays(answers).items()}
    whole = served.whole(first, last)
    return {
        **answer,
        "area": {"cells": cells, "share": cells / grid.cells},
        "time": period(release.window, first, last),
        "share_of_map": answer["value"] / whole if whole > 0 else None,
    }


def series(release: Release, asked: Asked, every: int | None) -> dict[str, Any]:
    """Return a region's consumption over time, `every` so many steps in one point."""
    area, (first, last) = asked.wanted().area(release.grid), asked.steps(release.window)
    size = -(-(last - first) // USUAL_POINTS) if every is None else every
    starts = np.arange(first, last, min(size, last - first))
    if len(starts) > MOST_POINTS:
        least = -(-(last - first) // MOST_POINTS)
        msg = f"{len(starts):,} points; up to {MOST_POINTS:,} are answered: ask for every={least}"
        raise UsageError(msg)
    answers = release.over(area, np.column_stack([starts, np.minimum(starts + size, last)]))
    window = release.window
    return {
        "time": period(window, first, last),
        "every": size,
        "first": starts.tolist(),
        "start": [iso(window.start + step * window.step) for step in starts.tolist()],
        **arrays(answers),
        "area": {"cells": area.cells},
    }


def batch(release: Release, ranges: Sequence[Sequence[int]]) -> NDArray[np.float64]:
    """Return the answers to many ranges, a row for each part of an answer."""
    answers = release.answers_of(np.array(ranges, dtype=np.int64).reshape(-1, 6))
    return np.stack([getattr(answers, name) for name in PARTS])


def profile(release: Release, asked: Somewhere, zone: str) -> dict[str, Any]:
    """Return a region's typical day and week."""
    area = asked.wanted().area(release.grid)
    day, week = typical_day(release, area, zone), typical_week(release, area, zone)
    return {
        "timezone": zone,
        "day": day
        and {
            "minutes": day.minutes.tolist(),
            "all": arrays(day.all),
            "weekday": day.weekday and arrays(day.weekday),
            "weekend": day.weekend and arrays(day.weekend),
        },
        "week": week and {"minutes": week.minutes.tolist(), **arrays(week.all)},
    }


def highest(release: Release, first: int, last: int, count: int) -> dict[str, Any]:
    """Return the cells that used most."""
    cells = [
        {name: getattr(cell, name) for name in ("x", "y", *PARTS, "place")}
        for cell in highest_cells(release, first, last, min(count, release.grid.cells))
    ]
    return {"time": period(release.window, first, last), "cells": cells}


def planes(served: Served, first: int, last: int, cache: Cache) -> bytes:
    """Return value, standard error, low and high of every cell: little-endian float32, row by row.

    A slice that was asked for before comes from the cache.
    """

    def make() -> bytes:
        cells = served.release.cells(first, last)
        return b"".join(getattr(cells, name).astype("<f4").tobytes() for name in PARTS)

    return cache.get((served.id, first, last), make)


def rows(served: Served, first: int, last: int, cache: Cache) -> dict[str, Any]:
    """Return the same as numbers."""
    grid = served.release.grid
    if grid.cells > MOST_CELLS_JSON:
        msg = f"a slice of {grid.cells:,} cells is answered as format=float32; as JSON up to {MOST_CELLS_JSON:,} are"
        raise UsageError(msg)
    numbers = np.frombuffer(planes(served, first, last, cache), "<f4").reshape(len(PARTS), grid.ny, grid.nx)
    return {
        "time": period(served.release.window, first, last),
        "shape": [grid.ny, grid.nx],
        **dict(zip(PARTS, np.round(numbers.astype(float), DECIMALS).tolist(), strict=True)),
    }


def arrays(answers: Answers) -> dict[str, list[float]]:
    """Return answers as lists."""
    return {name: np.asarray(getattr(answers, name), float).tolist() for name in PARTS}
