"""How far a release's answers to range queries are from the truth. Pure functions on arrays."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gridveil.estimate import Floats, Ints

WORKLOADS: dict[str, int | None] = {"random": None, "1x1x1": 1, "10x10x10": 10}
"""The paper's three kinds of range queries: the length of their sides, or any."""

QUERIES = 300
"""Range queries per workload, as in the paper."""

HALF_A_WATT_HOUR = 0.0005
"""In kWh: a truth below it is zero, apart from the rounding of prefix sums."""


class RelativeError(NamedTuple):
    """Mean relative error in percent, and how many queries it leaves out because their truth is zero."""

    percent: float
    left_out: int


def draw_workload(name: str, shape: tuple[int, int, int], seed: int = 0) -> Ints:
    """Draw the range queries of a workload inside a cube: (query, 6), half-open `x0, x1, y0, y1, t0, t1`.

    A random query's sides are uniform between 1 and the cube's, its place uniform; a fixed side that is longer
    than the cube's is cut to it.
    """
    rng = np.random.default_rng(seed)
    limit = np.array(shape)
    side = WORKLOADS[name]
    sides = rng.integers(1, limit, (QUERIES, 3), endpoint=True) if side is None else np.minimum(side, limit)
    first = rng.integers(0, limit - sides, (QUERIES, 3), endpoint=True)
    return np.stack([first, first + sides], axis=2).reshape(QUERIES, 6)


def range_sums(cube: Floats, ranges: Ints) -> Floats:
    """Return the sum of the cube (x, y, t) in every range (query, 6).

    >>> range_sums(np.ones((4, 4, 4)), np.array([[0, 2, 0, 3, 1, 4]]))
    array([18.])
    """
    prefix = np.pad(cube, ((1, 0), (1, 0), (1, 0))).cumsum(0).cumsum(1).cumsum(2)
    x0, x1, y0, y1, t0, t1 = ranges.T

    def up_to(x: Ints) -> Floats:
        face = prefix[x, y1, t1] - prefix[x, y0, t1] - prefix[x, y1, t0] + prefix[x, y0, t0]
        return np.asarray(face, dtype=np.float64)

    return up_to(x1) - up_to(x0)


def mre(truth: Floats, answers: Floats) -> RelativeError:
    """Return the mean of `|answer - truth| / truth` over the queries with a truth above zero.

    >>> mre(np.array([10.0, 20.0, 0.0]), np.array([12.0, 19.0, 7.0]))
    RelativeError(percent=12.5, left_out=1)
    """
    counted = truth > HALF_A_WATT_HOUR
    errors = np.abs(answers - truth)[counted] / truth[counted]
    percent = 100 * float(errors.mean()) if errors.size else float("nan")
    return RelativeError(percent, int(np.count_nonzero(~counted)))


def wape(truth: Floats, answers: Floats) -> float:
    """Return the weighted absolute percentage error: all queries' absolute errors over all their truth.

    >>> wape(np.array([10.0, 20.0, 0.0]), np.array([12.0, 19.0, 3.0]))
    20.0
    """
    total = float(truth.sum())
    return 100 * float(np.abs(answers - truth).sum()) / total if total > HALF_A_WATT_HOUR else float("nan")
