"""Fourier perturbation (Rastogi and Nath, 2010): a few frequencies of every pillar, with noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from gridveil.mechanisms.base import Progress, silent
from gridveil.mechanisms.literature.linear import least_squares
from gridveil.trusted.kernel.session import Session
from gridveil.trusted.kernel.transforms import Fourier
from gridveil.uncertainty import Estimate

PRESET_20 = {"k": 20}


@dataclass(frozen=True)
class FourierPerturbation:
    """The k lowest frequencies of every pillar, with noise; faster changes are dropped.

    k: how many, the constant one included. A window of n steps has n // 2 + 1.
    """

    k: Annotated[int, Field(ge=1)] = 10

    def release(self, measure: Session, progress: Progress = silent) -> Estimate:
        """Measure the frequencies, and add up their waves."""
        kept = min(self.k, measure.window.steps // 2 + 1)
        answers = measure.transform(Fourier(kept), measure.epsilon)
        progress("measure the lowest frequencies", 1.0)
        return least_squares(answers, frequencies=kept)
