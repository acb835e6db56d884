"""Sums of the cube by label."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gridveil.privacy.account import Account
from gridveil.privacy.checks import relative_scales
from gridveil.privacy.labels import as_labels, steps_per_label, sum_by_label
from gridveil.privacy.questions.question import Question, Scope, unit_scale


def ask_sums(
    scope: Scope, labels: ArrayLike, epsilon: float, *, relative: ArrayLike | None, sequential: bool
) -> Question:
    """Return the question for the sum of the cube over each label; see `Kernel.sums`.

    Guarantee: the scales are `s * relative` with `s` such that this measurement by itself costs `epsilon` in the
    worst-off pillar: its own knapsack value, or the sum over labels `i` of
    `max_p min(step * n_i(p), window) / b_i` (`n_i(p)`: steps of pillar `p` in label `i`) if `sequential`, which is
    a fixed charge.
    """
    marks = as_labels(labels, scope.shape)
    ratios = relative_scales(relative, marks)
    if sequential:
        most = steps_per_label(marks, scope.window.steps, len(ratios)).max(axis=(0, 1))
        step = min(scope.bound.step, scope.bound.window)  # their product with steps then fits int64
        own = float((np.minimum(step * most, scope.bound.window) / ratios).sum())
    else:
        own = float(Account(scope.window, scope.bound).loss_with(marks, 1 / ratios).max())
    scales = ratios * unit_scale(own, epsilon)
    weights = None if sequential else (marks, 1 / scales)
    return Question("sums", scope, epsilon, lambda cube: sum_by_label(cube, marks, len(scales)), scales, weights)
