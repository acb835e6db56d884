"""Queries about regions and boxes: the model of each answer, its work, and how it is computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from gridveil.geography.area import Area
from gridveil.model.errors import UsageError
from gridveil.model.window import Window
from gridveil.release.query.open import Cells, QueryAnswers
from gridveil.release.query.profile import MOST_WEIGHTS, typical
from gridveil.serve.execution import HEAVY_WORK, Deadline, Query
from gridveil.serve.releases import ServedRelease, box
from gridveil.serve.requests import Encoding, Range, RegionRequest
from gridveil.uncertainty.model import bounding_box

PARTS = ("value", "standard_error", "low", "high")
USUAL_POINTS, MAX_POINTS = 2_000, 10_000

# How many times the work of reading a number for a box it is to read one for ...
SERIES_WORK, PROFILE_WORK = 4, 2
ROW_WORK = 2_000  # of a range, be it ever so small
PIECE_WORK, PIECE_ROWS = 2e7, 4_000  # between two checks of the deadline
DAYS_OF_PROFILES = 10  # three kinds of a day, and a week

Kwh = Annotated[float, Field(description="kWh", examples=[1308.4])]
KwhList = Annotated[list[float], Field(description="kWh", examples=[[12.5, 13.1]])]


class ResponseModel(BaseModel):
    """A response as the OpenAPI document describes it. Numbers that JSON does not have are refused."""

    model_config = ConfigDict(allow_inf_nan=False)

    def encode(self) -> bytes:
        """Return it as JSON."""
        return self.model_dump_json().encode()


class AnswerResponse(ResponseModel):
    """Consumption in kWh with its standard error and 95 % interval."""

    value: Kwh
    standard_error: Kwh
    low: Annotated[float, Field(description="Lower end of the 95 % interval, kWh")]
    high: Annotated[float, Field(description="Upper end of the 95 % interval, kWh")]


class AnswersResponse(ResponseModel):
    """Many answers."""

    value: KwhList
    standard_error: KwhList
    low: KwhList
    high: KwhList


class PeriodResponse(ResponseModel):
    """A run of steps: `last` is not included, `end` is the instant at which the period is over."""

    first: int = Field(examples=[0])
    last: int = Field(examples=[24])
    start: str = Field(examples=["2013-02-04T00:00:00Z"])
    end: str = Field(examples=["2013-02-05T00:00:00Z"])


class CellCount(ResponseModel):
    """How many cells an area covers; those in part count in part."""

    cells: float = Field(examples=[100.0])


class CellShare(CellCount):
    """As before, and as a share of the map."""

    share: float = Field(examples=[0.0977])


class QueryResponse(AnswerResponse):
    """A region over a period."""

    area: CellShare
    time: PeriodResponse
    share_of_map: float | None = Field(
        description="Value over the whole map's in the same period; null where that is not above 0"
    )


class SeriesResponse(ResponseModel):
    """A region over time. Points of the last `every` steps may be fewer."""

    time: PeriodResponse
    every: int = Field(description="Steps summed into a point", examples=[1])
    first: list[int] = Field(description="Step at which each point starts")
    start: list[str] = Field(description="Instant at which each point starts, UTC")
    value: KwhList
    standard_error: KwhList
    low: KwhList
    high: KwhList
    area: CellCount


class DayResponse(ResponseModel):
    """The average kWh of each step of the day. A kind of day of which there is no whole one is null."""

    minutes: list[float] = Field(description="Minute of the day at which each step starts")
    all: AnswersResponse
    weekday: AnswersResponse | None
    weekend: AnswersResponse | None


class WeekResponse(ResponseModel):
    """The average kWh of each step of the week."""

    minutes: list[float] = Field(description="Minute of the week, from Monday, at which each step starts")
    value: KwhList
    standard_error: KwhList
    low: KwhList
    high: KwhList


class ProfileResponse(ResponseModel):
    """A typical day and week, by the clock on the wall; null where steps or window do not make one."""

    timezone: str
    day: DayResponse | None
    week: WeekResponse | None


class RegionQuery(Query):
    """A query about a region: its area is laid over the cells once, when the work is counted."""

    def __init__(self, served: ServedRelease, region: RegionRequest) -> None:
        self.served, self.release, self.region = served, served.release, region
        self.slow_work = region.polygon is not None

    @cached_property
    def area(self) -> Area:
        """The share of each cell that is in the region."""
        return self.region.area(self.release.grid)

    def area_work(self, first: int, last: int) -> float:
        """Return the work of the area over some steps: that of the box around it."""
        rows, columns = bounding_box(self.area.weights)
        around = box((columns.start, columns.stop), (rows.start, rows.stop), (first, last))
        return float(self.release.cost_of([around])[0])


class TotalQuery(RegionQuery):
    """The consumption of a region over a period."""

    def __init__(self, served: ServedRelease, region: RegionRequest, steps: Range) -> None:
        super().__init__(served, region)
        self.steps = steps
        self.cells = region.box(self.release.grid)
        self.key = (served.id, "query", region.key(self.release.grid), *steps)

    def work(self) -> float:
        """Count a box by itself: it is quick."""
        if self.cells is None:
            return HEAVY_WORK + self.area_work(*self.steps)
        return float(self.release.cost_of([box(*self.cells, self.steps)])[0])

    def compute(self, _: Deadline) -> bytes:
        """Answer with the share of the map too."""
        if self.cells is None:
            cells, answers = self.area.cells, self.release.over(self.area, [self.steps])
        else:
            (x0, x1), (y0, y1) = self.cells
            cells = float((x1 - x0) * (y1 - y0))
            answers = self.release.answers_of([box(*self.cells, self.steps)])
        answer = {name: numbers[0] for name, numbers in to_lists(answers).items()}
        total = self.served.map_total(*self.steps)
        return QueryResponse(
            **answer,
            area=CellShare(cells=cells, share=cells / self.release.grid.cells),
            time=describe_period(self.release.window, self.steps),
            share_of_map=answer["value"] / total if total > 0 else None,
        ).encode()


class SeriesQuery(RegionQuery):
    """The consumption of a region over time, `every` so many steps in one point."""

    def __init__(self, served: ServedRelease, region: RegionRequest, steps: Range, every: int | None) -> None:
        super().__init__(served, region)
        self.steps, (first, last) = steps, steps
        self.every = -(-(last - first) // USUAL_POINTS) if every is None else every
        self.starts = np.arange(first, last, min(self.every, last - first))
        if len(self.starts) > MAX_POINTS:
            least = -(-(last - first) // MAX_POINTS)
            msg = f"{len(self.starts):,} points; up to {MAX_POINTS:,} are answered: ask for every={least}"
            raise UsageError(msg, code="too-many-points")
        self.key = (served.id, "series", region.key(self.release.grid), *steps, self.every)

    def work(self) -> float:
        """Count every number several times: a series reads them for every point."""
        return HEAVY_WORK + SERIES_WORK * self.area_work(*self.steps)

    def compute(self, deadline: Deadline) -> bytes:
        """Answer piece by piece."""
        window = self.release.window
        periods = np.column_stack([self.starts, np.minimum(self.starts + self.every, self.steps[1])])
        pieces = np.array_split(periods, min(len(periods), int(self.work() / PIECE_WORK) + 1))
        answers = answer_pieces(pieces, lambda piece: self.release.over(self.area, piece), deadline)
        return SeriesResponse(
            time=describe_period(window, self.steps),
            every=self.every,
            first=self.starts.tolist(),
            start=[to_iso(window.start + step * window.step) for step in self.starts.tolist()],
            **to_lists(answers),
            area=CellCount(cells=self.area.cells),
        ).encode()


class ProfileQuery(RegionQuery):
    """The typical day and week of a region."""

    def __init__(self, served: ServedRelease, region: RegionRequest, timezone: str) -> None:
        super().__init__(served, region)
        self.timezone = timezone
        self.key = (served.id, "profile", region.key(self.release.grid), timezone)

    def work(self) -> float:
        """Count every pass over the window."""
        window = self.release.window
        steps_a_day = 86_400 / window.step.total_seconds()
        passes = int(DAYS_OF_PROFILES * steps_a_day * window.steps / MOST_WEIGHTS) + 1
        return HEAVY_WORK + PROFILE_WORK * passes * self.area_work(0, window.steps)

    def compute(self, _: Deadline) -> bytes:
        """Answer with null for what the window is too short for."""
        day, week = typical(self.release, self.area, self.timezone)
        return ProfileResponse(
            timezone=self.timezone,
            day=None
            if day is None
            else DayResponse(
                minutes=day.minutes.tolist(),
                all=to_response(day.all),
                weekday=None if day.weekday is None else to_response(day.weekday),
                weekend=None if day.weekend is None else to_response(day.weekend),
            ),
            week=None if week is None else WeekResponse(minutes=week.minutes.tolist(), **to_lists(week.all)),
        ).encode()


class BatchQuery(Query):
    """Many ranges; equal ones are answered once."""

    def __init__(self, served: ServedRelease, table: NDArray[np.int64], encoding: Encoding) -> None:
        self.release, self.table, self.encoding = served.release, table, encoding

    @cached_property
    def distinct(self) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
        """The ranges that differ, the work of each, and where each range of the request is among them."""
        work = self.release.cost_of(self.table) + ROW_WORK  # of all: a mistake is reported by the row that was sent
        ranges, chosen, places = np.unique(self.table, axis=0, return_index=True, return_inverse=True)
        return ranges, work[chosen], places.ravel()

    def work(self) -> float:
        """Count equal ranges once."""
        return HEAVY_WORK + float(self.distinct[1].sum())

    def compute(self, deadline: Deadline) -> bytes:
        """Answer piece by piece, in the order of the request."""
        ranges, work, places = self.distinct
        piece = np.floor(np.cumsum(work / PIECE_WORK + 1 / PIECE_ROWS))
        pieces = np.split(ranges, np.flatnonzero(np.diff(piece)) + 1)
        answers = answer_pieces(pieces, self.release.answers_of, deadline)
        answers = QueryAnswers(*(getattr(answers, name)[places] for name in PARTS))
        return to_planes(answers) if self.encoding == "float32" else to_response(answers).encode()


def answer_pieces(
    pieces: Sequence[NDArray[np.int64]], answer: Callable[[NDArray[np.int64]], QueryAnswers], deadline: Deadline
) -> QueryAnswers:
    """Answer piece by piece, as long as there is time."""
    answers = []
    for piece in pieces:
        deadline.check()
        answers.append(answer(piece))
    return QueryAnswers(*(np.concatenate([getattr(one, name) for one in answers]) for name in PARTS))


def to_lists(answers: QueryAnswers) -> dict[str, list[float]]:
    """Return answers as lists."""
    return {name: np.asarray(getattr(answers, name), float).tolist() for name in PARTS}


def to_response(answers: QueryAnswers) -> AnswersResponse:
    """Return answers as a response."""
    return AnswersResponse(**to_lists(answers))


def to_planes(answers: QueryAnswers | Cells) -> bytes:
    """Return value, standard error, low and high one after the other, little-endian float32."""
    return b"".join(getattr(answers, name).astype("<f4").tobytes() for name in PARTS)


def describe_period(window: Window, steps: Range) -> PeriodResponse:
    """Return a run of steps, with its instants."""
    start, end = (to_iso(window.start + step * window.step) for step in steps)
    return PeriodResponse(first=steps[0], last=steps[1], start=start, end=end)


def to_iso(instant: datetime) -> str:
    """Return an instant in UTC.

    >>> to_iso(datetime(2013, 2, 4, tzinfo=UTC))
    '2013-02-04T00:00:00Z'
    """
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
