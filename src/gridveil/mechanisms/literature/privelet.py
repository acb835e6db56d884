"""Privelet+ (Xiao, Wang and Gehrke, 2010): all Haar wavelets of time, and of space where it is wide, with noise."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gridveil.mechanisms.base import Progress, silent
from gridveil.mechanisms.literature.linear import least_squares
from gridveil.model.arrays import Floats
from gridveil.trusted.kernel.session import Session
from gridveil.trusted.kernel.transforms import Haar
from gridveil.uncertainty import Estimate

EQUAL_NOISE = 0.0  # on the sums of left minus right halves, as Privelet's weights amount to


@dataclass(frozen=True)
class Privelet:
    """All Haar wavelets of every pillar, with noise: unbiased, and long periods cost little more than short ones."""

    def release(self, measure: Session, progress: Progress = silent) -> Estimate:
        """Measure the coefficients, and invert the transform."""
        x, y = make_wavelets(measure.grid.nx), make_wavelets(measure.grid.ny)
        answers = measure.transform(Haar(exponent=EQUAL_NOISE), measure.epsilon, x=x, y=y)
        progress("measure all wavelets", 1.0)
        return least_squares(answers)


def make_wavelets(length: int) -> Floats | None:
    """Return the Haar matrix of an axis of space without the wavelets that lie in its padding; `None`: an identity.

    This is the rule of Privelet+: an axis whose length is at most `P**2 * H` is left as it is, `P = 1 + log2(length)`
    being what a cell adds to all coefficients together, and `H = (2 + log2(length)) / 2` a bound on the variance of a
    range when that of a coefficient is 1. Wavelets of space pay from 727 cells on.

    >>> make_wavelets(32) is make_wavelets(726) is None, make_wavelets(727).shape
    (True, (731, 727))
    """
    levels = math.ceil(math.log2(length))
    if length <= (1 + levels) ** 2 * (2 + levels) / 2:
        return None
    rows = Haar().rows(length)
    return rows[rows.any(axis=1)]
