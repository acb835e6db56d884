"""One noisy total, spread evenly: the floor that everyone must beat."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.mechanisms.base import Progress, silent
from gridveil.model.arrays import Product
from gridveil.trusted.kernel.session import Session
from gridveil.uncertainty import Estimate, NoisyParts


@dataclass(frozen=True)
class Even:
    """One noisy total of everything, spread evenly over all cells and steps."""

    def release(self, measure: Session, progress: Progress = silent) -> Estimate:
        """Measure the total."""
        shape = (measure.grid.nx, measure.grid.ny, measure.window.steps)
        everything = np.zeros((1, 1, 1), dtype=np.int64)
        measured = measure.sums(everything, measure.epsilon)
        progress("measure the total", 1.0)
        share = np.full((1, 1, 1), 1 / np.prod(shape))
        cells = np.broadcast_to(measured.values[0] * share[0], shape[:2])
        values = Product.of(cells, np.ones(shape[2]))
        return Estimate(values, NoisyParts(everything, measured.scales, share))
