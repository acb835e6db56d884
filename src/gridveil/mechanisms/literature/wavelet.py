"""Wavelet perturbation (Lyu et al., 2017): the coarsest Haar coefficients of every pillar, with noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from gridveil.mechanisms.base import Progress, silent
from gridveil.mechanisms.literature.linear import least_squares
from gridveil.trusted.kernel.session import Session
from gridveil.trusted.kernel.transforms import Haar
from gridveil.uncertainty import Estimate

PRESET_20 = {"k": 20}


@dataclass(frozen=True)
class WaveletPerturbation:
    """The k coarsest Haar wavelets of every pillar, with noise; finer changes are dropped.

    k: how many, the total included. A power of two has the same resolution everywhere; what goes beyond refines the
    early steps. There are as many as the power of two that the window is padded to.
    """

    k: Annotated[int, Field(ge=1)] = 10

    def release(self, measure: Session, progress: Progress = silent) -> Estimate:
        """Measure the coefficients, and spread them over their steps."""
        kept = min(self.k, 1 << (measure.window.steps - 1).bit_length())
        answers = measure.transform(Haar(kept), measure.epsilon)
        progress("measure the coarsest wavelets", 1.0)
        return least_squares(answers, wavelets=kept)
