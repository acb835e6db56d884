"""Strategies: a matrix for each axis, and transforms of time with proofs of their own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from gridveil.model.errors import UsageError
from gridveil.model.units import Floats
from gridveil.trusted.kernel.account import Marks
from gridveil.trusted.kernel.questions.question import (
    KernelQuestion,
    Kind,
    Scope,
    as_weights,
    at_once,
    knapsack,
    unit_scale,
)
from gridveil.trusted.kernel.questions.strategy import Factors, apply_exactly, column_sums, factors_of, round_all, whole
from gridveil.trusted.kernel.slabs import check_held
from gridveil.trusted.kernel.transforms import Fourier, Haar


def ask_matrix(
    scope: Scope, x: ArrayLike | None, y: ArrayLike | None, t: ArrayLike | None, epsilon: float
) -> tuple[KernelQuestion, Factors]:
    """Return the question for the strategy `x (x) y (x) t`, and its factors as rounded; see `Kernel.matrix`.

    Guarantee: before noise, the answers are whole numbers. A Wh in cell and step (x, y, t) moves all of them together
    by at most the product of the rounded factors' absolute column sums there: divided by the scale, these are the
    weights in the account (see `Account`).
    """
    check_held(scope.shape)
    matrices = factors_of(x, y, t, scope.shape)
    factors = round_all(matrices, knapsack(scope, column_sums(matrices)) / epsilon)
    columns = column_sums(whole(factors))
    scale = unit_scale(knapsack(scope, columns), epsilon)
    return _question("matrix", scope, epsilon, factors, np.array([scale]), as_weights(columns / scale)), factors


def ask_transform(
    scope: Scope, transform: Fourier | Haar, x: ArrayLike | None, y: ArrayLike | None, epsilon: float
) -> tuple[KernelQuestion, Factors]:
    """Return the question for a transform of every pillar, and its factors as rounded; see `Kernel.transform`.

    Guarantee: a household is in one pillar, so it moves the answers by the transform of its contribution times
    entries of the space matrices: together, each divided by its relative scale, by at most the largest product of their
    absolute column sums times the sensitivity that the transform proves, or by the knapsack value of the whole matrix
    if that is smaller. The scales make this cost `epsilon` in every pillar (a fixed charge). Only the kernel's
    transforms are taken: a proof cannot come from outside.
    """
    check_held(scope.shape)
    if type(transform) not in {Fourier, Haar}:
        msg = f"{transform!r}: the kernel has proofs for Fourier and Haar only; use `matrix` for other transforms"
        raise UsageError(msg, code="transform-unknown")
    transform = replace(transform)  # a copy: what is proven is what is applied
    relative = transform.relative(scope.window.steps)
    matrices = factors_of(x, y, transform.rows(scope.window.steps), scope.shape)
    factors = round_all(matrices, _own(scope, transform, matrices, None) * float(relative.max()) / epsilon)
    bits = factors[2].bits if factors[2] else 0
    scales = relative * unit_scale(_own(scope, transform, whole(factors), bits), epsilon)
    return _question("transform", scope, epsilon, factors, scales, None), factors


def _own(
    scope: Scope,
    transform: Fourier | Haar,
    matrices: tuple[Floats | None, Floats | None, Floats | None],
    bits: int | None,
) -> float:
    """Return what a transform costs if the noise has its relative scales."""
    x, y, t = matrices
    across = float(column_sums((x, y, None)).max())
    relative = transform.relative(scope.window.steps)[:, None]
    by_columns = knapsack(scope, column_sums((x, y, None if t is None else t / relative)))
    return min(by_columns, across * transform.sensitivity(scope.window.steps, scope.bound, bits))


def _question(
    kind: Kind,
    scope: Scope,
    epsilon: float,
    factors: Factors,
    scales: Floats,
    weights: tuple[Marks, Floats] | None,
) -> KernelQuestion:
    lengths = zip(factors, scope.shape, strict=True)
    shape = tuple(length if factor is None else len(factor.rows) for factor, length in lengths)
    exact = at_once(lambda cube: apply_exactly(cube, factors))
    return KernelQuestion(kind, scope, epsilon, exact, np.broadcast_to(scales, shape), weights)
