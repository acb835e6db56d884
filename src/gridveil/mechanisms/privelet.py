"""Privelet (Xiao, Wang and Gehrke, 2010): all Haar wavelets of space and time, with noise."""

from __future__ import annotations

from dataclasses import dataclass

from gridveil.estimate import Estimate, Floats
from gridveil.mechanisms.base import Progress, silent
from gridveil.mechanisms.linear import least_squares
from gridveil.privacy.measure import Measure
from gridveil.privacy.transforms import Haar

EQUAL_NOISE = 0.0  # on the sums of left minus right halves, as Privelet's weights amount to


@dataclass(frozen=True)
class Privelet:
    """All Haar wavelets along both directions and time, with noise: large ranges cost little more than small ones."""

    def release(self, measure: Measure, progress: Progress = silent) -> Estimate:
        """Measure the coefficients, and invert the transform."""
        x, y = wavelets(measure.grid.nx), wavelets(measure.grid.ny)
        answers = measure.transform(Haar(exponent=EQUAL_NOISE), measure.epsilon, x=x, y=y)
        progress("measure all wavelets", 1.0)
        return least_squares(answers)


def wavelets(length: int) -> Floats | None:
    """Return the Haar matrix of an axis of space, without the wavelets that lie in its padding; `None` for one cell.

    >>> wavelets(3).tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, -1.0], [1.0, -1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    rows = Haar().rows(length)
    return None if length == 1 else rows[rows.any(axis=1)]
