"""HDMM (McKenna, Miklau, Hay and Machanavajjhala, 2018): a product of optimised strategies, one for each axis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from gridveil.mechanisms.base import Progress, silent
from gridveil.mechanisms.literature.linear import least_squares
from gridveil.mechanisms.literature.p_identity import p_identity
from gridveil.model.estimate import Estimate
from gridveil.trusted.kernel.session import Session


@dataclass(frozen=True)
class Hdmm:
    """Cells, steps and weighted sums of them, with noise, optimised for all range queries.

    seed: where the optimisation starts; it protects nothing.
    """

    seed: Annotated[int, Field(ge=0)] = 0

    def release(self, measure: Session, progress: Progress = silent) -> Estimate:
        """Optimise a strategy for each axis, measure their product, and find the cube that fits best."""
        lengths = (measure.grid.nx, measure.grid.ny, measure.window.steps)
        x, y, t = (p_identity(length, self.seed) for length in lengths)
        progress("optimise the strategy", 1.0)
        answers = measure.matrix(x, y, t, measure.epsilon)
        progress("measure it", 1.0)
        sums = [
            0 if factor is None else len(factor) - length for factor, length in zip((x, y, t), lengths, strict=True)
        ]
        return least_squares(answers, extra_sums=sums)
