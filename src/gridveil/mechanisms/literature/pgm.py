"""Private-PGM on two marginals: the maximum-entropy cube that fits noisy cells and noisy steps best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from gridveil.mechanisms.base import Progress, silent
from gridveil.mechanisms.inference.totals import Marginals, Share, make_product_estimate, measure_marginals
from gridveil.model.arrays import Floats
from gridveil.trusted.kernel.session import Session
from gridveil.uncertainty import Estimate

LARGEST_CHANGE = 50.0
"""Of the logarithm of a number in one round, so that nothing overflows."""

SMALLEST = 1e-100
"""Numbers on their way to zero stop here."""

STEP_GROWTH = 1.2


@dataclass(frozen=True)
class Pgm:
    """Graphical model of cells and steps, fitted to both noisy marginals by mirror descent; positive everywhere.

    share: part of the budget that cells get; by default as for `outer`.
    rounds: of mirror descent, which starts from an even cube.
    seed: of the error bars. It protects nothing.
    """

    share: Share | None = None
    rounds: Annotated[int, Field(ge=1)] = 500
    seed: Annotated[int, Field(ge=0)] = 0

    def release(self, measure: Session, progress: Progress = silent) -> Estimate:
        """Measure cells and steps, and fit the cube of maximum entropy: the product of its marginals."""
        measured = measure_marginals(measure, self.share)
        progress("measure cells and steps", 1.0)
        shape = (measure.grid.nx, measure.grid.ny, measure.window.steps)
        estimate = make_product_estimate(measured, shape, lambda noisy: fit_pgm(noisy, self.rounds), self.seed)
        progress("fit the graphical model", 1.0)
        return estimate


def fit_pgm(noisy: Marginals, rounds: int) -> tuple[Floats, Floats]:
    """Return positive cells and steps with the same sum that come close to the noisy ones, each weighted by its noise.

    The loss is `|cells - noisy|^2 / scale^2` plus the same of steps. A step of mirror descent under the entropy of
    unnormalised distributions multiplies every number by `exp(-rate * slope)` and brings both sums to their geometric
    mean; the total is free. A step is taken if the loss falls by at least half of what its slope promises. The
    rate grows after a step that is taken, and is halved after one that is not.
    """
    total = np.maximum(noisy.total(), noisy.total_sd())[..., None]
    cells = noisy.cells.shape[-1]
    # In parts of the total, and with weights of at most one: rates are then of order one, whatever the units.
    target = np.concatenate([noisy.cells / total, noisy.steps / total], axis=-1)
    scales = np.repeat([noisy.cell_scale, noisy.step_scale], [cells, target.shape[-1] - cells])
    weight = (scales.min() / scales) ** 2
    parts = np.broadcast_to(1 / np.where(np.arange(scales.size) < cells, cells, scales.size - cells), target.shape)
    rate = np.ones_like(total)
    for _ in range(rounds):
        slope = weight * (parts - target)
        tried = _equalise_sums(parts * np.exp(np.clip(-rate * slope, -LARGEST_CHANGE, LARGEST_CHANGE)), cells)
        change = tried - parts
        # The loss is quadratic: it falls by -slope.change - |change|^2 / 2.
        taken = (weight * change**2 + slope * change).sum(axis=-1, keepdims=True) <= 0
        parts = np.where(taken, tried, parts)
        rate = np.where(taken, STEP_GROWTH * rate, rate / 2)
    return parts[..., :cells] * total, parts[..., cells:] * total


def _equalise_sums(parts: Floats, cells: int) -> Floats:
    """Return the nearest numbers, in relative entropy, with equal sums over cells and over steps; all positive."""
    parts = np.maximum(parts, SMALLEST)
    of_cells = parts[..., :cells].sum(axis=-1, keepdims=True)
    of_steps = parts[..., cells:].sum(axis=-1, keepdims=True)
    ratio = np.sqrt(of_steps / of_cells)
    return np.concatenate([parts[..., :cells] * ratio, parts[..., cells:] / ratio], axis=-1)
