"""The question for absolute deviations inside labels: exact sums, and their sensitivity."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gridveil.model.arrays import Floats, Ints
from gridveil.model.errors import UsageError
from gridveil.trusted.kernel.account import Account, Marks
from gridveil.trusted.kernel.bound import Bound
from gridveil.trusted.kernel.labels import check_held, parse_labels, parse_relative_scales, sum_by_label
from gridveil.trusted.kernel.questions.question import (
    KernelQuestion,
    Scope,
    apply_to_cube,
    compute_unit_scale,
    saturate,
)


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
