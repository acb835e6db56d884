"""Queries about every cell over a period: slices of the map, and the highest cells."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field

from gridveil.model.errors import UsageError
from gridveil.release.query.highest import highest
from gridveil.serve.answers import PARTS, Kwh, PeriodResponse, ResponseModel, describe_period, to_planes
from gridveil.serve.execution import HEAVY_WORK, AnswerCache, Deadline, Query
from gridveil.serve.releases import ServedRelease
from gridveil.serve.requests import Range

MAX_JSON_CELLS = 100_000
DECIMALS = 6  # of kWh; float32 has no more
CELLS_WORK = 10  # times the work of reading a number for a box

KwhRows = Annotated[
    list[list[float]], Field(description="kWh, one row of cells after the other, from the south-west cell")
]


class SliceResponse(ResponseModel):
    """Every cell over a period."""

    time: PeriodResponse
    shape: tuple[int, int] = Field(description="Rows (south to north) and columns (west to east)")
    value: KwhRows
    standard_error: KwhRows
    low: KwhRows
    high: KwhRows


class HighCell(ResponseModel):
    """One of the highest cells."""

    x: int
    y: int
    value: Kwh
    standard_error: Kwh
    low: Kwh
    high: Kwh
    place: tuple[int, int] = Field(
        description="The ranks that intervals allow, widened so that those of all cells hold together in 95 of 100 maps"
    )


class HighestResponse(ResponseModel):
    """The highest cells of a period, highest first."""

    time: PeriodResponse
    cells: list[HighCell]


class SliceQuery(Query):
    """Every cell over a period, as planes of float32."""

    kind = "slice"

    def __init__(self, served: ServedRelease, steps: Range) -> None:
        self.served, self.release, self.steps = served, served.release, steps
        self.key: tuple[Any, ...] = (served.id, self.kind, *steps)

    def work(self) -> float:
        """Count every number several times: error bars of all cells read them so."""
        return HEAVY_WORK + CELLS_WORK * float(self.release.cost_of([self.served.map_box(*self.steps)])[0])

    def compute(self, _: Deadline) -> bytes:
        """Answer row by row from the south-west cell."""
        return to_planes(self.release.cells(*self.steps))


class SliceRowsQuery(SliceQuery):
    """Every cell over a period, as JSON made of the planes, which are cached as well."""

    kind = "rows"

    def __init__(self, served: ServedRelease, steps: Range, cache: AnswerCache) -> None:
        super().__init__(served, steps)
        self.planes, self.cache = SliceQuery(served, steps), cache
        cells = self.release.grid.cells
        if cells > MAX_JSON_CELLS:
            msg = f"a slice of {cells:,} cells is answered as format=float32; as JSON up to {MAX_JSON_CELLS:,} are"
            raise UsageError(msg, code="slice-too-large")

    def compute(self, deadline: Deadline) -> bytes:
        """Answer with the numbers of the planes."""
        shape = self.release.grid.ny, self.release.grid.nx
        planes = self.cache.get(self.planes.key, lambda: self.planes.compute(deadline))
        numbers = np.frombuffer(planes, "<f4").reshape(len(PARTS), *shape).astype(float)
        return SliceResponse(
            time=describe_period(self.release.window, self.steps),
            shape=shape,
            **dict(zip(PARTS, np.round(numbers, DECIMALS).tolist(), strict=True)),
        ).encode()


class HighestQuery(SliceQuery):
    """The cells with the highest consumption over a period."""

    def __init__(self, served: ServedRelease, steps: Range, count: int) -> None:
        super().__init__(served, steps)
        self.count = count
        self.key = (served.id, "highest", *steps, count)

    def compute(self, _: Deadline) -> bytes:
        """Answer with the possible ranks of each."""
        cells = highest(self.release, *self.steps, min(self.count, self.release.grid.cells))
        return HighestResponse(
            time=describe_period(self.release.window, self.steps), cells=[HighCell(**vars(cell)) for cell in cells]
        ).encode()
