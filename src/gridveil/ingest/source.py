"""The source: integer contributions of every household, and the sums of them that the kernel asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gridveil.cube import Grid, Window
from gridveil.errors import UsageError
from gridveil.ingest.rules import length
from gridveil.privacy.bound import Bound

if TYPE_CHECKING:
    import ibis

Ints = NDArray[np.int64]

SLOTS = 48
"""A step is looked at in this many slots: readings in different slots cannot be duplicates of each other."""


def contributions(accepted: ibis.Table, window: Window) -> ibis.Table:
    """Sum accepted readings to one row per household and step; `doubtful` where duplicates may hide among them.

    In one pass: each reading sets the bit of its slot, and there are as many bits as readings just when no two share a
    slot.
    """
    import ibis

    @ibis.udf.scalar.builtin(signature=(("int64",), "int64"))  # type: ignore[untyped-decorator]  # ibis has no types
    def bit_count(bits: object) -> object: ...  # the engine's own function

    slot = -(-length(window) // SLOTS)  # seconds, rounded up
    bits = (ibis.literal(1, "int64") << (accepted.second % length(window) // slot)).bit_or()
    return accepted.group_by("number", "cell", "step").agg(
        wh=accepted.wh.sum(), readings=accepted.count(), doubtful=bit_count(bits) != accepted.count()
    )


def resolved(accepted: ibis.Table, doubtful: ibis.Table) -> ibis.Table:
    """Return contributions of the doubtful households and steps, with the smallest of readings at the same second."""
    again = accepted.view().semi_join(doubtful, ["number", "step"])  # ibis cannot join on what a join computed
    once = again.group_by("number", "cell", "step", "second").agg(wh=again.wh.min(), rows=again.count())
    return once.group_by("number", "cell", "step").agg(wh=once.wh.sum(), duplicates=(once.rows - 1).sum())


@dataclass(frozen=True)
class IngestedSource:
    """Contributions as a table: `number` of the household, `cell`, `step`, `wh`. Implements `privacy.source.Source`."""

    grid: Grid
    window: Window
    table: ibis.Table

    def bounded_cube(self, window: Window, bound: Bound) -> Ints:
        """Return the sums of bounded contributions per cell and step.

        Cap each step, then scale a household whose total is still above the window bound down to it, rounding down.
        The division is one of doubles, but exact: the dividend `a` is an integer below 2**53 (see `Bound`), so that a
        quotient `a / b` is at least `1 / b` below the next whole number, more than rounding can add.
        """
        capped = self._capped(window, bound.step)
        totals = capped.group_by("number").agg(total=capped.wh.sum())
        rows = capped.join(totals, "number")
        wh = (rows.total > bound.window).ifelse((rows.wh * bound.window) // rows.total, rows.wh)
        sums = rows.group_by("cell", "step").agg(wh=wh.sum()).to_pyarrow()
        cube = np.zeros((self.grid.cells, window.steps), dtype=np.int64)
        cube[sums["cell"].to_numpy(), sums["step"].to_numpy() - self._first(window)] = sums["wh"].to_numpy()
        return cube.reshape(self.grid.nx, self.grid.ny, window.steps)

    def count_totals(self, window: Window, step_bound: int, edges: Ints) -> Ints:
        """Return how many households have their capped window total in each bin.

        Those without a reading in the window are in none: a household whose readings of just this window are taken away
        leaves one bin and enters no other, which a ledger of windows relies on.
        """
        capped = self._capped(window, step_bound)
        totals = capped.group_by("number").agg(total=capped.wh.sum()).to_pyarrow()["total"].to_numpy()
        bins = np.searchsorted(edges, totals, side="right") - 1
        return np.bincount(bins[bins >= 0], minlength=len(edges)).astype(np.int64)

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
