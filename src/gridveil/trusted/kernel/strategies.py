"""Questions about strategies (a matrix for each axis, transforms of time) and about absolute deviations."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from gridveil.model.arrays import Floats, Ints
from gridveil.model.errors import BudgetError, UsageError
from gridveil.trusted.budget import Bound
from gridveil.trusted.kernel.account import Account, Marks
from gridveil.trusted.kernel.labels import check_held, parse_labels, parse_relative_scales, sum_by_label
from gridveil.trusted.kernel.questions import (
    KernelQuestion,
    Kind,
    Matrices,
    Scope,
    apply_to_cube,
    compute_cost,
    compute_unit_scale,
    saturate,
    to_weights,
)
from gridveil.trusted.kernel.transforms import Fourier, Haar

# Strategies: a matrix for each axis, and transforms of time with proofs of their own.
#
# Real entries are rounded to integers, so that the kernel applies them exactly.

LARGEST_COLUMN = 2**52
"""Of absolute entries added up, in units of the rounding: whole numbers below 2**53 add up exactly in doubles."""
MAX_BITS = 30
"""Of all factors together: finer rounding would gain nothing, and take int64 to its limits."""
MAX_NOISE_BITS = 48
"""Noise of a larger scale than two to this power is left to coarser rounding (see `LARGEST_SCALE`)."""


@dataclass(frozen=True)
class Factor:
    """What a strategy does along one axis: integer `rows` (row, place), standing for `rows / 2**bits`."""

    rows: Ints
    bits: int

    @property
    def matrix(self) -> Floats:
        """The matrix that is applied."""
        return self.rows / 2.0**self.bits


Factors = tuple[Factor | None, Factor | None, Factor | None]
"""Of a strategy along x, y and t; `None` is an identity."""


def ask_matrix(
    scope: Scope, epsilon: float, x: ArrayLike | None, y: ArrayLike | None, t: ArrayLike | None
) -> KernelQuestion:
    """Return the question for the strategy `x (x) y (x) t`; see `Session.matrix`.

    Guarantee: before noise, the answers are whole numbers. A Wh in cell and step (x, y, t) moves all of them together
    by at most the product of the rounded factors' absolute column sums there: divided by the scale, these are the
    weights in the account (see `Account`).
    """
    check_held(scope.shape, scope.limits)
    matrices = check_matrices(x, y, t, scope.shape)
    factors = round_factors(matrices, compute_cost(scope, sum_columns(matrices)) / epsilon)
    columns = sum_columns(to_integers(factors))
    scale = compute_unit_scale(compute_cost(scope, columns), epsilon)
    return _make_question("matrix", scope, epsilon, factors, np.array([scale]), to_weights(columns / scale))


def ask_transform(
    scope: Scope, epsilon: float, transform: Fourier | Haar, x: ArrayLike | None, y: ArrayLike | None
) -> KernelQuestion:
    """Return the question for a transform of every pillar; see `Session.transform`.

    Guarantee: a household is in one pillar, so it moves the answers by the transform of its contribution times
    entries of the space matrices: together, each divided by its relative scale, by at most the largest product of their
    absolute column sums times the sensitivity that the transform proves, or by the knapsack value of the whole matrix
    if that is smaller. The scales make this cost `epsilon` in every pillar (a fixed charge). Only the kernel's
    transforms are taken: a proof cannot come from outside.
    """
    check_held(scope.shape, scope.limits)
    if type(transform) not in {Fourier, Haar}:
        msg = f"{transform!r}: the kernel has proofs for Fourier and Haar only; use `matrix` for other transforms"
        raise UsageError(msg, code="transform-unknown")
    transform = replace(transform)  # a copy: what is proven is what is applied
    relative = transform.relative(scope.window.steps)
    matrices = check_matrices(x, y, transform.rows(scope.window.steps), scope.shape)
    factors = round_factors(
        matrices, _compute_transform_cost(scope, transform, matrices, None) * float(relative.max()) / epsilon
    )
    bits = factors[2].bits if factors[2] else 0
    scales = relative * compute_unit_scale(
        _compute_transform_cost(scope, transform, to_integers(factors), bits), epsilon
    )
    return _make_question("transform", scope, epsilon, factors, scales, None)


def _compute_transform_cost(
    scope: Scope,
    transform: Fourier | Haar,
    matrices: Matrices,
    bits: int | None,
) -> float:
    """Return what a transform costs if the noise has its relative scales."""
    x, y, t = matrices
    across = float(sum_columns((x, y, None)).max())
    relative = transform.relative(scope.window.steps)[:, None]
    by_columns = compute_cost(scope, sum_columns((x, y, None if t is None else t / relative)))
    return min(by_columns, across * transform.sensitivity(scope.window.steps, scope.bound, bits))


def _make_question(
    kind: Kind,
    scope: Scope,
    epsilon: float,
    factors: Factors,
    scales: Floats,
    weights: tuple[Marks, Floats] | None,
) -> KernelQuestion:
    """Return the question for a strategy that was rounded. Its answers are in units of the rounding."""
    lengths = zip(factors, scope.shape, strict=True)
    shape = tuple(length if factor is None else len(factor.rows) for factor, length in lengths)
    exact = apply_to_cube(lambda cube: apply_factors(cube, factors))
    x, y, t = (factor.matrix if factor else None for factor in factors)
    return KernelQuestion(
        kind,
        scope,
        epsilon,
        exact,
        np.broadcast_to(scales, shape),
        weights,
        per_wh=2.0 ** sum(factor.bits for factor in factors if factor),
        matrices=(x, y, t),
    )


def check_matrix(matrix: ArrayLike, length: int) -> Floats:
    """Return a strategy's factor for an axis of this length, or refuse it."""
    given = np.array(np.asarray(matrix), dtype=np.float64)  # a copy: what is charged for is what is applied
    if given.ndim != 2 or not given.size or given.shape[1] != length:  # noqa: PLR2004  # a matrix
        msg = f"a strategy for an axis of {length} needs a matrix with {length} columns, not one of shape {given.shape}"
        raise UsageError(msg, code="strategy-shape")
    if not (np.isfinite(given).all() and (np.abs(given) <= 2.0**MAX_BITS).all() and given.any()):
        msg = f"a strategy's entries must be finite, not all zero, and at most 2**{MAX_BITS}"
        raise UsageError(msg, code="strategy-entries")
    return given


def round_factors(matrices: Matrices, scale: float) -> Factors:
    """Round a strategy's factors, to be measured with noise of about `scale` Wh."""
    bits = choose_rounding_bits(matrices, scale)
    x, y, t = (None if matrix is None else round_factor(matrix, bits) for matrix in matrices)
    return x, y, t


def choose_rounding_bits(matrices: Matrices, scale: float) -> int:
    """Return how many bits after the point to keep in each factor that is not whole, if the noise is to be `scale` Wh.

    Uses public numbers only. Whole factors need none.
    """
    fractional = sum(matrix is not None and not is_whole(matrix) for matrix in matrices)
    if not fractional:
        return 0
    if not 0 < scale < math.inf:
        msg = f"a strategy that calls for noise of scale {scale:g} Wh: scale the matrix, or change epsilon"
        raise BudgetError(msg, code="strategy-scale")
    room = MAX_NOISE_BITS - math.ceil(math.log2(scale))
    return max(0, min(MAX_BITS, room) // fractional)


def round_factor(matrix: Floats, bits: int) -> Factor:
    """Round a factor to multiples of `2**-bits`.

    >>> round_factor(np.array([[0.3, 1.0]]), 2).rows
    array([[1, 4]])
    """
    bits = 0 if is_whole(matrix) else bits
    rows = np.rint(matrix * 2.0**bits).astype(np.int64)
    if not rows.any():
        msg = f"a strategy's entries of at most {np.abs(matrix).max():.3g} vanish when rounded: scale the matrix up"
        raise UsageError(msg, code="strategy-vanishes")
    if (np.abs(rows.astype(np.float64)).sum(axis=0) >= LARGEST_COLUMN).any():
        msg = f"a strategy of {len(rows)} rows with entries up to {np.abs(matrix).max():.3g} cannot be charged exactly"
        raise UsageError(msg, code="strategy-not-chargeable")
    return Factor(rows, bits)


def is_whole(matrix: Floats) -> bool:
    """Return whether all entries are whole numbers."""
    return bool((matrix == np.rint(matrix)).all())


def check_matrices(x: ArrayLike | None, y: ArrayLike | None, t: ArrayLike | None, shape: tuple[int, ...]) -> Matrices:
    """Return a strategy's matrices, checked; `None` is an identity."""
    given = zip((x, y, t), shape, strict=True)
    fx, fy, ft = (None if matrix is None else check_matrix(matrix, length) for matrix, length in given)
    return fx, fy, ft


def sum_columns(matrices: Matrices) -> Floats:
    """Return how often a Wh in each cell and step is counted, axes (x, y, t); of length 1 along an identity.

    Of whole matrices as `round_factor` lets them pass, the sums along an axis are exact.
    """
    x, y, t = (np.ones(1) if matrix is None else np.abs(matrix).sum(axis=0) for matrix in matrices)
    return np.asarray(np.einsum("i,j,k->ijk", x, y, t), dtype=np.float64)


def to_integers(factors: Factors) -> Matrices:
    """Return the factors' integers as matrices: what is applied, in units of the rounding."""
    x, y, t = (None if factor is None else factor.rows.astype(np.float64) for factor in factors)
    return x, y, t


def apply_factors(cube: Ints, factors: Factors) -> Ints:
    """Return `(x (x) y (x) t) cube` in integers, exact, cut off at +-2**62 (see `saturate`)."""
    wrapped, nearly = cube, cube.astype(np.float64)
    for axis, factor in enumerate(factors):
        if factor is not None:
            wrapped = np.moveaxis(np.tensordot(factor.rows, wrapped, axes=(1, axis)), 0, axis)
            nearly = np.moveaxis(np.tensordot(factor.rows.astype(np.float64), nearly, axes=(1, axis)), 0, axis)
    return saturate(wrapped, nearly)


# The question for absolute deviations inside labels: exact sums, and their sensitivity.


def ask_deviations(scope: Scope, epsilon: float, labels: ArrayLike) -> KernelQuestion:
    """Return the question for the deviations of each label; see `Session.deviations`.

    Guarantee: a Wh in a label moves its deviations by at most its slope (`compute_slopes`): a weight in the account. By
    its step bound alone, a household moves those of all labels together by at most `bound_change`. The smaller of the
    two sets the scale; in the latter case the charge is fixed. Answers are counted in units of one `n`th Wh, `n` the
    size of the label.
    """
    check_held(scope.shape, scope.limits)
    marks = np.broadcast_to(parse_labels(labels, scope.shape), scope.shape)
    sizes = count_sizes(marks, len(parse_relative_scales(None, marks)))
    slopes = compute_slopes(sizes)
    by_window = float(Account(scope.window, scope.bound).loss_with(marks, slopes).max())
    by_step = bound_change(marks, sizes, scope.bound)
    if not by_window:
        msg = "every label has one cell and step, and none can deviate from itself: there is nothing to measure"
        raise UsageError(msg, code="nothing-to-measure")
    scale = compute_unit_scale(min(by_window, by_step), epsilon)
    return KernelQuestion(
        "deviations",
        scope,
        epsilon,
        apply_to_cube(lambda cube: compute_deviations(cube, marks, sizes)),
        np.maximum(sizes, 1) * scale,
        (marks, slopes / scale) if by_window <= by_step else None,
        per_wh=np.maximum(sizes, 1),
    )


def count_sizes(marks: Marks, count: int) -> Ints:
    """Return how many cells and steps each label has; `marks` has the cube's full shape."""
    return np.bincount(marks.ravel().astype(np.int64) + 1, minlength=count + 1)[1:]


def compute_deviations(cube: Ints, marks: Marks, sizes: Ints) -> Ints:
    """Return for each label `n * sum |x - mean|` over its `n` cells and steps, exact, cut off at 2**62.

    `n * sum |x - mean| = sum |n x - total|`, which is whole. Each term is cut off, then their sum (see `saturate`).
    """
    n, total = np.append(sizes, 0), np.append(sum_by_label(cube, marks, len(sizes)), 0)
    nearly = n[marks] * cube.astype(np.float64) - total[marks]
    terms = np.abs(saturate(n[marks] * cube - total[marks], nearly))
    label = marks.ravel().astype(np.int64)
    wrapped = np.zeros(len(n), dtype=np.int64)
    np.add.at(wrapped, label, terms.ravel())
    added = np.bincount(label + 1, terms.ravel().astype(np.float64), len(n)).astype(np.float64)
    return saturate(wrapped[:-1], added[1:])


def compute_slopes(sizes: Ints) -> Floats:
    """Return, per label, the most that a Wh of a household's contribution can change the sum of deviations.

    Guarantee: `D(x) = sum |x_i - mean|` over `n` places is a seminorm, so adding `v` changes it by at most `D(v)`. For
    `v >= 0` with sum `S`, `D(v) = 2 sum (v_i - S/n)_+ <= 2 S (1 - 1/n)`, attained when all is in one place.
    """
    return 2 * (1 - 1 / np.maximum(sizes, 1))


def bound_change(marks: Marks, sizes: Ints, bound: Bound) -> float:
    """Return the most that a household can change the deviations of all labels together, by its step bound alone.

    Guarantee: a household has `m` of a label's `n` places, its pillar's, and holds at most `c` in each. `D` is convex,
    so at its largest each of them is 0 or `c`: with `j <= m` of them full it is `2 j c (1 - j / n)`, at most its value
    at `j = min(m, n // 2)`. Labels are disjoint: the changes of those in a pillar add up, and the worst pillar counts.
    """
    nx, ny, _ = marks.shape
    pillar = np.arange(nx * ny).reshape(nx, ny, 1)
    labelled = marks >= 0
    pairs = (pillar * np.int64(len(sizes)) + marks)[labelled]
    distinct, places = np.unique(pairs, return_counts=True)
    n = sizes[distinct % len(sizes)]
    full = np.minimum(places, n // 2)
    changes = 2.0 * full * min(bound.step, bound.window) * (1 - full / n)
    return float(np.bincount(distinct // len(sizes), changes).max(initial=0.0))
