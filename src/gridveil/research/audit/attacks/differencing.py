"""Differencing: subtract two publications under a count rule, and see whose curve is left."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gridveil.model.arrays import WH_PER_KWH, Floats, Ints
from gridveil.research.datasets.dataset import Placed
from gridveil.research.nonprivate.count_rule import CountRule
from gridveil.trusted.kernel.bound import Bound

Flags = NDArray[np.bool_]

NOTHING = Bound(1, 1)
"""A count rule has no bound; its interface asks for one."""


@dataclass(frozen=True)
class Exposed:
    """What a count rule gives away of each household (household,), when it alone comes or goes.

    published: its cell is published while it is there: whoever knows the others has its exact curve by subtraction.
    by_difference: its cell is published with it and without it: two publications have its exact curve between them, and
        nothing else need be known.
    by_threshold: its cell is published in only one of the two cases: that the cell appears, or disappears, tells that
        it came or went.
    """

    published: Flags
    by_difference: Flags
    by_threshold: Flags


def publish_by_rule(placed: Placed, rule: CountRule) -> Floats:
    """Return what a count rule publishes of a town, kWh (x, y, t); NaN in the cells that it withholds."""
    return rule.release(placed, epsilon=0.0, bound=NOTHING, clip=0, seed=0)


def without(placed: Placed, household: int) -> Placed:
    """Return the town that lacks one household."""
    keep = np.arange(len(placed.cells)) != household
    return replace(
        placed,
        dataset=replace(placed.dataset, readings=placed.dataset.readings[keep]),
        cells=placed.cells[keep],
    )


def whole_wh(kwh: Floats) -> Ints:
    """Return energies in the whole Wh that meters count: the attacker's rounding takes the floats' last bits away."""
    return np.rint(kwh * WH_PER_KWH).astype(np.int64)


def exposed(placed: Placed, rule: CountRule) -> Exposed:
    """Return, for every household, what its coming or going gives away."""
    used = placed.dataset.readings[:, placed.dataset.train_steps :].sum(axis=1)
    cell = placed.cells[:, 0] * placed.grid.ny + placed.cells[:, 1]
    count = np.bincount(cell, minlength=placed.grid.cells)
    total, largest, second = (np.zeros(placed.grid.cells, dtype=np.int64) for _ in range(3))
    np.add.at(total, cell, used)
    for member in np.argsort(used):  # the largest come last, and push the one before to second place
        second[cell[member]], largest[cell[member]] = largest[cell[member]], used[member]
    others = np.where(used == largest[cell], second[cell], largest[cell])
    before = _passes(rule, count[cell], total[cell], largest[cell])
    after = _passes(rule, count[cell] - 1, total[cell] - used, others)
    return Exposed(before, before & after, before != after)


def alone_between(first: Placed, second: Placed, rule: CountRule) -> Ints:
    """Return the households whose exact curve is the difference of two publications of overlapping areas.

    Both are of the same households, one row each, drawn with slightly other borders. A household is alone if a cell
    that both publish has it in one of them only, and differs in nobody else.
    """
    here, there = (np.isfinite(publish_by_rule(placed, rule)).all(axis=2).ravel() for placed in (first, second))
    a, b = (placed.cells[:, 0] * placed.grid.ny + placed.cells[:, 1] for placed in (first, second))
    movers = np.flatnonzero(a != b)
    changes = np.bincount(np.concatenate([a[movers], b[movers]]), minlength=len(here))
    single = here & there & (changes == 1)
    alone: Ints = movers[single[a[movers]] | single[b[movers]]]
    return alone


def _passes(rule: CountRule, count: Ints, total: Ints, largest: Ints) -> Flags:
    return np.asarray((count >= rule.households) & (100 * largest <= rule.percent * total))
