"""The noise of linear reconstructions: a product of one factor for each axis.

The noise of a range query is `sum_j a_j z_j`, where `a` is the outer product of the factors' column sums over the
range. Power sums of an outer product are products of power sums, so the cumulants never need the product itself. The
exact interval needs only its few heavy weights and two power sums of all others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from gridveil.model.arrays import WH_PER_KWH, Floats, box_sums, prefix_sums
from gridveil.model.errors import UsageError
from gridveil.uncertainty.laplace import HEAVY, normalise, quick_widths, widths_of_products
from gridveil.uncertainty.model import (
    AXES,
    DOUBLE,
    KWH,
    AreaNoise,
    Boxes,
    Intervals,
    NoiseModel,
    Shape,
    StoredArray,
    StoredArrays,
    symmetric_intervals,
)

BATCH_NUMBERS = 2**19
MOST_BYTES = 2**31


@dataclass(frozen=True)
class LinearNoise(NoiseModel):
    """The noise `scale * (x (x) y (x) time) z` of a linear reconstruction, `z` independent Laplace of variance 1.

    Each factor has the shape (length of its axis, any), or is `None` for an identity: independent noise along it. The
    product is in Wh, and in kWh in a release, which has it in the scale alone.
    """

    kind: ClassVar[str] = "linear noise"

    x: Floats | None
    y: Floats | None
    time: Floats | None
    scale: float = 1.0

    def times(self, factor: float, draws: Floats, steps: int) -> Self:
        """Return the model for values times a factor; noise that is independent along time becomes a diagonal."""
        del draws
        time = np.eye(steps) if self.time is None else self.time
        return replace(self, time=time * factor)

    def to_release(self, shape: Shape, hours: float) -> Self:
        """Return the model as a release stores it."""
        del hours
        lengths = dict(zip(AXES, shape, strict=True))
        factors = {
            axis: factor if factor is None else _check_factor(np.asarray(factor, float), lengths[axis])
            for axis, factor in self.by_axis.items()
        }
        return replace(self, scale=self.scale / WH_PER_KWH, **factors)

    def store(self) -> list[StoredArray]:
        """Return the scale, and each factor that is no identity."""
        scale = StoredArray("noise_scale", ("once",), np.array([self.scale]), KWH)
        named = {axis: f"{axis} factor of the noise; one that is absent is an identity" for axis in self.by_axis}
        return [scale] + [
            StoredArray(f"noise_{axis}", (axis, f"noise_of_{axis}"), factor, long_name=named[axis])
            for axis, factor in self.by_axis.items()
            if factor is not None
        ]

    @classmethod
    def load(cls, stored: StoredArrays, shape: Shape, hours: float) -> Self:
        """Return the model of a release from its file; a factor that is not there is an identity."""
        del hours
        scale = float(stored.dataset("noise_scale", (1,))[0])
        if not 0 < scale < math.inf:
            msg = f"noise_scale is {scale}"
            raise ValueError(msg)
        factors = {
            axis: stored.dataset(name, (length, *stored.shape(name)[1:2]), DOUBLE) if stored.has(name) else None
            for axis, length in zip(AXES, shape, strict=True)
            for name in [f"noise_{axis}"]
        }
        found = [factor for factor in factors.values() if factor is not None]
        if any(factor.ndim != 2 or factor.size == 0 for factor in found):  # noqa: PLR2004 - matrices
            msg = "a noise factor is not a matrix"
            raise ValueError(msg)
        if sum(factor.nbytes for factor in found) > MOST_BYTES:
            msg = "noise factors are larger than in any release"
            raise ValueError(msg)
        read = {axis: factor if factor is None else factor[()] for axis, factor in factors.items()}
        return cls(**read, scale=scale)

    @property
    def by_axis(self) -> dict[str, Floats | None]:
        """The factors by the names of axes."""
        return {"x": self.x, "y": self.y, "time": self.time}

    def cell_errors(self, steps: slice, shape: Shape) -> Floats:
        """Return the standard error of every cell in some steps."""
        time, y, x = (
            np.ones(length) if factor is None else np.sqrt((factor**2).sum(axis=1))
            for factor, length in zip((self.time, self.y, self.x), shape, strict=True)
        )
        return np.asarray(self.scale * time[steps, None, None] * y[:, None] * x)

    @cached_property
    def _prefixes(self) -> dict[str, Floats | None]:
        return {
            axis: factor if factor is None else prefix_sums(factor, axes=(0,)) for axis, factor in self.by_axis.items()
        }

    def errors_of(self, boxes: Boxes) -> tuple[Floats, Floats]:
        """Return standard error and half-width of the 95 % interval of each range query."""
        columns = sum(factor.shape[1] for factor in self.by_axis.values() if factor is not None)
        batches = np.array_split(boxes, columns * len(boxes) // BATCH_NUMBERS + 1)
        with np.errstate(over="ignore", invalid="ignore"):  # whoever asks refuses what is not finite
            answers = [self._errors_of(some) for some in batches]
        errors, widths = (np.concatenate(column) for column in zip(*answers, strict=True))
        return errors, widths

    def _errors_of(self, boxes: Boxes) -> tuple[Floats, Floats]:
        error = np.full(len(boxes), self.scale)
        fourth, sixth, equal = np.ones((3, len(boxes)))
        tables = []
        for axis, prefix in self._prefixes.items():
            column = 2 * AXES.index(axis)
            sides = boxes[:, column : column + 2]
            if prefix is None:
                equal = equal * (sides[:, 1] - sides[:, 0])
                continue
            norms, squares = normalise(box_sums(prefix, sides))
            error = error * norms
            fourth = fourth * (squares**2).sum(axis=1)
            sixth = sixth * (squares**3).sum(axis=1)
            tables.append(squares)
        error = error * np.sqrt(equal)
        return error, error * widths_of_products(tables, equal, fourth / equal, sixth / equal**2)

    def of_cells(self, start: int, stop: int, values: Floats) -> Intervals:
        """Return the intervals of every single cell over one period; half-widths are within 5e-4 of themselves."""
        equal = 1 if self.time is not None else stop - start
        period = np.ones((1, 1)) if self.time is None else self.time[start:stop].sum(axis=0, keepdims=True)
        error = self.scale * np.sqrt(equal)
        fourth, sixth = np.ones(1) / equal, np.ones(1) / equal**2
        with np.errstate(over="ignore", invalid="ignore"):  # whoever asks refuses what is not finite
            for factor, side in ((period, (1, 1)), (self.y, (-1, 1)), (self.x, (1, -1))):
                norms, squares = normalise(np.ones((1, 1)) if factor is None else factor)
                error = error * norms.reshape(side)
                fourth = fourth * (squares**2).sum(axis=1).reshape(side)
                sixth = sixth * (squares**3).sum(axis=1).reshape(side)
            error = np.broadcast_to(error, values.shape)
            return symmetric_intervals(values, error, error * quick_widths(fourth, sixth))

    def of_area(self, weights: Floats) -> LinearArea:
        """Return the noise of an area, weights (y, x)."""
        side = weights if self.y is None else self.y.T @ weights
        space = side if self.x is None else side @ self.x
        return LinearArea(self.scale, space.ravel(), self.time)


class LinearArea(AreaNoise):
    """The noise of an area with the weights `space` of the variables in space; `time` as in `LinearNoise`."""

    def __init__(self, scale: float, space: Floats, time: Floats | None) -> None:
        norm, squares = normalise(space[None])
        self.scale = scale * float(norm[0])
        self.fourth = float((squares**2).sum())
        self.sixth = float((squares**3).sum())
        # A weight that is not heavy here is in no product with a part of time; one stays for there to be a table.
        self.heavy = squares[:, (squares[0] >= HEAVY) | (np.arange(space.size) == squares.argmax())]
        self.time = time

    def noise_over(self, periods: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Return standard error and half-width of the 95 % interval of each period."""
        if self.time is None:
            return self._noise(np.ones((len(periods), 1)), (periods[:, 1] - periods[:, 0]).astype(float))
        sums = prefix_sums(self.time, axes=(0,))
        return self._in_batches(periods, self.time.shape[1], lambda some: box_sums(sums, some))

    def noise_at(self, schedules: Floats) -> tuple[Floats, Floats]:
        """Return standard error and half-width of the 95 % interval of each schedule."""
        time = self.time
        if time is None:
            return self._in_batches(schedules, schedules.shape[1], lambda some: some)
        return self._in_batches(schedules, time.shape[1], lambda some: some @ time)

    def _in_batches(
        self, queries: NDArray[Any], columns: int, weights_of: Callable[[NDArray[Any]], Floats]
    ) -> tuple[Floats, Floats]:
        """Return the noise of queries, a few at a time; `weights_of` gives their weights of the variables in time."""
        batches = np.array_split(queries, columns * len(queries) // BATCH_NUMBERS + 1)
        noise = [self._noise(weights_of(some), np.ones(len(some))) for some in batches]
        error, width = (np.concatenate(column) for column in zip(*noise, strict=True))
        return error, width

    def _noise(self, time: Floats, equal: Floats) -> tuple[Floats, Floats]:
        """Return standard error and half-width for weights in time (query, variable), each of them `equal` times."""
        with np.errstate(over="ignore", invalid="ignore"):  # whoever asks refuses what is not finite
            norms, squares = normalise(time)
            error = self.scale * norms * np.sqrt(equal)
            fourth = self.fourth * (squares**2).sum(axis=1) / equal
            sixth = self.sixth * (squares**3).sum(axis=1) / equal**2
            space = np.broadcast_to(self.heavy, (len(time), self.heavy.shape[1]))
            return error, error * widths_of_products([space, squares], equal, fourth, sixth)


def _check_factor(factor: NDArray[Any], length: int) -> Floats:
    if factor.ndim != 2 or factor.shape[0] != length or factor.shape[1] == 0:  # noqa: PLR2004 - a matrix
        msg = f"a noise factor of shape {factor.shape} does not fit an axis of {length}"
        raise UsageError(msg, code="noise-factor-shape")
    if not np.isfinite(factor).all():
        msg = "an estimate has noise factors that are not finite; this is a fault of its mechanism"
        raise UsageError(msg, code="noise-factor-not-finite")
    return factor
