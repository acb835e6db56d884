"""Opening a release and asking it for the consumption of a region over a period."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gridveil.cube import Grid, Window
from gridveil.errors import UsageError
from gridveil.estimate import Floats
from gridveil.release.error_model import ErrorModel
from gridveil.release.files import LABEL, VALUES, load_label
from gridveil.release.label import Label
from gridveil.release.posterior import Draws
from gridveil.release.prefix import StoredPrefix, box_sums
from gridveil.release.read import Content, read_content, reading
from gridveil.release.times import Instant, index_range, step_range

Range = tuple[int, int]


@dataclass(frozen=True)
class Answer:
    """Consumption in kWh, its standard error, and its 95 % interval; of what is said by `Release.about_the_truth`."""

    value: float
    standard_error: float
    low: float
    high: float


@dataclass(frozen=True)
class Answers:
    """Many answers, as arrays."""

    value: Floats
    standard_error: Floats
    low: Floats
    high: Floats


class Release:
    """A published cube that answers range queries with error bars. Ranges are half-open."""

    def __init__(self, label: Label, content: Content) -> None:
        self.label = label
        self.grid: Grid = label.grid.grid()
        self.window: Window = label.window.window()
        self._values = content.values
        self._prefix = StoredPrefix(content.prefix)
        self._errors: ErrorModel = content.errors
        self._path = Path(content.values.file.filename)

    @property
    def about_the_truth(self) -> bool:
        """Whether error bars are about the consumption itself, or only about the noise: see docs/release-format.md."""
        return isinstance(self._errors, Draws)

    def values(self) -> NDArray[np.float32]:
        """Return all values, kWh, axes (x, y, t)."""
        with reading(self._path):
            values: NDArray[np.float32] = self._values[()].transpose(2, 1, 0)
        return values

    def query(
        self,
        x: Range | None = None,
        y: Range | None = None,
        time: Range | tuple[Instant, Instant] | None = None,
    ) -> Answer:
        """Return the consumption of the cells `x`, `y` over the steps `time`; what is left out is all.

        `time` is a range of steps, or two instants at which steps begin or end (datetimes or ISO texts; UTC unless
        they say otherwise).
        """
        ranges = [
            *index_range("x", x, self.grid.nx),
            *index_range("y", y, self.grid.ny),
            *step_range(time, self.window),
        ]
        answers = self.answers_of(np.array([ranges]))
        return Answer(*(float(part[0]) for part in (answers.value, answers.standard_error, answers.low, answers.high)))

    def values_of(self, ranges: ArrayLike) -> Floats:
        """Return the consumption of many ranges, kWh; columns are x0, x1, y0, y1, t0, t1."""
        corners = self._checked(ranges)[:, [4, 5, 2, 3, 0, 1]]
        with reading(self._path):
            return box_sums(self._prefix, corners)

    def answers_of(self, ranges: ArrayLike) -> Answers:
        """Return the consumption of many ranges with error bars; columns as in `values_of`."""
        value = self.values_of(ranges)
        with reading(self._path):
            error, low, high = self._errors.bars(self._checked(ranges), value)
            if not np.isfinite([value, error, low, high]).all():
                msg = "it has numbers that are not finite"
                raise ValueError(msg)
        return Answers(value, error, low, high)

    def _checked(self, ranges: ArrayLike) -> NDArray[np.int64]:
        table = np.asarray(ranges)
        if table.ndim != 2 or table.shape[1] != 6 or not np.issubdtype(table.dtype, np.integer):  # noqa: PLR2004 - three ranges
            msg = f"ranges of shape {table.shape} and type {table.dtype}: give integers x0, x1, y0, y1, t0, t1 in rows"
            raise UsageError(msg)
        ends = np.array([self.grid.nx, self.grid.ny, self.window.steps])
        starts, stops = table[:, ::2], table[:, 1::2]
        bad = ((starts < 0) | (stops > ends) | (starts >= stops)).any(axis=1)
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            msg = f"range {table[row].tolist()} (row {row}) is empty or outside the cube of {ends.tolist()} (x, y, t)"
            raise UsageError(msg)
        return table.astype(np.int64)


def open_release(path: Path | str) -> Release:
    """Open the release in a folder."""
    folder = Path(path)
    label = load_label(folder / LABEL)
    return Release(label, read_content(folder / VALUES, label))
