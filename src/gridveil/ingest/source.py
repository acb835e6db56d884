"""The source: integer contributions of every household, and the sums of them that the kernel asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gridveil.cube import Grid, Window
from gridveil.errors import UsageError
from gridveil.ingest.engines.engine import Engine
from gridveil.ingest.report import answers
from gridveil.ingest.rules import length
from gridveil.privacy.bound import Bound

if TYPE_CHECKING:
    import ibis

Ints = NDArray[np.int64]

SLOTS = 48
"""A step is looked at in this many slots: readings in different slots cannot be duplicates of each other."""


def contributions(engine: Engine, accepted: ibis.Table, window: Window) -> ibis.Table:
    """Sum accepted readings to one row per household and step; `doubtful` where duplicates may hide among them.

    In one pass: each reading sets the bit of its slot, and there are as many bits as readings just when no two share a
    slot.
    """
    import ibis

    slot = -(-length(window) // SLOTS)  # seconds, rounded up
    bits = (ibis.literal(1, "int64") << (accepted.second % length(window) // slot)).bit_or()
    return accepted.group_by("number", "cell", "step").agg(
        wh=accepted.wh.sum(), readings=accepted.count(), doubtful=engine.bit_count(bits) != accepted.count()
    )


def resolved(accepted: ibis.Table, doubtful: ibis.Table) -> ibis.Table:
    """Return contributions of the doubtful households and steps, with the smallest of readings at the same second."""
    again = accepted.view().semi_join(doubtful, ["number", "step"])  # ibis cannot join on what a join computed
    once = again.group_by("number", "cell", "step", "second").agg(wh=again.wh.min(), rows=again.count())
    return once.group_by("number", "cell", "step").agg(wh=once.wh.sum(), duplicates=(once.rows - 1).sum())


@dataclass(frozen=True)
class IngestedSource:
    """Contributions as a table: `number` of the household, `cell`, `step`, `wh`. Implements `privacy.source.Source`."""

    engine: Engine
    grid: Grid
    window: Window
    table: ibis.Table

    def bounded_cube(self, window: Window, bound: Bound, rows: slice | None = None) -> Ints:
        """Return the sums of bounded contributions per cell and step, of all cells or of those with `x` in `rows`.

        Cap each step, then scale a household whose total is still above the window bound down to it, rounding down.
        The division is one of doubles, but exact: the dividend `a` is an integer below 2**53 (see `Bound`), so that a
        quotient `a / b` is at least `1 / b` below the next whole number, more than rounding can add.
        """
        capped = self._capped(window, bound.step)
        totals = capped.group_by("number").agg(total=capped.wh.sum())
        first, last, _ = (rows or slice(None)).indices(self.grid.nx)
        inside = capped.filter(capped.cell >= first * self.grid.ny, capped.cell < last * self.grid.ny)
        of = inside.join(totals, "number")
        wh = (of.total > bound.window).ifelse((of.wh * bound.window) // of.total, of.wh)
        sums = of.group_by("cell", "step").agg(wh=wh.sum().cast("int64"))
        cube = np.zeros(((last - first) * self.grid.ny, window.steps), dtype=np.int64)
        for batch in self.engine.batches(sums):
            cell, step, total = (batch[name].to_numpy() for name in ("cell", "step", "wh"))
            cube[cell - first * self.grid.ny, step - self._first(window)] = total
        return cube.reshape(last - first, self.grid.ny, window.steps)

    def count_totals(self, window: Window, step_bound: int, edges: Ints) -> Ints:
        """Return how many households have their capped window total in each bin.

        Those without a reading in the window are in none: a household whose readings of just this window are taken away
        leaves one bin and enters no other, which a ledger of windows relies on.
        """
        capped = self._capped(window, step_bound)
        totals = capped.group_by("number").agg(total=capped.wh.sum())
        reached = {f"edge_{index}": (totals.total >= edge).sum() for index, edge in enumerate(edges.tolist())}
        [counts] = answers(self.engine, totals.agg(**reached))
        at_least = np.array([counts[name] or 0 for name in reached], dtype=np.int64)
        return -np.diff(at_least, append=0)

    def _first(self, window: Window) -> int:
        offset = window.start - self.window.start
        first, rest = divmod(offset, self.window.step)
        if rest or window.step != self.window.step or first < 0 or first + window.steps > self.window.steps:
            msg = (
                f"the window from {window.start} ({window.steps} steps) was not read: "
                f"the source has {self.window.steps} steps from {self.window.start}"
            )
            raise UsageError(msg)
        return first

    def _capped(self, window: Window, step_bound: int) -> ibis.Table:
        import ibis

        first = self._first(window)
        rows = self.table.filter(self.table.step >= first, self.table.step < first + window.steps)
        return rows.mutate(wh=ibis.least(rows.wh, step_bound))
