"""The interface of error models, and the estimate that carries one from a mechanism to a release.

A mechanism makes both as the kernel answers: axes (x, y, t) and Wh. From a release's file on everything has the axes
(t, y, x) and kWh. `Estimate.to_release` and `ErrorModel.to_release` are the step between the two, and the only one. A
model is of one class on both sides; only that of a release answers questions. There an array's axis of size 1 means
that nothing varies along it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from gridveil.model.arrays import WH_PER_KWH, Floats, HeldValues, Lazy

Intervals = tuple[Floats, Floats, Floats]
"""Standard errors, and lower and upper ends of 95 % intervals."""

Shape = tuple[int, int, int]
"""Of a release's cube: steps, rows (y) and columns (x)."""

AXES = ("time", "y", "x")
"""Of a release's cube, by the names of dimensions in its file."""

Boxes = NDArray[np.int64]
"""Range queries, half-open: rows t0, t1, y0, y1, x0, x1."""

KWH = "kW h"
"""How UDUNITS, and so CF, spells kWh."""

FLOAT, DOUBLE, INTEGER = "f4", "f8", "i4"
"""How arrays of a model are stored."""


@dataclass(frozen=True)
class StoredArray:
    """An array of a model as a release's file has it; `axes` are names of dimensions, "once" one of size 1."""

    name: str
    axes: tuple[str, ...]
    array: NDArray[Any]
    units: str = "1"
    long_name: str | None = None
    plain: bool = False
    """Whether it is not compressed: unpacking would be most of the time that opening takes."""


class StoredArrays(Protocol):
    """The arrays of a model in a file that anybody may have written. Each method raises `ValueError` for a strange one.

    What is returned is an array, or a dataset that is sliced like one.
    """

    def has(self, name: str) -> bool:
        """Whether there is an array of this name."""

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape that an array claims to have."""

    def dataset(self, name: str, shape: tuple[int, ...], kind: str | None = None) -> Any:  # noqa: ANN401 - h5py has no types
        """Return the dataset of an array that must have this shape and type."""

    def broadcastable(self, name: str, shape: Shape, kind: str) -> Any:  # noqa: ANN401 - as above
        """Return an array that broadcasts to the cube; a large one stays in the file."""


class AreaIntervals(Protocol):
    """The intervals of one area's consumption."""

    def over(self, periods: NDArray[np.int64], values: Floats) -> Intervals:
        """Return the intervals of the consumption over periods, rows (start, end) in steps."""

    def at(self, schedules: Floats, values: Floats) -> Intervals:
        """Return the intervals of weighted sums over steps that need not be adjacent; schedules (query, step)."""


class Uncertainty(Protocol):
    """What a query asks: of the error model of one release, or of several releases joined."""

    @property
    def about_the_truth(self) -> bool:
        """Whether intervals are about the consumption itself, or only about the noise."""

    def of_boxes(self, boxes: Boxes, values: Floats) -> Intervals:
        """Return the intervals of range queries."""

    def of_area(self, weights: Floats) -> AreaIntervals:
        """Return the intervals of an area: the share of each cell (y, x) that is in it, 0 to 1."""

    def of_cells(self, start: int, stop: int, values: Floats) -> Intervals:
        """Return the intervals of every single cell over one period, as arrays (y, x) like the values."""

    def cost_of(self, boxes: Boxes) -> Floats:
        """Return how many stored numbers the intervals of each range query must read."""


@dataclass(frozen=True)
class ErrorModel(ABC):
    """An error model: how far from what they are about the values of one release may be."""

    kind: ClassVar[str]
    """Its name in a release's file."""
    about_the_truth: ClassVar[bool] = False
    """Whether intervals are about the consumption itself, or only about the noise."""

    @property
    def freedom(self) -> int | None:
        """Degrees of freedom, if the noise has Student's distribution; else it is a sum of Laplace variables."""
        return None

    @abstractmethod
    def times(self, factor: float, draws: Floats, steps: int) -> Self:
        """Return the mechanism's model for values times a factor; `draws` are other values that the factor may have.

        steps: how many the cube has.
        """

    @abstractmethod
    def to_release(self, shape: Shape, hours: float) -> Self:
        """Return the model as a release of this shape stores it; a step has so many hours.

        Raises `UsageError` for numbers that make no sense, which is a fault of the mechanism.
        """

    @abstractmethod
    def of_boxes(self, boxes: Boxes, values: Floats) -> Intervals:
        """Return the intervals of range queries."""

    @abstractmethod
    def of_area(self, weights: Floats) -> AreaIntervals:
        """Return the intervals of an area: the share of each cell (y, x) that is in it, 0 to 1."""

    @abstractmethod
    def of_cells(self, start: int, stop: int, values: Floats) -> Intervals:
        """Return the intervals of every single cell over one period, as arrays (y, x) like the values."""

    @abstractmethod
    def cell_errors(self, steps: slice, shape: Shape) -> Floats:
        """Return the standard error of every cell in some steps; `shape` is the whole cube's."""

    def cost_of(self, boxes: Boxes) -> Floats:
        """Return how many stored numbers the intervals of each range query must read: none of what is in memory."""
        return np.zeros(len(boxes))

    @abstractmethod
    def store(self) -> list[StoredArray]:
        """Return the arrays that a release's file has of it."""

    @classmethod
    @abstractmethod
    def load(cls, stored: StoredArrays, shape: Shape, hours: float) -> Self:
        """Return the model of a release from its file. Raises `ValueError` for what no release has."""

    @property
    def nbytes(self) -> int:
        """How many bytes its arrays take in memory."""
        parts = (getattr(self, one.name) for one in fields(self))
        return sum(part.nbytes for part in parts if isinstance(part, np.ndarray))


@dataclass(frozen=True)
class NoiseModel(ErrorModel):
    """An error model of the noise alone: as far above the value as below."""

    @abstractmethod
    def errors_of(self, boxes: Boxes) -> tuple[Floats, Floats]:
        """Return standard error and half-width of the 95 % interval of each range query."""

    def of_boxes(self, boxes: Boxes, values: Floats) -> Intervals:
        """Return the intervals of range queries."""
        return symmetric_intervals(values, *self.errors_of(boxes))


class AreaNoise(ABC):
    """The noise in one area: as far above the value as below."""

    @abstractmethod
    def noise_over(self, periods: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Return standard error and half-width of the 95 % interval of each period."""

    @abstractmethod
    def noise_at(self, schedules: Floats) -> tuple[Floats, Floats]:
        """Return standard error and half-width of the 95 % interval of each schedule."""

    def over(self, periods: NDArray[np.int64], values: Floats) -> Intervals:
        """Return the intervals of the consumption over periods, rows (start, end) in steps."""
        return symmetric_intervals(values, *self.noise_over(periods))

    def at(self, schedules: Floats, values: Floats) -> Intervals:
        """Return the intervals of weighted sums over steps; schedules (query, step)."""
        return symmetric_intervals(values, *self.noise_at(schedules))


def boxes_of(ranges: NDArray[np.int64]) -> Boxes:
    """Return range queries as whoever asks has them, columns x0, x1, y0, y1, t0, t1, in the order of a release's axes.

    >>> boxes_of(np.array([[0, 1, 2, 3, 4, 5]])).tolist()
    [[4, 5, 2, 3, 0, 1]]
    """
    return ranges[:, [4, 5, 2, 3, 0, 1]]


def symmetric_intervals(values: Floats, error: Floats, width: Floats) -> Intervals:
    """Return the intervals of values whose noise is symmetric."""
    return error, values - width, values + width


def bounding_box(weights: Floats) -> tuple[slice, slice]:
    """Return the rows and columns between which an area lies; empty slices if it has no cells.

    >>> bounding_box(np.array([[0.0, 0.0], [0.0, 0.5]]))
    (slice(1, 2, None), slice(1, 2, None))
    """
    some = [np.flatnonzero(weights.any(axis=axis)) for axis in (1, 0)]
    rows, columns = (slice(int(one[0]), int(one[-1]) + 1) if len(one) else slice(0, 0) for one in some)
    return rows, columns


@dataclass(frozen=True)
class Estimate:
    """What a mechanism returns: a reconstructed cube in Wh, axes (x, y, t) as the kernel's, with its error model.

    `values` are an array or, of a cube that may be too large for one, something `Lazy` that computes some steps of it.
    `details` are public facts about how it was made (numbers of parts, choices taken), for the label. Like
    `values`, they may only come from measurements and public numbers.
    """

    values: Floats | Lazy
    errors: ErrorModel
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def cube(self) -> Lazy:
        """The values, whichever way they are there: shape, some steps, sums, all of them."""
        return HeldValues(self.values) if isinstance(self.values, np.ndarray) else self.values

    def dense(self) -> Floats:
        """Return all values as an array: only of a cube that is small."""
        return self.cube.dense()

    def to_release(self, steps: slice) -> Floats:
        """Return the values of some steps as a release has them: kWh, axes (t, y, x)."""
        return np.asarray(self.cube.steps(steps).transpose(2, 1, 0) / WH_PER_KWH)
