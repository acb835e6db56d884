"""Two noisy marginals, cells and steps, made non-negative and multiplied: shared by outer and pgm."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from pydantic import Field

from gridveil.model.arrays import Floats
from gridveil.trusted.kernel.session import Session
from gridveil.uncertainty import Estimate, RegionSums, Replicates

# Joint non-negativity: the nearest numbers that are not negative and have a given sum. Post-processing.


def project(values: Floats, totals: Floats | float) -> Floats:
    """Return the nearest point of `{v >= 0, sum v = total}` to each row of values (last axis).

    All numbers are lowered by the same amount and cut at zero. Cutting alone would add to the sum what noise it
    removes below zero (half a Laplace scale a number, where there is nothing but noise): the sum of a large region
    would drown in it. A total that is not positive leaves nothing.

    >>> project(np.array([3.0, 2.0, -1.0]), 4.0)
    array([2.5, 1.5, 0. ])
    """
    wanted = np.asarray(totals, dtype=np.float64)[..., None]
    falling = -np.sort(-values, axis=-1)
    lowered = (np.cumsum(falling, axis=-1) - wanted) / np.arange(1, values.shape[-1] + 1)
    # How many stay above zero: a prefix, and at least one if anything is wanted.
    kept = np.maximum(np.count_nonzero(falling > lowered, axis=-1, keepdims=True), 1)
    by = np.take_along_axis(lowered, kept - 1, axis=-1)
    return np.asarray(np.where(wanted > 0, np.maximum(values - by, 0.0), 0.0), dtype=np.float64)


# Two noisy marginals, cells and steps, and the product of what is fitted to them: shared by outer and pgm.

REPLICATES = 40

Share = Annotated[float, Field(gt=0, lt=1)]


@dataclass(frozen=True)
class Marginals:
    """Noisy sums of every cell (..., cell) and of every step (..., step), Wh, with the Laplace scale of each kind."""

    cells: Floats
    steps: Floats
    cell_scale: float
    step_scale: float

    def total(self) -> Floats:
        """Return the sum of everything: both sums, weighted by how little noise each has."""
        of_cells = 1 / (self.cells.shape[-1] * self.cell_scale**2)
        of_steps = 1 / (self.steps.shape[-1] * self.step_scale**2)
        summed = of_cells * self.cells.sum(axis=-1) + of_steps * self.steps.sum(axis=-1)
        return np.asarray(summed / (of_cells + of_steps), dtype=np.float64)

    def total_sd(self) -> float:
        """Return the standard deviation of the noise in `total`."""
        of_cells = 1 / (self.cells.shape[-1] * self.cell_scale**2)
        of_steps = 1 / (self.steps.shape[-1] * self.step_scale**2)
        return float((2 / (of_cells + of_steps)) ** 0.5)

    def redraw(self, cells: Floats, steps: Floats, seed: int) -> Marginals:
        """Return what might as well have been measured if the truth were `cells` and `steps`, many times."""
        random = np.random.default_rng(seed)
        return Marginals(
            cells + random.laplace(0.0, self.cell_scale, (REPLICATES, cells.size)),
            steps + random.laplace(0.0, self.step_scale, (REPLICATES, steps.size)),
            self.cell_scale,
            self.step_scale,
        )


Fit = Callable[[Marginals], tuple[Floats, Floats]]
"""Cells and steps that are not negative and have the same sum, from noisy ones; works on all leading axes at once."""


def compute_even_share(cells: int, steps: int) -> float:
    """Return the part of the budget for cells that makes the noise of both marginals together least.

    The cells' noise has the summed variance `cells / share^2`, the steps' `steps / (1 - share)^2` (in the same unit):
    the best shares are as the cube roots of the numbers.

    >>> round(compute_even_share(32 * 32, 120), 3)
    0.671
    """
    return 1 / (1 + math.cbrt(steps / cells))


def measure_marginals(measure: Session, share: float | None) -> Marginals:
    """Measure cells with `share` of the budget (by default `compute_even_share`), and steps with the rest.

    Each kind is a partition of the cube, so a household's window bound is all that either can see of it.
    """
    nx, ny, steps = measure.grid.nx, measure.grid.ny, measure.window.steps
    epsilon = measure.epsilon * (compute_even_share(nx * ny, steps) if share is None else share)
    of_cells = measure.sums(np.arange(nx * ny).reshape(nx, ny, 1), epsilon)
    of_steps = measure.sums(np.arange(steps).reshape(1, 1, steps), measure.epsilon - epsilon)
    return Marginals(
        of_cells.values.astype(np.float64),
        of_steps.values.astype(np.float64),
        float(of_cells.scales[0]),
        float(of_steps.scales[0]),
    )


def make_product_estimate(measured: Marginals, shape: tuple[int, int, int], fit: Fit, seed: int) -> Estimate:
    """Return the product of fitted cells and steps, with error bars from fitting again to redrawn noise.

    The error bars hold the noise and what fitting makes of it, not that the cube may be no product.
    """
    cells, steps = fit(measured)
    again, times = fit(measured.redraw(cells, steps, seed))
    values = cells.reshape(*shape[:2], 1) * _normalise(steps)
    each = np.arange(measured.cells.size).reshape(shape[:2])
    sums = RegionSums(each, measured.cells, measured.cell_scale)
    return Estimate(values, Replicates(again.reshape(-1, *shape[:2]), _normalise(times), sums))


def _normalise(steps: Floats) -> Floats:
    """Return each step's part of the sum; equal parts of nothing."""
    total = steps.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(total > 0, steps / np.where(total > 0, total, 1.0), 1 / steps.shape[-1]))
