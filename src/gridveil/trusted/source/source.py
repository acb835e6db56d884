"""The source: integer contributions of every household, and the sums of them that the kernel asks for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from gridveil.geography.grid import Grid
from gridveil.model.arrays import Ints
from gridveil.model.errors import UsageError
from gridveil.model.window import Window
from gridveil.trusted.engines.base.engine import Engine, fetch_rows
from gridveil.trusted.kernel.bound import Bound

if TYPE_CHECKING:
    import ibis


@dataclass(frozen=True)
class IngestedSource:
    """Contributions as a table: `number` of the household, `step`, `wh`. Implements the kernel's `Source`.

    `located` has the `cell` of every number. `path` is what is said to be unreadable if the engine fails: its own words
    may quote rows. What was computed once is kept in the engine until `close`.
    """

    engine: Engine
    grid: Grid
    window: Window
    table: ibis.Table
    located: ibis.Table
    path: str
    _totals: dict[tuple[Window, int], ibis.Table] = field(default_factory=dict, compare=False, repr=False)

    def bounded_cube(self, window: Window, bound: Bound, rows: slice | None = None) -> Ints:
        """Return the sums of bounded contributions per cell and step, of all cells or of those with `x` in `rows`.

        Cap each step, then scale a household whose total is still above the window bound down to it, rounding down.
        The division is one of doubles, but exact: the dividend `a` is an integer below 2**53 (see `Bound`), so that a
        quotient `a / b` is at least `1 / b` below the next whole number, more than rounding can add.
        """
        first, last, _ = (rows or slice(None)).indices(self.grid.nx)
        cube = np.zeros(((last - first) * self.grid.ny, window.steps), dtype=np.int64)
        with self.engine.translate_errors(self.path):
            totals = self._sum_households(window, bound.step)
            inside = totals.filter(totals.cell >= first * self.grid.ny, totals.cell < last * self.grid.ny)
            capped = self._clip_steps(window, bound.step)
            if rows is not None:
                capped = self._select_near(capped, inside)
            of = capped.join(inside, "number")
            wh = (of.total > bound.window).ifelse((of.wh * bound.window) // of.total, of.wh)
            sums = of.group_by("cell", "step").agg(wh=wh.sum().cast("int64"))
            for batch in self.engine.fetch_batches(sums):
                cell, step, total = (np.from_dlpack(batch[name]) for name in ("cell", "step", "wh"))  # without pandas
                cube[cell - first * self.grid.ny, step - self._find_offset(window)] = total
        return cube.reshape(last - first, self.grid.ny, window.steps)

    def count_totals(self, window: Window, step_bound: int, edges: Ints) -> Ints:
        """Return how many households have their capped window total in each bin.

        Those without a reading in the window are in none: a household whose readings of just this window are taken away
        leaves one bin and enters no other, which a ledger of windows relies on.
        """
        with self.engine.translate_errors(self.path):
            totals = self._sum_households(window, step_bound)
            reached = {f"edge_{index}": (totals.total >= edge).sum() for index, edge in enumerate(edges.tolist())}
            [counts] = fetch_rows(self.engine, totals.agg(**reached))
        at_least = np.array([counts[name] or 0 for name in reached], dtype=np.int64)
        return -np.diff(at_least, append=0)

    def close(self) -> None:
        """Let go of the engine; what outlasts it stays."""
        self.engine.close()

    def forget(self) -> None:
        """Take away what was kept to go on after an interruption, and let go of the engine."""
        self.engine.forget()
        self.engine.close()

    def _find_offset(self, window: Window) -> int:
        offset = window.start - self.window.start
        first, rest = divmod(offset, self.window.step)
        if rest or window.step != self.window.step or first < 0 or first + window.steps > self.window.steps:
            msg = (
                f"the window from {window.start} ({window.steps} steps) was not read: "
                f"the source has {self.window.steps} steps from {self.window.start}"
            )
            raise UsageError(msg, code="window-not-read")
        return first

    def _clip_steps(self, window: Window, step_bound: int) -> ibis.Table:
        import ibis

        first = self._find_offset(window)
        rows = self.table.filter(self.table.step >= first, self.table.step < first + window.steps)
        return rows.mutate(wh=ibis.least(rows.wh, step_bound))

    def _select_near(self, rows: ibis.Table, inside: ibis.Table) -> ibis.Table:
        """Return the rows of some neighbouring households: numbers go up by cell, and an engine may skip the others."""
        [ends] = fetch_rows(self.engine, inside.agg(first=inside.number.min(), last=inside.number.max()))
        if ends["first"] is None:
            return rows.limit(0)
        return rows.filter(rows.number >= ends["first"], rows.number <= ends["last"])

    def _sum_households(self, window: Window, step_bound: int) -> ibis.Table:
        """Return number, cell and total of the households that have a reading in the window."""
        if (window, step_bound) not in self._totals:
            capped = self._clip_steps(window, step_bound)
            totals = capped.group_by("number").agg(total=capped.wh.sum())
            placed = totals.join(self.located, "number").select("number", "cell", "total")
            self._totals[window, step_bound] = self.engine.keep(f"totals_{len(self._totals)}", placed)
        return self._totals[window, step_bound]
