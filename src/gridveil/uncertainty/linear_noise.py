"""The error model of linear reconstructions: noise that is a product of one factor for each axis; see `LinearNoise`.

The noise of a range query is `sum_j a_j z_j`, where `a` is the outer product of the factors' column sums over the
range. Power sums of an outer product are products of power sums, so the cumulants never need the product itself. The
exact interval needs only its few heavy weights and two power sums of all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridveil.model.arrays import WH_PER_KWH, Floats, box_sums, prefix_sums
from gridveil.model.errors import UsageError
from gridveil.model.estimate import LinearNoise
from gridveil.uncertainty.area_errors import Bars, around
from gridveil.uncertainty.area_factors import FactorsArea
from gridveil.uncertainty.error_model import Shape, Symmetric
from gridveil.uncertainty.heavy import normalised, quick_widths, widths_of_products

BATCH_NUMBERS = 2**19


@dataclass(frozen=True)
class Factors(Symmetric):
    """The noise `scale * (x (x) y (x) time) z`, kWh, `z` independent Laplace of variance 1.

    Factors have the shape (length of the axis, any); `None` is an identity.
    """

    scale: float
    x: Floats | None
    y: Floats | None
    time: Floats | None

    @classmethod
    def of(cls, errors: LinearNoise, shape: Shape) -> Factors:
        """Take over a mechanism's error model."""
        factors = [
            factor if factor is None else _checked(np.asarray(factor, float), length)
            for factor, length in zip((errors.x, errors.y, errors.time), shape[::-1], strict=True)
        ]
        return cls(1 / WH_PER_KWH, *factors)

    @property
    def by_axis(self) -> dict[str, Floats | None]:
        """The factors, in the order of a range's columns."""
        return {"x": self.x, "y": self.y, "time": self.time}

    def cell_errors(self, steps: slice, shape: Shape) -> Floats:
        """Return the standard error of every cell in some steps."""
        x, y, time = (
            np.ones(length) if factor is None else np.sqrt((factor**2).sum(axis=1))
            for factor, length in zip(self.by_axis.values(), shape[::-1], strict=True)
        )
        return np.asarray(self.scale * time[steps, None, None] * y[:, None] * x)

    @cached_property
    def _prefixes(self) -> list[Floats | None]:
        return [factor if factor is None else prefix_sums(factor, axes=(0,)) for factor in self.by_axis.values()]

    def errors_of(self, ranges: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Return standard error and half-width of the 95 % interval of each range query."""
        columns = sum(factor.shape[1] for factor in self.by_axis.values() if factor is not None)
        batches = np.array_split(ranges, columns * len(ranges) // BATCH_NUMBERS + 1)
        with np.errstate(over="ignore", invalid="ignore"):  # whoever asks refuses what is not finite
            answers = [self._errors_of(some) for some in batches]
        errors, widths = (np.concatenate(column) for column in zip(*answers, strict=True))
        return errors, widths

    def _errors_of(self, ranges: NDArray[np.int64]) -> tuple[Floats, Floats]:
        error = np.full(len(ranges), self.scale)
        fourth, sixth, equal = np.ones((3, len(ranges)))
        tables = []
        for axis, prefix in enumerate(self._prefixes):
            sides = ranges[:, 2 * axis : 2 * axis + 2]
            if prefix is None:
                equal = equal * (sides[:, 1] - sides[:, 0])
                continue
            norms, squares = normalised(box_sums(prefix, sides))
            error = error * norms
            fourth = fourth * (squares**2).sum(axis=1)
            sixth = sixth * (squares**3).sum(axis=1)
            tables.append(squares)
        error = error * np.sqrt(equal)
        return error, error * widths_of_products(tables, equal, fourth / equal, sixth / equal**2)

    def of_cells(self, start: int, stop: int, values: Floats) -> Bars:
        """Return the bars of every single cell over one period; half-widths are within 5e-4 of themselves."""
        equal = 1 if self.time is not None else stop - start
        period = np.ones((1, 1)) if self.time is None else self.time[start:stop].sum(axis=0, keepdims=True)
        error = self.scale * np.sqrt(equal)
        fourth, sixth = np.ones(1) / equal, np.ones(1) / equal**2
        with np.errstate(over="ignore", invalid="ignore"):  # whoever asks refuses what is not finite
            for factor, side in ((period, (1, 1)), (self.y, (-1, 1)), (self.x, (1, -1))):
                norms, squares = normalised(np.ones((1, 1)) if factor is None else factor)
                error = error * norms.reshape(side)
                fourth = fourth * (squares**2).sum(axis=1).reshape(side)
                sixth = sixth * (squares**3).sum(axis=1).reshape(side)
            error = np.broadcast_to(error, values.shape)
            return around(values, error, error * quick_widths(fourth, sixth))

    def of_area(self, weights: Floats) -> FactorsArea:
        """Return the noise of an area, weights (y, x)."""
        side = weights if self.y is None else self.y.T @ weights
        space = side if self.x is None else side @ self.x
        return FactorsArea(self.scale, space.ravel(), self.time)


def _checked(factor: NDArray[Any], length: int) -> Floats:
    if factor.ndim != 2 or factor.shape[0] != length or factor.shape[1] == 0:  # noqa: PLR2004 - a matrix
        msg = f"a noise factor of shape {factor.shape} does not fit an axis of {length}"
        raise UsageError(msg, code="noise-factor-shape")
    if not np.isfinite(factor).all():
        msg = "an estimate has noise factors that are not finite; this is a fault of its mechanism"
        raise UsageError(msg, code="noise-factor-not-finite")
    return factor
