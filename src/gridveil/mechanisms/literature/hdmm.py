"""HDMM (McKenna, Miklau, Hay and Machanavajjhala, 2018): a product of optimised strategies, one for each axis."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Annotated

import numpy as np
from pydantic import Field

from gridveil.mechanisms.base import Progress, silent
from gridveil.mechanisms.inference.field import minimise
from gridveil.mechanisms.literature.linear import count_shared_ranges, least_squares
from gridveil.model.arrays import Floats
from gridveil.trusted.kernel.session import Session
from gridveil.uncertainty import Estimate

# p-Identity strategies (McKenna et al., 2018): every place of an axis, and p weighted sums, good for all ranges.

PLACES_PER_SUM = 16  # as HDMM's authors use for ranges
MIN_GAIN = 1e-3


@cache
def optimise_p_identity(length: int, seed: int) -> Floats | None:
    """Return a strategy (row, place) with unit column sums, near a local optimum for all ranges along an axis.

    `None` stands for an identity, where sums do not pay: up to about 20 places. The seed is that of the start.
    """
    products = count_shared_ranges(length)
    start = np.random.default_rng(seed).random((-(-length // PLACES_PER_SUM), length))
    roots = minimise(
        lambda roots: _compute_from_roots(roots, products), np.sqrt(start)
    )  # weights are squares: never negative
    weights = roots**2
    if compute_total_variance(weights, products)[0] > (1 - MIN_GAIN) * np.trace(products):
        return None
    strategy = np.concatenate([np.eye(length), weights])
    strategy /= strategy.sum(axis=0)
    strategy.flags.writeable = False  # it is cached
    return strategy


def compute_total_variance(weights: Floats, products: Floats) -> tuple[float, Floats]:
    """Return the variance of all ranges together, at unit noise variance, and its gradient.

    weights: of the sums, W (row, place), before all columns of [I; W] are divided by their sums `s`.
    products: see `count_shared_ranges`.

    With `A = [I; W] / s`, the variance is the trace of `(A'A)^-1 V`, which is the sum of
    `C_ij s_i s_j V_ij` with `C = (I + W'W)^-1 = I - W'(I + WW')^-1 W`.
    """
    sums = 1 + weights.sum(axis=0)
    scaled = products * np.outer(sums, sums)
    lifted = np.linalg.solve(np.eye(len(weights)) + weights @ weights.T, weights)
    crossed = lifted @ scaled
    value = float(np.trace(scaled) - np.vdot(crossed, weights))
    by_sums = 2 * (np.diagonal(products) * sums - (products * (weights.T @ lifted)) @ sums)
    return value, by_sums - 2 * crossed + 2 * (crossed @ weights.T) @ lifted


def _compute_from_roots(roots: Floats, products: Floats) -> tuple[float, Floats]:
    """Return `compute_total_variance` as a function of the square roots of the weights."""
    value, gradient = compute_total_variance(roots**2, products)
    return value, 2 * roots * gradient


@dataclass(frozen=True)
class Hdmm:
    """Cells, steps and weighted sums of them, with noise, optimised for all range queries.

    seed: where the optimisation starts; it protects nothing.
    """

    seed: Annotated[int, Field(ge=0)] = 0

    def release(self, measure: Session, progress: Progress = silent) -> Estimate:
        """Optimise a strategy for each axis, measure their product, and find the cube that fits best."""
        lengths = (measure.grid.nx, measure.grid.ny, measure.window.steps)
        x, y, t = (optimise_p_identity(length, self.seed) for length in lengths)
        progress("optimise the strategy", 1.0)
        answers = measure.matrix(x, y, t, measure.epsilon)
        progress("measure it", 1.0)
        sums = [
            0 if factor is None else len(factor) - length for factor, length in zip((x, y, t), lengths, strict=True)
        ]
        return least_squares(answers, extra_sums=sums)
