"""The error model of linear reconstructions: noise that is a product of one factor for each axis; see `LinearNoise`.

The noise of a range query is `sum_j a_j z_j`, where `a` is the outer product of the factors' column sums over the
range. Power sums of an outer product are products of power sums, so the cumulants never need the product itself. The
exact interval needs only its few heavy weights and two power sums of all others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridveil.errors import UsageError
from gridveil.estimate import Floats, LinearNoise
from gridveil.release.error_model import WH_PER_KWH, Shape, Symmetric
from gridveil.release.intervals import EXPANDED_KURTOSIS, exact_widths, expansion
from gridveil.release.prefix import box_sums, prefix_sums

BATCH_NUMBERS = 2**19
TOGETHER = 128

# Weights with at least this share of the variance, so 256 at most, enter the interval one by one. All others enter as n
# equal weights with their second and fourth power sum. Of p_2 = sum_j a_j^2 = 1 that leaves p_6 wrong by at most
# HEAVY^2 / 4 (a variance of numbers below HEAVY), and the width by about 0.36 times that, 1.4e-6 of it: the change of
# the Cornish-Fisher quantile, and less where a few weights rule. The tests look for worse.
HEAVY = 1 / 256
LIGHTEST = 1e-6  # lighter ones are as good as normal, and more of them would cost digits
NOTHING = 1e-12  # rounding, not noise


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
            norms, squares = _normalised(box_sums(prefix, sides))
            error = error * norms
            fourth = fourth * (squares**2).sum(axis=1)
            sixth = sixth * (squares**3).sum(axis=1)
            tables.append(squares)
        error = error * np.sqrt(equal)
        fourth, sixth = fourth / equal, sixth / equal**2
        widths = expansion(3 * fourth, 30 * sixth)
        # The heaviest first, so that tables put together are of like size.
        order = np.argsort(-fourth, kind="stable")
        order = order[(3 * fourth[order] > EXPANDED_KURTOSIS) & np.isfinite(error[order])]
        for first in range(0, len(order), TOGETHER):
            some = order[first : first + TOGETHER]
            weights, counts = representatives([squares[some] for squares in tables], equal[some], fourth[some])
            widths[some] = exact_widths(weights, counts) / math.sqrt(2)
        return error, error * widths


def representatives(tables: list[Floats], equal: Floats, fourth: Floats) -> tuple[Floats, Floats]:
    """Return few weights, and how many there are of each, for the noise of some queries (rows).

    The squared weights are the products of one number from each table, whose rows sum to 1, divided by `equal`, and
    each occurs `equal` times. `fourth` is the sum of their squares. Heavy weights are returned as they are, and one
    weight for all others.

    >>> weights, counts = representatives([np.array([[0.98, 0.0199, 0.0001]])], np.array([2.0]), np.array([0.48039801]))
    >>> np.round(weights**2, 5).tolist(), np.round(counts).tolist()
    ([[0.00995, 0.49, 5e-05]], [[2.0, 2.0, 2.0]])
    """
    least = HEAVY * equal
    peaks = [squares.max(axis=1) for squares in tables]
    heavy = np.ones((len(equal), 1))
    for place, squares in enumerate(tables):
        later = np.prod([np.ones(len(equal)), *peaks[place + 1 :]], axis=0)
        ahead = _heaviest(squares, later * heavy.max(axis=1, initial=0.0), least)
        products = (heavy[:, :, None] * ahead[:, None, :]).reshape(len(equal), -1)
        heavy = _heaviest(products, later, least)
    light = _light(1 - heavy.sum(axis=1), fourth - (heavy**2).sum(axis=1) / equal)
    weights = np.sqrt(np.hstack([heavy / equal[:, None], light[0][:, None]]))
    return weights, np.hstack([np.where(heavy > 0, equal[:, None], 0.0), light[1][:, None]])


def _light(second: Floats, fourth: Floats) -> tuple[Floats, Floats]:
    """Return the square, and the number, of equal weights with these power sums, as far as weights can be that light.

    There is at least one, whatever rounding made of the sums.
    """
    something = np.maximum(second, NOTHING)
    square = np.minimum(np.clip(fourth / something, LIGHTEST, HEAVY), something)
    return np.where(second > NOTHING, square, 0.0), np.where(second > NOTHING, something / square, 0.0)


def _heaviest(squares: Floats, times: Floats, least: Floats) -> Floats:
    """Return the numbers of each row that reach its least when multiplied, with zeros to fill up."""
    kept = np.where(squares * times[:, None] >= least[:, None], squares, 0.0)
    most = int(np.count_nonzero(kept, axis=1).max(initial=0))
    return np.partition(kept, -most, axis=1)[:, -most:] if most else kept[:, :0]


def _normalised(sums: Floats) -> tuple[Floats, Floats]:
    """Return the norm of each row, and its squares with the sum 1; all zeros stay zeros."""
    peak = np.abs(sums).max(axis=1)
    squares = (sums / np.where(peak > 0, peak, 1.0)[:, None]) ** 2
    total = squares.sum(axis=1)
    return peak * np.sqrt(total), squares / np.where(total > 0, total, 1.0)[:, None]


def _checked(factor: NDArray[Any], length: int) -> Floats:
    if factor.ndim != 2 or factor.shape[0] != length or factor.shape[1] == 0:  # noqa: PLR2004 - a matrix
        msg = f"a noise factor of shape {factor.shape} does not fit an axis of {length}"
        raise UsageError(msg)
    if not np.isfinite(factor).all():
        msg = "an estimate has noise factors that are not finite; this is a fault of its mechanism"
        raise UsageError(msg)
    return factor
