"""Questions to a release: how much work each is, and its answer as the API says it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gridveil.geography.area import Area
from gridveil.model.errors import UsageError
from gridveil.model.window import Window
from gridveil.release.query.highest import highest as highest_cells
from gridveil.release.query.open import QueryAnswers, Release
from gridveil.release.query.profile import MOST_WEIGHTS, typical
from gridveil.serve.cache import Cache
from gridveil.serve.desk import HEAVY_WORK, Job, QueryTask
from gridveil.serve.facts import iso, period
from gridveil.serve.heavy import Deadline
from gridveil.serve.regions import Form, Range, Wanted
from gridveil.serve.served import Served
from gridveil.uncertainty.model import bounding_box

PARTS = ("value", "standard_error", "low", "high")
USUAL_POINTS, MOST_POINTS = 2_000, 10_000
MOST_CELLS_JSON = 100_000
DECIMALS = 6  # of kWh; float32 has no more

# How many times the work of reading a number for a box it is to read one for ...
SERIES_WORK, PROFILE_WORK, CELLS_WORK = 4, 2, 10
ROW_WORK = 2_000  # of a range, be it ever so small
PIECE_WORK, PIECE_ROWS = 2e7, 4_000  # between two looks at the clock
DAYS_OF_PROFILES = 10  # three kinds of a day, and a week

# Answers of many, whatever they are made by.
Piece = Callable[[NDArray[np.int64]], QueryAnswers]


class Somewhere(Protocol):
    """A region, however it was given."""

    def wanted(self) -> Wanted:
        """Return the region."""


class Asked(Somewhere, Protocol):
    """A region and a period, however they were given."""

    def steps(self, window: Window) -> Range:
        """Return the steps."""


def query(served: Served, asked: Asked) -> QueryTask:
    """Ask for the consumption of a region over a period."""
    release = served.release
    grid, wanted, (first, last) = release.grid, asked.wanted(), asked.steps(release.window)
    box = wanted.box(grid)

    def say(cells: float, answers: QueryAnswers) -> bytes:
        answer = {name: numbers[0] for name, numbers in arrays(answers).items()}
        whole = served.whole(first, last)
        return in_json(
            {
                **answer,
                "area": {"cells": cells, "share": cells / grid.cells},
                "time": period(release.window, first, last),
                "share_of_map": answer["value"] / whole if whole > 0 else None,
            }
        )

    def plan() -> Job:
        if box is None:
            area = wanted.area(grid)
            work = HEAVY_WORK + _work(release, area, first, last)
            return Job(work, lambda _: say(area.cells, release.over(area, [[first, last]])))
        (x0, x1), (y0, y1) = box
        row = [[x0, x1, y0, y1, first, last]]
        cells = float((x1 - x0) * (y1 - y0))
        return Job(float(release.cost_of(row)[0]), lambda _: say(cells, release.answers_of(row)))

    return QueryTask((served.id, "query", wanted.key(grid), first, last), plan, wanted.polygon is not None)


def series(served: Served, asked: Asked, every: int | None) -> QueryTask:
    """Ask for a region's consumption over time, `every` so many steps in one point."""
    release, window = served.release, served.release.window
    wanted, (first, last) = asked.wanted(), asked.steps(window)
    size = -(-(last - first) // USUAL_POINTS) if every is None else every
    starts = np.arange(first, last, min(size, last - first))
    if len(starts) > MOST_POINTS:
        least = -(-(last - first) // MOST_POINTS)
        msg = f"{len(starts):,} points; up to {MOST_POINTS:,} are answered: ask for every={least}"
        raise UsageError(msg, code="too-many-points")

    def plan() -> Job:
        area = wanted.area(release.grid)
        work = SERIES_WORK * _work(release, area, first, last)
        periods = np.column_stack([starts, np.minimum(starts + size, last)])
        pieces = np.array_split(periods, min(len(periods), int(work / PIECE_WORK) + 1))

        def make(deadline: Deadline) -> bytes:
            answers = _together(pieces, lambda some: release.over(area, some), deadline)
            return in_json(
                {
                    "time": period(window, first, last),
                    "every": size,
                    "first": starts.tolist(),
                    "start": [iso(window.start + step * window.step) for step in starts.tolist()],
                    **arrays(answers),
                    "area": {"cells": area.cells},
                }
            )

        return Job(HEAVY_WORK + work, make)

    key = (served.id, "series", wanted.key(release.grid), first, last, size)
    return QueryTask(key, plan, wanted.polygon is not None)


def batch(served: Served, table: NDArray[np.int64], form: Form) -> QueryTask:
    """Ask for many ranges; equal ones are answered once."""
    release = served.release

    def plan() -> Job:
        costs = release.cost_of(table) + ROW_WORK  # of all, so that a mistake is told by the row that was sent
        rows, chosen, places = np.unique(table, axis=0, return_index=True, return_inverse=True)
        costs = costs[chosen]
        done = np.floor(np.cumsum(costs / PIECE_WORK + 1 / PIECE_ROWS))
        pieces = np.split(rows, np.flatnonzero(np.diff(done)) + 1)

        def make(deadline: Deadline) -> bytes:
            answers = _together(pieces, release.answers_of, deadline)
            parts = [np.asarray(getattr(answers, name), float)[places.ravel()] for name in PARTS]
            if form == "float32":
                return np.stack(parts).astype("<f4").tobytes()
            return in_json(dict(zip(PARTS, (part.tolist() for part in parts), strict=True)))

        return Job(HEAVY_WORK + float(costs.sum()), make)

    return QueryTask(None, plan)


def profile(served: Served, asked: Somewhere, zone: str) -> QueryTask:
    """Ask for a region's typical day and week."""
    release, wanted = served.release, asked.wanted()
    window = release.window

    def plan() -> Job:
        area = wanted.area(release.grid)
        steps_a_day = 86_400 / window.step.total_seconds()
        passes = int(DAYS_OF_PROFILES * steps_a_day * window.steps / MOST_WEIGHTS) + 1
        work = PROFILE_WORK * passes * _work(release, area, 0, window.steps)
        return Job(HEAVY_WORK + work, lambda _: in_json(_profile(release, area, zone)))

    return QueryTask((served.id, "profile", wanted.key(release.grid), zone), plan, wanted.polygon is not None)


def highest(served: Served, first: int, last: int, count: int) -> QueryTask:
    """Ask for the cells that used most."""
    release = served.release

    def make(_: Deadline) -> bytes:
        cells = [
            {name: getattr(cell, name) for name in ("x", "y", *PARTS, "place")}
            for cell in highest_cells(release, first, last, min(count, release.grid.cells))
        ]
        return in_json({"time": period(release.window, first, last), "cells": cells})

    return QueryTask((served.id, "highest", first, last, count), lambda: Job(_cells_work(release, first, last), make))


def planes(served: Served, first: int, last: int) -> QueryTask:
    """Ask for value, standard error, low and high of every cell: little-endian float32, row by row."""
    release = served.release

    def make(_: Deadline) -> bytes:
        cells = release.cells(first, last)
        return b"".join(getattr(cells, name).astype("<f4").tobytes() for name in PARTS)

    return QueryTask((served.id, "slice", first, last), lambda: Job(_cells_work(release, first, last), make))


def rows(served: Served, first: int, last: int, cache: Cache) -> QueryTask:
    """Ask for the same as JSON; both are made of one reading."""
    grid = served.release.grid
    if grid.cells > MOST_CELLS_JSON:
        msg = f"a slice of {grid.cells:,} cells is answered as format=float32; as JSON up to {MOST_CELLS_JSON:,} are"
        raise UsageError(msg, code="slice-too-large")
    binary = planes(served, first, last)

    def plan() -> Job:
        job = binary.plan()

        def make(deadline: Deadline) -> bytes:
            held = cache.get(binary.key, lambda: job.make(deadline))
            numbers = np.frombuffer(held, "<f4").reshape(len(PARTS), grid.ny, grid.nx)
            return in_json(
                {
                    "time": period(served.release.window, first, last),
                    "shape": [grid.ny, grid.nx],
                    **dict(zip(PARTS, np.round(numbers.astype(float), DECIMALS).tolist(), strict=True)),
                }
            )

        return Job(job.work, make)

    return QueryTask((served.id, "rows", first, last), plan)


def arrays(answers: QueryAnswers) -> dict[str, list[float]]:
    """Return answers as lists."""
    return {name: np.asarray(getattr(answers, name), float).tolist() for name in PARTS}


def in_json(content: object) -> bytes:
    """Return an answer as JSON."""
    return json.dumps(content, allow_nan=False, separators=(",", ":")).encode()


def _work(release: Release, area: Area, first: int, last: int) -> float:
    """Return the work of an area: that of the box around it."""
    rows, columns = bounding_box(area.weights)
    return float(release.cost_of([[columns.start, columns.stop, rows.start, rows.stop, first, last]])[0])


def _cells_work(release: Release, first: int, last: int) -> float:
    grid = release.grid
    return HEAVY_WORK + CELLS_WORK * float(release.cost_of([[0, grid.nx, 0, grid.ny, first, last]])[0])


def _together(pieces: Sequence[NDArray[np.int64]], answer: Piece, deadline: Deadline) -> QueryAnswers:
    """Answer piece by piece, as long as there is time."""
    answers = []
    for some in pieces:
        deadline.check()
        answers.append(answer(some))
    return QueryAnswers(*(np.concatenate([getattr(some, name) for some in answers]) for name in PARTS))


def _profile(release: Release, area: Area, zone: str) -> dict[str, Any]:
    day, week = typical(release, area, zone)
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
