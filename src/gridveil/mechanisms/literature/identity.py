"""Independent noise on every cell and step: the paper's simplest benchmark."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.mechanisms.base import Progress, silent
from gridveil.model.arrays import Scaled
from gridveil.trusted.kernel.session import Session
from gridveil.uncertainty import Estimate, NoisyParts


@dataclass(frozen=True)
class Identity:
    """Independent noise on every cell and step; unbiased, and noisy everywhere."""

    def release(self, measure: Session, progress: Progress = silent) -> Estimate:
        """Measure every cell and step by itself."""
        shape = (measure.grid.nx, measure.grid.ny, measure.window.steps)
        progress("measure every cell and step", 0.0)
        measured = measure.sums(None, measure.epsilon)
        progress("measure every cell and step", 1.0)
        scale = measured.scales[:1].reshape(1, 1, 1)
        return Estimate(Scaled(measured.values.reshape(shape)), NoisyParts(None, scale, np.ones((1, 1, 1))))
