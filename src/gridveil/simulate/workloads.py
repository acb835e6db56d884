"""Range queries to compare releases by: random shapes, fixed shapes, and the draws of the paper's authors."""

from __future__ import annotations

import re

import numpy as np

from gridveil.model.arrays import Ints
from gridveil.model.errors import UsageError

Shape = tuple[int, int, int]

WORKLOADS: dict[str, Shape | None] = {"random": None, "small": (1, 1, 1), "large": (10, 10, 10)}
"""The paper's three kinds of range queries: their sides (cells west-east, south-north, steps), or any."""

QUERIES = 300
"""Range queries per workload, as in the paper."""

AUTHORS: dict[str, int | None] = {"authors-random": None, "authors-small": 1, "authors-five": 5, "authors-large": 10}
"""The four kinds that the authors' code draws: the side that it fixes, west-east and south-north only."""

AUTHORS_QUERIES = 200
AUTHORS_SMALLEST_CUBE = 3


def expand_workloads(extra: list[str]) -> tuple[str, ...]:
    """Return the paper's workloads and others: fixed shapes, or `authors` for the four of the authors.

    >>> expand_workloads(["4x4x24"])
    ('random', 'small', 'large', '4x4x24')
    """
    names = list(WORKLOADS)
    for name in extra:
        if name == "authors":
            names += AUTHORS
        else:
            _sides(name)
            names.append(name)
    return tuple(dict.fromkeys(names))


def draw_workload(name: str, shape: tuple[int, ...], seed: int = 0, queries: int = QUERIES) -> Ints:
    """Draw the range queries of a workload inside a cube: (query, 6), half-open `x0, x1, y0, y1, t0, t1`.

    A random query's sides are uniform between 1 and the cube's, its place uniform; a fixed side that is longer
    than the cube's is cut to it. The authors' workloads have their own number of queries (see `_draw_authors`).
    """
    rng = np.random.default_rng(seed)
    limit = np.array(shape)
    if name in AUTHORS:
        return _draw_authors(rng, limit, AUTHORS[name])
    fixed = _sides(name)
    sides = rng.integers(1, limit, (queries, 3), endpoint=True) if fixed is None else np.minimum(fixed, limit)
    first = rng.integers(0, limit - sides, (queries, 3), endpoint=True)
    return np.stack([first, first + sides], axis=2).reshape(queries, 6)


def _sides(name: str) -> Shape | None:
    if name in WORKLOADS:
        return WORKLOADS[name]
    match = re.fullmatch(r"([1-9]\d*)x([1-9]\d*)x([1-9]\d*)", name)
    if not match:
        known = ", ".join(WORKLOADS)
        msg = f"workload {name!r}: give cells x cells x steps, e.g. 4x4x24, or authors ({known} are always there)"
        raise UsageError(msg, code="workload-syntax")
    return int(match[1]), int(match[2]), int(match[3])


def _draw_authors(rng: np.random.Generator, limit: Ints, fixed: int | None) -> Ints:
    """Draw 200 queries as the authors' code does (github.com/ANRGUSC/pars, main_v7_STPT.py, read, not run).

    Random: on each axis two different ones of the `n + 1` edges. Fixed side `q`: on each axis two different numbers
    below `n - q`, `n` being the west-east side of the grid *on all three axes*; the lower one is where the query
    begins, west-east and south-north it is `q` long, but in time it ends at the higher one. So on a 32 x 32 grid
    "1x1x1", "5x5x5" and "10x10x10" queries are 1 to 30, 26 and 21 steps long, and none looks past that hour. The law is
    theirs, not their stream of random numbers. On other grids than theirs `n` is the cube's shortest side and `q` is
    cut so that two numbers are left: what they would have done there is not known. They score against a truth that
    is clipped, with one household per cell at most; here both truths are scored, as for all workloads.
    """
    n = int(limit.min())
    if n < AUTHORS_SMALLEST_CUBE:
        msg = f"the authors' queries need a cube of at least {AUTHORS_SMALLEST_CUBE} each way, not {tuple(limit)}"
        raise UsageError(msg, code="cube-too-small")
    side = 0 if fixed is None else min(fixed, n - 2)
    pool = limit + 1 if fixed is None else np.full(3, n - side)
    one = rng.integers(0, pool, (AUTHORS_QUERIES, 3))
    other = rng.integers(0, pool - 1, (AUTHORS_QUERIES, 3))
    other += other >= one  # different from the one, and uniform among the rest
    ends = np.sort(np.stack([one, other], axis=2), axis=2)
    if fixed is not None:
        ends[:, :2, 1] = ends[:, :2, 0] + side
    return ends.reshape(AUTHORS_QUERIES, 6)
