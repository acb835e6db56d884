"""The errors to expect at each epsilon, grid and step: as many rehearsals of a publication as time allows."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from gridveil.mechanisms.base import Progress, silent
from gridveil.model.errors import GridveilError
from gridveil.publishing.in_memory import replace_tables
from gridveil.publishing.plan import Plan
from gridveil.publishing.run import check_budget
from gridveil.publishing.schedule import Schedule
from gridveil.publishing.spec import Spec, make_spec
from gridveil.simulate.plan_queries import (
    Cells,
    GridSize,
    PlanQuery,
    change_grid,
    choose_basis,
    find_crossing,
    fit_falling,
    list_coarser,
    list_finer,
    list_queries,
    list_steps,
)
from gridveil.simulate.rehearse import ErrorTally, Rehearsal, max_households, rehearse

EPSILONS = (0.3, 1.0, 3.0, 10.0, 30.0)
DEFAULT_EPSILON = 3.0

USEFUL = 20.0
"""Percent: a number is useful if its typical error is at most this.

If one cell uses 1.5 times as much as another, the release then ranks them correctly seven times in eight (for normal
errors: a mean of 20 % is a standard deviation of 25 %).
"""

SECONDS = 20.0
MIN_REPEATS, MAX_REPEATS = 3, 8
PATIENCE = 3.0
"""On a busy machine, the first repeats may take this many times the time of the whole."""

EPSILONS_END, SIZES_END, HOUSEHOLDS_END, REPEATS_END = 0.4, 0.65, 0.75, 0.9
"""Shares of the time at which each kind of rehearsal ends, so that some is left for the next.

What is tried, and the first repeats, are limited by processor time, so that they do not depend on how busy a machine
is; more repeats are limited by the clock.
"""

MORE_HOUSEHOLDS = (4, 16)


@dataclass
class Outlook:
    """What rehearsals of a plan found.

    rehearsed: households of the invented town; fewer than expected where they would not fit in memory.
    tallies: of every query, at every epsilon that there was time for.
    sizes: the plan's grid and others at the plan's epsilon, finest first.
    more: percent of error of one cell of the plan's grid over the basis, by number of households.
    proofs: rehearsals of what is suggested, as suggested: of one cell over that step, and over the basis.
    takes: of a series, whether a step fits into all its windows; how many there are follows from the calendar.
    """

    plan: Plan
    epsilon: float
    households: int
    rehearsed: int
    basis: timedelta
    queries: list[PlanQuery]
    tallies: dict[float, dict[PlanQuery, ErrorTally]] = field(default_factory=dict)
    sizes: list[GridSize] = field(default_factory=list)
    more: dict[int, float] = field(default_factory=dict)
    repeats: int = 0
    proofs: dict[tuple[Cells, timedelta], GridSize] = field(default_factory=dict)
    takes: Callable[[timedelta], bool] | None = None

    @property
    def skipped(self) -> list[float]:
        """The epsilons that there was no time for."""
        return [epsilon for epsilon in EPSILONS if epsilon not in self.tallies]

    def curve(self, query: PlanQuery) -> dict[float, float]:
        """Return the typical error at each epsilon, percent; it never rises, as more epsilon does no harm."""
        epsilons = sorted(self.tallies)
        return dict(zip(epsilons, fit_falling([self.tallies[e][query].percent for e in epsilons]), strict=True))

    def expected(self, cells: tuple[int, int]) -> float:
        """Return the typical error of a block of cells over the basis at the plan's epsilon, percent."""
        return self.curve(self.over_basis(cells))[self.epsilon]

    def over_basis(self, cells: tuple[int, int]) -> PlanQuery:
        """Return the query for a block of cells over a day, or what comes nearest to it."""
        return next(q for q in self.queries if q.shape == (*cells, self.basis // self.plan.window.step))

    @property
    def suggested(self) -> list[tuple[GridSize, timedelta]]:
        """Grids and steps at which one cell over one step is useful: with the plan's step, and with a finer grid.

        The first is the finest grid for the plan's own step. The second is finer, for longer steps: the finest grid
        that is useful over the basis, with the shortest step at which it is.
        """
        whole, own = self.plan.window.steps * self.plan.window.step, self.plan.window.step
        found = [(size, own) for size in self.sizes if self._useful(size, own)][:1]
        for size in self.sizes:
            if found and size is found[0][0]:
                break
            fitting = [step for step in size.tallies if step <= self.basis and whole % step == timedelta(0)]
            if self.takes is not None:
                fitting = [step for step in fitting if self.takes(step)]
            useful = [step for step in fitting if self._useful(size, step)]
            if useful:
                return [*found, (size, useful[0])]
        return found

    def _useful(self, size: GridSize, step: timedelta) -> bool:
        """Whether one cell over a step is useful, and still was when it was rehearsed as suggested."""
        proof = self.proofs.get((size.cells, step), size)
        return max(size.percent(step), proof.percent(step)) <= USEFUL

    @property
    def enough_epsilon(self) -> float | None:
        """From which epsilon on the plan's own cells are useful, if from any that was rehearsed."""
        return find_crossing(self.curve(self.over_basis((1, 1))), USEFUL)

    @property
    def enough_households(self) -> float | None:
        """From how many households on the plan's own cells are useful, if from any number that was rehearsed."""
        known = {self.rehearsed: self.expected((1, 1)), **self.more}
        return find_crossing(dict(zip(known, fit_falling(list(known.values())), strict=True)), USEFUL)


def plan(
    spec: Spec | str | Path | None = None,
    *,
    expect: int = 1000,
    seconds: float = SECONDS,
    progress: Progress = silent,
    **settings: Any,  # noqa: ANN401  # see Spec
) -> Outlook:
    """Rehearse a publication on an invented town, and return the errors to expect at each epsilon, grid and step.

    spec, settings: as of `publish`; tables, bounds, epsilon, a ledger and `out` are not needed, and not touched.
    expect: rough public number of households.
    seconds: about how long it may take.

    Raises `UsageError` for settings that are missing or do not fit, `BudgetError` for an epsilon that is not allowed.
    """
    made, takes = make_spec(replace_tables(settings), spec), None
    if made.cadence is not None:
        schedule = Schedule.of(made)
        made, takes = next(schedule.turns()).of(made, made.out), schedule.takes
    if made.epsilon is not None:
        check_budget(made)
    return make_outlook(made, expect, takes=takes, seconds=seconds, progress=progress)


def make_outlook(
    spec: Spec,
    households: int,
    *,
    takes: Callable[[timedelta], bool] | None = None,
    seconds: float = SECONDS,
    progress: Progress = silent,
) -> Outlook:
    """Rehearse a publication for about `seconds`: at each epsilon, on other grids, with more households.

    Nothing of the publisher's data is touched. The plan at its own epsilon is always rehearsed, and what is suggested;
    the outlook lists what else there was time for.
    """
    plan = Plan.of(spec)
    epsilon = DEFAULT_EPSILON if spec.epsilon is None else float(spec.epsilon)
    rehearsed = min(households, max_households(plan))
    asked = list_queries(plan.grid, plan.window)
    outlook = Outlook(plan, epsilon, households, rehearsed, choose_basis(plan.window), asked, takes=takes)
    _Rehearsals(outlook, seconds, progress).run()
    return outlook


class _Rehearsals:
    """Fills an outlook until the time is used."""

    def __init__(self, outlook: Outlook, seconds: float, progress: Progress) -> None:
        self.outlook, self.seconds, self.progress = outlook, seconds, progress
        self.started, self.worked = time.monotonic(), time.process_time()
        self.steps = list_steps(outlook.plan, outlook.basis)
        grid, step = outlook.plan.grid, outlook.plan.window.step
        self.own = GridSize((grid.nx, grid.ny))
        self.own_is_rehearsed = self.steps[0] == step
        self.blocks: dict[tuple[int, int], GridSize] = {}

    def passed(self) -> float:
        """Return the share of the time that has passed on the clock."""
        return (time.monotonic() - self.started) / self.seconds

    def used(self) -> float:
        """Return the share of the time that the processor has worked."""
        return (time.process_time() - self.worked) / self.seconds

    def run(self) -> None:
        """Rehearse everything once, then again and again, and at last what is suggested."""
        outlook = self.outlook
        self._first_epsilons()
        self._first_sizes()
        outlook.repeats = 1
        work, wait = self.used(), self.passed()
        self._more_households()
        while outlook.repeats < MAX_REPEATS and self.used() + work < REPEATS_END:
            few = outlook.repeats < MIN_REPEATS
            if self.passed() + wait > (PATIENCE if few else REPEATS_END):
                break
            self.progress("rehearse again", min(1.0, self.passed()))
            self._again(outlook.repeats, sizes=not few)
            outlook.repeats += 1
        self._prove()
        self.progress("rehearse again", 1.0)

    def _first_epsilons(self) -> None:
        own = self.outlook.epsilon
        # The nearest first: they are what a publisher would rather choose.
        near = sorted({own, *EPSILONS}, key=lambda epsilon: abs(math.log(epsilon / own)))
        for number, epsilon in enumerate(near):
            self.progress("rehearse at each epsilon", number / len(near))
            if number == 0 or self.used() * (number + 1) / number < EPSILONS_END:
                self._ask(epsilon, 0)
        self.progress("rehearse at each epsilon", 1.0)

    def _ask(self, epsilon: float, seed: int) -> None:
        outlook = self.outlook
        rehearsal = rehearse(outlook.plan, epsilon, outlook.rehearsed, seed)
        before = outlook.tallies.get(epsilon, {})
        bars = epsilon == outlook.epsilon
        if bars and self.own_is_rehearsed:
            self.own.add(rehearsal, self.steps, seed)
            if not self.blocks:
                self._cut_blocks(rehearsal)
        outlook.tallies[epsilon] = {
            query: before.get(query, ErrorTally()) + rehearsal.tally(query.shape, bars=bars, seed=seed)
            for query in outlook.queries
        }

    def _cut_blocks(self, rehearsal: Rehearsal) -> None:
        """Estimate coarser grids from blocks of cells, for those that there will be no time for."""
        nx, ny = self.own.cells
        for cells in list_coarser(self.own.cells):
            self.blocks[cells] = GridSize(cells, of_blocks=True)
            self.blocks[cells].add(rehearsal, self.steps, block=(nx // cells[0], ny // cells[1]))

    def _first_sizes(self) -> None:
        """Try coarser grids, coarsest (and quickest) first, and finer ones as long as they are useful."""
        outlook, own = self.outlook, self.own
        small = [*map(GridSize, reversed(list_coarser(own.cells))), own]
        for number, size in enumerate([*small, *map(GridSize, list_finer(own.cells))]):
            if number >= len(small) and outlook.sizes and outlook.sizes[0].percent(outlook.basis) > USEFUL:
                break
            self.progress("rehearse on other grids", min(1.0, number / len(small)))
            if self.used() > SIZES_END and size.cells in self.blocks:
                outlook.sizes.insert(0, self.blocks[size.cells])
            # The coarsest is always tried, and the plan's own mostly has been.
            elif size.tallies or ((number == 0 or self.used() < SIZES_END) and self._size(size, 0)):
                outlook.sizes.insert(0, size)
        self.progress("rehearse on other grids", 1.0)

    def _size(self, size: GridSize, seed: int) -> bool:
        """Rehearse a grid in its finest steps; return whether the mechanism could."""
        outlook = self.outlook
        try:
            plan = change_grid(outlook.plan, size.cells, self.steps[0])
            rehearsal = rehearse(plan, outlook.epsilon, min(outlook.rehearsed, max_households(plan)), seed)
        except GridveilError:  # a parameter that was made for the plan's own grid
            return False
        size.add(rehearsal, self.steps, seed)
        return True

    def _more_households(self) -> None:
        outlook = self.outlook
        if outlook.expected((1, 1)) <= USEFUL:
            return
        query = outlook.over_basis((1, 1))
        for times in MORE_HOUSEHOLDS:
            many = times * outlook.rehearsed
            if self.used() < HOUSEHOLDS_END and many <= max_households(outlook.plan):
                tally = rehearse(outlook.plan, outlook.epsilon, many).tally(query.shape)
                outlook.more[many] = tally.percent

    def _again(self, seed: int, *, sizes: bool) -> None:
        for epsilon in self.outlook.tallies:
            self._ask(epsilon, seed)
        for size in self.outlook.sizes if sizes else ():
            if not (size is self.own and self.own_is_rehearsed):
                self._size(size, seed)

    def _prove(self) -> None:
        """Rehearse what is suggested, in its own steps; what then is not useful gives way to the next."""
        outlook = self.outlook
        while left := [(size, step) for size, step in outlook.suggested if (size.cells, step) not in outlook.proofs]:
            size, step = left[0]
            plan, proof = change_grid(outlook.plan, size.cells, step), GridSize(size.cells)
            for seed in range(outlook.repeats):
                if seed == 0 or self.passed() < 1:
                    rehearsal = rehearse(plan, outlook.epsilon, min(outlook.rehearsed, max_households(plan)), seed)
                    proof.add(rehearsal, sorted({step, outlook.basis}), seed)
            outlook.proofs[size.cells, step] = proof
