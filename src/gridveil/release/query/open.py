"""Open a release, and ask it for the consumption of a region over a period."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gridveil.geography.area import Area, Range
from gridveil.geography.grid import Grid, index_pair, index_range
from gridveil.model.arrays import Floats, Prefix, box_sums
from gridveil.model.errors import InputError, UsageError
from gridveil.model.window import Window
from gridveil.release.format.files import LABEL, VALUES, load_label
from gridveil.release.format.label import Label
from gridveil.release.format.read import Content, read_content, reading
from gridveil.release.series.catalogue import CATALOGUE, is_series
from gridveil.release.series.series import JoinedContent, read_runs
from gridveil.uncertainty.model import Boxes, Uncertainty, boxes_of

# From what a user asks for to index ranges.

Instant = datetime | str


def step_range(asked: tuple[int, int] | tuple[Instant, Instant] | None, window: Window) -> tuple[int, int]:
    """Return a half-open range of steps from indices, or from two instants at which steps begin or end."""
    if asked is None:
        return 0, window.steps
    first, last = index_pair("time", asked)
    if not isinstance(first, datetime | str):
        return index_range("time", (first, last), window.steps)
    start, stop = _boundary(first, window), _boundary(last, window)
    if start >= stop:
        msg = f"time {first}/{last} is empty; the end is not included"
        raise UsageError(msg, code="time-empty")
    return start, stop


def in_words(asked: tuple[int, int] | tuple[Instant, Instant] | None, window: Window) -> str:
    """Say which period an answer is of."""
    first, last = (window.start.astimezone(UTC) + step * window.step for step in step_range(asked, window))
    return f"{first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC"


def _boundary(asked: Instant, window: Window) -> int:
    """Return the number of the step that begins at an instant."""
    try:
        instant = datetime.fromisoformat(asked) if isinstance(asked, str) else asked
    except ValueError as error:
        msg = f"time {asked}: give an ISO time such as 2013-02-04T00:00"
        raise UsageError(msg, code="time-syntax") from error
    if instant.tzinfo is None:
        instant = instant.replace(tzinfo=UTC)
    if not window.start <= instant <= window.end:
        msg = f"time {asked} is outside the window, {_iso(window.start)} to {_iso(window.end)}"
        raise UsageError(msg, code="time-outside")
    step, past = divmod(instant - window.start, window.step)
    if past:
        earlier = window.start + step * window.step
        msg = (
            f"time {asked} is inside a step; "
            f"the nearest boundaries are {_iso(earlier)} and {_iso(earlier + window.step)}"
        )
        raise UsageError(msg, code="time-inside-step")
    return step


def _iso(instant: datetime) -> str:
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


# Opening a release and asking it for the consumption of a region over a period.

Plane = NDArray[np.float32]
NOT_FINITE = "it has numbers that are not finite"


@dataclass(frozen=True)
class Answer:
    """Consumption in kWh, its standard error, and its 95 % interval; of what is said by `Release.about_the_truth`."""

    value: float
    standard_error: float
    low: float
    high: float


@dataclass(frozen=True)
class QueryAnswers:
    """Many answers, as arrays."""

    value: Floats
    standard_error: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True)
class Cells:
    """An answer for every cell, as maps (y, x); index 0 is in the south-west."""

    value: Plane
    standard_error: Plane
    low: Plane
    high: Plane


class Release:
    """A published cube that answers range queries with error bars. Ranges are half-open.

    Of a series it is all of its releases that follow each other without a gap, and `path` that of the catalogue.
    """

    def __init__(self, label: Label, content: Content | JoinedContent) -> None:
        self.label = label
        self.grid: Grid = label.grid.grid()
        self.window: Window = label.window.window()
        self._values = content.values
        self._prefix: Prefix = content.prefix
        self._errors: Uncertainty = content.errors
        self.path = content.path  # of the values
        self._files = content.files
        self.is_series = isinstance(content, JoinedContent)
        """Whether it is several releases, each with files of its own."""

    def __repr__(self) -> str:
        """Return what it is, in a line."""
        label, window = self.label, self.window
        several = "" if label.releases == 1 else f"{label.releases} releases, "
        return (
            f"<Release {label.title!r}: {several}{window.steps} steps of {window.step} from "
            f"{window.start:%Y-%m-%d %H:%M} UTC, {self.grid.nx} x {self.grid.ny} cells, "
            f"epsilon {label.privacy.epsilon:g}{'' if label.private else ', not private'}>"
        )

    @property
    def about_the_truth(self) -> bool:
        """Whether error bars are about the consumption itself, or only about the noise.

        Bars about the noise alone leave out what bounds cut off, and most of the error of spreading a measured sum over
        its cells and steps.
        """
        return self._errors.about_the_truth

    @property
    def files(self) -> list[Path]:
        """The files that answers come from: values and labels."""
        return [path for value in self._files for path in (value, value.with_name(LABEL))]

    def values(self) -> NDArray[np.float32]:
        """Return all values, kWh, axes (t, y, x) as in the file."""
        with reading(self.path):
            values: NDArray[np.float32] = self._values[()]
        return values

    def query(
        self,
        x: Range | None = None,
        y: Range | None = None,
        time: Range | tuple[Instant, Instant] | None = None,
        area: Area | Mapping[str, Any] | None = None,
    ) -> Answer:
        """Return the consumption of the cells `x`, `y` over the steps `time`; what is left out is all.

        `time` is a range of steps, or two instants at which steps begin or end (datetimes or ISO texts; UTC unless
        they say otherwise). `area`, instead of `x` and `y`, is a GeoJSON polygon (see `Area.polygon`) or any `Area`.
        """
        steps = self._steps(time)
        if area is None:
            across, up = index_range("x", x, self.grid.nx), index_range("y", y, self.grid.ny)
            return _first(self.answers_of([[*across, *up, *steps]]))
        if x is not None or y is not None:
            msg = "give an area, or ranges x and y, not both"
            raise UsageError(msg, code="area-and-range")
        return _first(self.over(area if isinstance(area, Area) else Area.polygon(self.grid, area), [steps]))

    def over(self, area: Area, periods: ArrayLike) -> QueryAnswers:
        """Return the consumption of an area over many periods, with error bars; rows are first step and end."""
        table = self._check_periods(periods)
        weights = self._check_weights(area)
        with reading(self.path):
            edges, places = np.unique(table, return_inverse=True)
            sums = self._prefix.weighted(weights, edges)[places.reshape(table.shape)]
            value = sums[:, 1] - sums[:, 0]
            return _answers(value, *self._errors.of_area(weights).over(table, value))

    def at(self, area: Area, schedules: ArrayLike) -> QueryAnswers:
        """Return the consumption of an area in weighted sums of steps, with error bars; a row has one weight a step.

        The steps need not be adjacent: the average of all Mondays' first hours, say.
        """
        table = self._check_schedules(schedules)
        weights = self._check_weights(area)
        with reading(self.path):
            # By parts, as in space: a schedule's sum needs only the edges at which it changes.
            changes = -np.diff(table, axis=1, prepend=0.0, append=0.0)
            edges = np.flatnonzero(changes.any(axis=0))
            value = changes[:, edges] @ self._prefix.weighted(weights, edges)
            return _answers(value, *self._errors.of_area(weights).at(table, value))

    def cells(self, start: int, stop: int) -> Cells:
        """Return the consumption of every cell over the steps from `start` to before `stop`, with error bars."""
        start, stop = index_range("time", (start, stop), self.window.steps)
        with reading(self.path):
            if stop == start + 1:
                value = self._values[start].astype(np.float64)
            else:
                before, after = self._prefix.planes([start, stop])
                value = np.diff(np.diff(after - before, axis=0), axis=1)
            parts = (value, *self._errors.of_cells(start, stop, value))
            if not all(np.isfinite(part).all() for part in parts):
                raise ValueError(NOT_FINITE)
        return Cells(*(part.astype(np.float32) for part in parts))

    def values_of(self, ranges: ArrayLike) -> Floats:
        """Return the consumption of many ranges, kWh; columns are x0, x1, y0, y1, t0, t1."""
        return self._values_of(self._check_ranges(ranges))

    def _values_of(self, boxes: Boxes) -> Floats:
        with reading(self.path):
            return box_sums(self._prefix, boxes)

    def answers_of(self, ranges: ArrayLike) -> QueryAnswers:
        """Return the consumption of many ranges with error bars; columns as in `values_of`."""
        boxes = self._check_ranges(ranges)
        value = self._values_of(boxes)
        with reading(self.path):
            return _answers(value, *self._errors.of_boxes(boxes, value))

    def cost_of(self, ranges: ArrayLike) -> Floats:
        """Return how many stored numbers `answers_of` must read for the error bar of each range: 0, or up to all.

        Only noisy parts need any; whoever answers strangers may want to refuse, or queue, what needs many.
        """
        return self._errors.cost_of(self._check_ranges(ranges))

    def _steps(self, time: Range | tuple[Instant, Instant] | None) -> tuple[int, int]:
        try:
            return step_range(time, self.window)
        except UsageError as error:
            if self.label.note is None:
                raise
            msg = f"{error}. {self.label.note}"
            raise UsageError(msg, code="range-in-gap") from error

    def _check_ranges(self, ranges: ArrayLike) -> Boxes:
        """Return ranges in the order of the release's axes."""
        table = np.asarray(ranges)
        if table.ndim != 2 or table.shape[1] != 6 or not np.issubdtype(table.dtype, np.integer):  # noqa: PLR2004 - three ranges
            msg = f"ranges of shape {table.shape} and type {table.dtype}: give integers x0, x1, y0, y1, t0, t1 in rows"
            raise UsageError(msg, code="ranges-shape")
        ends = np.array([self.grid.nx, self.grid.ny, self.window.steps])
        starts, stops = table[:, ::2], table[:, 1::2]
        bad = ((starts < 0) | (stops > ends) | (starts >= stops)).any(axis=1)
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            msg = f"range {table[row].tolist()} (row {row}) is empty or outside the cube of {ends.tolist()} (x, y, t)"
            raise UsageError(msg, code="range-outside")
        return boxes_of(table.astype(np.int64))

    def _check_periods(self, periods: ArrayLike) -> NDArray[np.int64]:
        table = np.asarray(periods)
        if table.ndim != 2 or table.shape[1] != 2 or not np.issubdtype(table.dtype, np.integer):  # noqa: PLR2004 - a range
            msg = f"periods of shape {table.shape} and type {table.dtype}: give integers t0, t1 in rows"
            raise UsageError(msg, code="periods-shape")
        bad = (table[:, 0] < 0) | (table[:, 1] > self.window.steps) | (table[:, 0] >= table[:, 1])
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            msg = f"period {table[row].tolist()} (row {row}) is empty or outside the {self.window.steps} steps"
            raise UsageError(msg, code="period-outside")
        return table.astype(np.int64)

    def _check_schedules(self, schedules: ArrayLike) -> Floats:
        try:
            table = np.asarray(schedules, dtype=np.float64)
        except (TypeError, ValueError) as error:
            msg = "schedules are rows of numbers, one for each step"
            raise UsageError(msg, code="schedules-shape") from error
        if table.ndim != 2 or table.shape[1] != self.window.steps or not np.isfinite(table).all():  # noqa: PLR2004 - a table
            msg = (
                f"schedules of shape {table.shape}: give rows of {self.window.steps} finite weights, one for each step"
            )
            raise UsageError(msg, code="schedules-shape")
        if self.about_the_truth and (table < 0).any():
            msg = "schedules: a weight is negative, and these error bars are of sums only, not of differences"
            raise UsageError(msg, code="schedules-negative")
        if not table.any(axis=1).all():
            msg = f"schedules: row {int(np.flatnonzero(~table.any(axis=1))[0])} takes no step at all"
            raise UsageError(msg, code="schedule-empty")
        return table

    def _check_weights(self, area: Area) -> Floats:
        if area.weights.shape != (self.grid.ny, self.grid.nx):
            msg = f"an area of {area.weights.shape[::-1]} cells on a map of {self.grid.nx} x {self.grid.ny}"
            raise UsageError(msg, code="area-shape")
        if not ((area.weights >= 0) & (area.weights <= 1)).all():
            msg = "an area's weights are shares of cells: give numbers from 0 to 1"
            raise UsageError(msg, code="area-weights")
        return area.weights


def _answers(value: Floats, error: Floats, low: Floats, high: Floats) -> QueryAnswers:
    if not np.isfinite([value, error, low, high]).all():
        raise ValueError(NOT_FINITE)
    return QueryAnswers(value, error, low, high)


def _first(answers: QueryAnswers) -> Answer:
    return Answer(*(float(part[0]) for part in (answers.value, answers.standard_error, answers.low, answers.high)))


def open_release(path: Path | str) -> Release:
    """Open the release in a folder, or all releases of a series as one.

    Of a series with gaps it is the longest run without one (`Release.label.note` says so); `open_runs` opens all.
    """
    return longest(open_runs(path))


def open_for_python(path: Path | str) -> Release:
    """Open the release in a folder, or all releases of a series as one, and return it, ready to be queried.

    Of a series with gaps it is the longest run without one, and a warning says so. Raises `InputError` for a folder
    that is no release.
    """
    opened = open_release(path)
    if opened.label.note is not None:
        warnings.warn(f"{opened.label.note} gridveil.release.query.open.open_runs opens every run.", stacklevel=2)
    return opened


def longest(runs: list[Release]) -> Release:
    """Return the run with most steps; of equal ones the latest."""
    return max(reversed(runs), key=lambda release: release.window.steps)


def open_runs(path: Path | str) -> list[Release]:
    """Open the release in a folder, or every run without a gap of a series, in order of time."""
    folder = Path(path)
    if is_series(folder):
        return [Release(label, content) for label, content in read_runs(folder)]
    if not (folder / LABEL).exists() and next(folder.glob(f"*/{LABEL}"), None) is not None:
        msg = (
            f"{folder}: there are releases in it but no {CATALOGUE}, which makes a series of them: get a fresh copy of "
            "the series, or open a release by its own folder"
        )
        raise InputError(msg, code="catalogue-missing")
    label = load_label(folder / LABEL)
    return [Release(label, read_content(folder / VALUES, label))]
