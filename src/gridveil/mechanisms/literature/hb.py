"""Hierarchy with consistency (H_b; Hay et al., 2010; Qardaji, Yang and Li, 2013), one for each axis."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from gridveil.mechanisms.base import Progress, silent
from gridveil.mechanisms.literature.linear import count_shared_ranges, least_squares
from gridveil.model.arrays import Floats, Ints
from gridveil.trusted.kernel.session import Session
from gridveil.uncertainty import Estimate


@dataclass(frozen=True)
class Hb:
    """Sums of a hierarchy of blocks, with noise, made consistent; how blocks branch is chosen for all range queries.

    Every combination of one level of each axis is a partition of the cube; all are measured with the same noise.
    """

    def release(self, measure: Session, progress: Progress = silent) -> Estimate:
        """Measure all levels, and find the cube that fits them best."""
        lengths = (measure.grid.nx, measure.grid.ny, measure.window.steps)
        branching = [choose_branching(length) for length in lengths]
        x, y, t = (build_hierarchy(length, b) for length, b in zip(lengths, branching, strict=True))
        answers = measure.matrix(x, y, t, measure.epsilon)
        progress("measure all levels", 1.0)
        return least_squares(answers, branching=branching)


def list_levels(length: int, branching: int) -> list[Ints]:
    """Return the limits of the blocks of every level, coarse to fine, down to single places.

    The root is not measured: its sum is that of the first level. Where lengths are no powers of the branching, blocks
    of a level differ by one at most.

    >>> [limits.tolist() for limits in list_levels(5, 2)]
    [[0, 2, 5], [0, 1, 2, 3, 5], [0, 1, 2, 3, 4, 5]]
    """
    found: list[Ints] = []
    blocks = 1
    while blocks < length:
        blocks = min(blocks * branching, length)
        found.append(np.arange(blocks + 1) * length // blocks)
    return found


def build_hierarchy(length: int, branching: int) -> Floats | None:
    """Return the strategy that sums the blocks of all levels; `None` if single places are the only level.

    >>> build_hierarchy(4, 2).tolist()[:3]
    [[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0], [1.0, 0.0, 0.0, 0.0]]
    """
    if branching >= length:
        return None
    place = np.arange(length)
    blocks = [(limits[:-1, None] <= place) & (place < limits[1:, None]) for limits in list_levels(length, branching)]
    return np.concatenate(blocks).astype(np.float64)


@cache
def choose_branching(length: int) -> int:
    """Return the branching with the least mean variance over all ranges along an axis, after consistency.

    Qardaji et al. minimise an approximation of this number; here it is computed. `length` itself is no hierarchy.

    >>> choose_branching(32), choose_branching(120)
    (32, 11)
    """
    table = np.zeros((length + 1, length + 1))
    table[1:, 1:] = count_shared_ranges(length).cumsum(axis=0).cumsum(axis=1)
    return min(range(length, 1, -1), key=lambda branching: _compute_mean_variance(table, branching), default=1)


def _compute_mean_variance(table: Floats, branching: int) -> float:
    """Return the variance of all ranges together, up to a constant; `table`: the running sum of `count_shared_ranges`.

    Let `P_l` be the projection on what is constant in the blocks of level `l` (`P_0 = 0`). If all blocks of a level
    have the same size `s_l`, the strategy's `A'A` is `sum_l s_l P_l`, and its inverse
    `sum_l (P_l - P_(l-1)) / sum_(j>=l) s_j`; otherwise this is an approximation, with the mean size. The noise's scale
    is proportional to the number of levels.
    """
    length = len(table) - 1
    limits = list_levels(length, branching)
    sizes = np.array([length / (len(some) - 1) for some in limits])
    kept = np.array([_sum_projections(table, some) for some in limits])
    precisions = sizes[::-1].cumsum()[::-1]
    return float(len(limits) ** 2 * (np.diff(kept, prepend=0.0) / precisions).sum())


def _sum_projections(table: Floats, limits: Ints) -> float:
    """Return the sum over all ranges of `|P q|^2`, `q` the range's indicator and `P` the blocks' projection."""
    first, last = limits[:-1], limits[1:]
    inside = table[last, last] - table[first, last] - table[last, first] + table[first, first]
    return float((inside / (last - first)).sum())
