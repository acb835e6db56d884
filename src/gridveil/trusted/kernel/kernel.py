"""The kernel: the only path from true values to anything else. It answers with noise and accounts for the loss."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from threading import RLock
from types import MappingProxyType
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from gridveil.geography.grid import Grid
from gridveil.model.arrays import Ints
from gridveil.model.errors import BudgetError, UsageError
from gridveil.model.running import DEFAULT_LIMITS, Limits, Progress, silent
from gridveil.model.window import Window
from gridveil.trusted.budget import Bound, PureDP
from gridveil.trusted.kernel.account import MAX_TERMS, ROUNDING, Account, Marks
from gridveil.trusted.kernel.labels import Slab, is_held, iterate_slabs
from gridveil.trusted.kernel.noise import ExactNoise, Noise, check_scales
from gridveil.trusted.kernel.questions import KernelQuestion, Kind, Scope, ask_household_totals, ask_sums, check_epsilon
from gridveil.trusted.kernel.session import NoiseKind, Session
from gridveil.trusted.kernel.strategies import ask_deviations, ask_matrix, ask_transform

SUM_STAGE = "bound and sum the households"

QUESTIONS: Mapping[Kind, Callable[..., KernelQuestion]] = MappingProxyType(
    {
        "sums": ask_sums,
        "matrix": ask_matrix,
        "transform": ask_transform,
        "deviations": ask_deviations,
        "household_totals": ask_household_totals,
    }
)
"""All that can be asked. Each states its guarantee."""

Losses = dict[tuple[Window, Bound], NDArray[np.float64]]
"""What every pillar has lost on each window under each bound."""


class Source(Protocol):
    """The contributions of all households: each in one cell, integer Wh per step.

    Required of an implementation, because the kernel's guarantee rests on it: a household's rows influence
    only its own contribution, a household is in exactly one cell, and neither success nor failure of a call, nor
    the shape of its answer, depends on the rows.
    """

    @property
    def grid(self) -> Grid:
        """The public grid."""

    @property
    def window(self) -> Window:
        """All steps that were read: a training window may come before the published one."""

    def bounded_cube(self, window: Window, bound: Bound, rows: slice | None = None) -> NDArray[np.int64]:
        """Return the sums over households of their bounded contributions, axes (x, y, t), Wh.

        rows: `slice(first, end)` of the x axis, for just that slab of the cube; `None` for all of it. Slabs are parts
            of the same cube: a household is bounded by its whole window, and is in one slab only.
        """

    def count_totals(self, window: Window, step_bound: int, edges: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count the households whose total of capped steps is in `[edges[i], edges[i+1])`; the last bin is open.

        Households without a reading in the window are not counted.
        """


class Permit(Protocol):
    """Permission from a ledger to measure one release.

    Required of an implementation, because the ledger's guarantee rests on it: when `use` returns, a debit of `epsilon`
    that names all windows covered is on disk and within the population's cap; it returns at most once.
    """

    @property
    def epsilon(self) -> Fraction:
        """The exact amount that is debited: a kernel's whole budget."""

    def covers(self, window: Window) -> bool:
        """Whether the debit names every step of this window."""

    def use(self) -> None:
        """Write the debit down for good, or raise and leave nothing that may be answered."""


@dataclass(frozen=True)
class Record:
    """One measurement, as the label states it. All of it is public."""

    kind: Kind
    answers: int
    epsilon: float
    window: Window
    bound: Bound | None
    """`None` for household totals, which are bounded by counting each household once."""
    noise: NoiseKind = "laplace"


class Kernel:
    """Holds the source, answers measurements, and refuses those that would overspend.

    Guarantee: everything that leaves through its questions together is epsilon-differentially private for
    adding or removing one household with its whole series in all windows and its place, `epsilon` being the budget.
    Argument: a household is in one pillar and its contribution to each (window, bound) satisfies the bound,
    so the loss of a transcript is at most the sum over accounts of their knapsack values in that pillar plus the
    fixed charges (see `Account`, `ask_household_totals`, `ask_staircase_sums`). Before each measurement that sum,
    rounded up, is compared with the budget in every pillar; the decision depends on public numbers and earlier answers.
    Charging precedes answering: a measurement that fails half-way stays spent. One measurement is made at a time,
    whoever asks; a copy of a kernel, in this process or a forked one, would spend the budget again and is refused.

    With a `permit` the whole budget is debited to a ledger before the first measurement is charged, and only windows
    that the debit names are measured. Test noise has no permit: its result is not a release.

    `progress` is called when the source is read, and after each slab of a cube that is too large to be held. It depends
    on public numbers and earlier answers alone. `limits` and the cube's public shape decide on the slabs.
    """

    def __init__(
        self,
        source: Source,
        window: Window,
        *,
        budget: PureDP,
        bound: Bound,
        noise: Noise | None = None,
        permit: Permit | None = None,
        progress: Progress = silent,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self._source, self._progress, self._limits = source, progress, limits
        self._noise = noise or ExactNoise()
        self._accounts: dict[tuple[Window, Bound], Account] = {}
        self._losses: Losses = {}
        self._cubes: dict[tuple[Window, Bound], Ints] = {}
        self._fixed = 0.0
        self._records: list[Record] = []
        self._window, self._bound, self._budget = window, bound, budget
        self._one_at_a_time, self._process = RLock(), os.getpid()
        self._permit, self._debited = permit, False
        if permit is not None and not (self.private and permit.epsilon == budget.epsilon):
            msg = "a ledger's permit is for a kernel with exact noise and just the budget that it debits"
            raise UsageError(msg, code="permit-mismatch")

    def __copy__(self) -> NoReturn:
        """Refuse: two kernels would spend one budget twice."""
        msg = "a kernel cannot be copied: its budget is spent once"
        raise UsageError(msg, code="kernel-copied")

    def __reduce__(self) -> NoReturn:
        """Refuse to be pickled, and with it to be deeply copied."""
        self.__copy__()

    @property
    def private(self) -> bool:
        """Whether the noise is exact. The type itself is checked: a subclass or a look-alike does not count."""
        return type(self._noise) is ExactNoise

    @property
    def budget(self) -> PureDP:
        """The whole budget."""
        return self._budget

    @property
    def records(self) -> tuple[Record, ...]:
        """What has been measured so far."""
        return tuple(self._records)

    @property
    def spent(self) -> float:
        """The loss of the worst-off pillar, rounded up."""
        with self._one_at_a_time:
            return _largest_loss(self._losses, self._fixed)

    @property
    def remaining(self) -> float:
        """What the worst-off pillar has left, rounded down."""
        left = self._budget.epsilon - Fraction(self.spent)
        return max(0.0, math.nextafter(float(left), -math.inf))

    def session(self, bound: Bound | None = None) -> Session:
        """Return what a mechanism is handed: public facts and the questions, no way to the source.

        bound: what questions are asked under unless they name another; by default the kernel's own. It must be public
            or paid for. `epsilon` of the session is what remains when it is made.
        """

        # A function, not a bound method: that would carry the kernel, and with it the source, as an attribute.
        def ask(*question: Any, **options: Any) -> tuple[KernelQuestion, Ints]:  # noqa: ANN401  # as in `_ask`
            return self._ask(*question, **options)

        return Session(
            grid=self._source.grid,
            window=self._window,
            bound=self._bound if bound is None else bound,
            epsilon=self.remaining,
            _ask=ask,
            remaining=lambda: self.remaining,
        )

    def _ask(
        self,
        kind: Kind,
        window: Window,
        bound: Bound | None,
        epsilon: float,
        **options: Any,  # noqa: ANN401  # those of the question
    ) -> tuple[KernelQuestion, Ints]:
        """Work a question out, and answer it. Only questions of the table are taken: a proof cannot come from outside.

        bound: `None` is the kernel's own.
        """
        if type(window) is not Window or not (bound is None or type(bound) is Bound):
            msg = f"a measurement is of a Window under a Bound, not of {window!r} under {bound!r}"
            raise UsageError(msg, code="scope-invalid")
        if type(kind) is not str or kind not in QUESTIONS:
            msg = f"there is no such question; there are: {', '.join(QUESTIONS)}"
            raise UsageError(msg, code="question-unknown")
        shape = (self._source.grid.nx, self._source.grid.ny, window.steps)
        scope = Scope(window, self._bound if bound is None else bound, shape, self._limits)
        question = QUESTIONS[kind](scope, check_epsilon(epsilon), **options)
        return question, self._answer(question)

    def _answer(self, question: KernelQuestion) -> Ints:
        """Charge for a question, then answer it."""
        check_scales(question.scales)
        scope = question.scope
        with self._one_at_a_time:
            if question.weights is None:
                self._charge(scope.window, fixed=question.epsilon)
            else:
                self._charge_weights(scope.window, scope.bound, *question.weights)
            self._records.append(_make_record(question))
            exact = self._compute_exact(question)
            staircase = question.staircase
            if staircase:
                return self._noise.add_staircase(exact, staircase)
            # In place: with `labels=None` the answers are as large as the cube. Audits keep the input of noise.
            for some in iterate_slabs(exact.shape, self._limits):
                exact[some] = self._noise.add(exact[some].copy(), question.scales[some])
                if not is_held(exact.size, self._limits):
                    self._progress("draw the noise", some.stop / len(exact))
            return exact

    def _compute_exact(self, question: KernelQuestion) -> Ints:
        """Return the true answers, in an array of their own."""
        scope = question.scope
        if not isinstance(question.exact, np.ndarray):
            return question.exact(self._read_slabs(scope.window, scope.bound))
        self._progress(SUM_STAGE, 0.0)
        counts = self._source.count_totals(scope.window, scope.bound.step, question.exact)
        self._progress(SUM_STAGE, 1.0)
        return np.array(_check_shape(counts, question.exact.shape), dtype=np.int64)

    def _read_slabs(self, window: Window, bound: Bound) -> Iterator[Slab]:
        """Give out a cube in slabs, all of it in one if it is held. Which it is depends on its public shape alone."""
        shape = (self._source.grid.nx, self._source.grid.ny, window.steps)
        if is_held(math.prod(shape), self._limits):
            yield slice(0, shape[0]), self._cached_cube(window, bound, shape)
            return
        self._progress(SUM_STAGE, 0.0)
        for rows in iterate_slabs(shape, self._limits):
            slab = self._source.bounded_cube(window, bound, rows)
            yield rows, _check_shape(slab, (rows.stop - rows.start, *shape[1:]))
            self._progress(SUM_STAGE, rows.stop / shape[0])

    def _cached_cube(self, window: Window, bound: Bound, shape: tuple[int, int, int]) -> Ints:
        """Return a cube from the cache; the ones that were not asked for longest make room for a new one."""
        cube = self._cubes.pop((window, bound), None)
        while self._cubes and not is_held(
            math.prod(shape) + sum(held.size for held in self._cubes.values()), self._limits
        ):
            del self._cubes[next(iter(self._cubes))]
        if cube is None:
            self._progress(SUM_STAGE, 0.0)
            cube = _check_shape(self._source.bounded_cube(window, bound), shape)
            self._progress(SUM_STAGE, 1.0)
        self._cubes[window, bound] = cube
        return cube

    def _charge_weights(self, window: Window, bound: Bound, marks: Marks, weight: NDArray[np.float64]) -> None:
        """Add the weights of a measurement to its account, or refuse it and change nothing."""
        account = self._accounts.get((window, bound)) or Account(window, bound)
        losses = {**self._losses, (window, bound): account.loss_with(marks, weight)}
        self._check_budget(losses, self._fixed)
        self._debit(window)
        account.add(marks, weight)
        self._accounts[window, bound], self._losses = account, losses

    def _charge(self, window: Window, fixed: float) -> None:
        """Add a fixed charge, or refuse it and change nothing. Its measurement was made to cost a little less."""
        total = self._fixed + fixed / (1 + 2 * ROUNDING)
        self._check_budget(self._losses, total)
        self._debit(window)
        self._fixed = total

    def _debit(self, window: Window) -> None:
        """Have the whole budget written to the ledger, once and before anything is charged or answered."""
        if self._permit is None:
            return
        if not self._permit.covers(window):
            msg = f"the ledger's debit does not name the {window.steps} steps from {window.start}; not measured"
            raise UsageError(msg, code="window-not-debited")
        if not self._debited:
            self._permit.use()
            self._debited = True

    def _check_budget(self, losses: Losses, fixed: float) -> None:
        """Refuse what would take the worst-off pillar over the budget."""
        if os.getpid() != self._process:
            msg = "a kernel answers in the process that made it only: a fork would spend its budget again"
            raise UsageError(msg, code="kernel-forked")
        if len(self._records) >= MAX_TERMS:
            msg = f"more than {MAX_TERMS} measurements cannot be accounted for"
            raise UsageError(msg, code="account-too-long")
        after, budget = _largest_loss(losses, fixed), float(self._budget.epsilon)
        if not math.isfinite(after) or Fraction(after) > self._budget.epsilon:
            msg = (
                f"this measurement would take the worst-off pillar to epsilon {after:.6g} of {budget:g} "
                f"(spent {self.spent:.6g}, remaining {self.remaining:.6g}, over by {after - budget:.3g}); not made"
            )
            raise BudgetError(msg, code="over-budget")


def _make_record(question: KernelQuestion) -> Record:
    """Return what the label tells of a question."""
    bound = None if isinstance(question.exact, np.ndarray) else question.scope.bound
    noise: NoiseKind = "staircase" if question.staircase else "laplace"
    return Record(question.kind, question.scales.size, question.epsilon, question.scope.window, bound, noise)


def _check_shape(cube: Ints, shape: tuple[int, ...]) -> Ints:
    """Refuse what a source gave instead of the slab that was asked for: a household would count several times."""
    if cube.shape != shape:
        msg = f"a source gave values of shape {cube.shape} for a slab of {shape}, against the protocol `Source`"
        raise UsageError(msg, code="source-shape")
    return cube


def _largest_loss(losses: Losses, fixed: float) -> float:
    """Return the loss of the worst-off pillar, rounded up by more than floating-point errors can amount to."""
    total = sum(losses.values(), np.zeros((1, 1)))
    return float((total.max() + fixed) * (1 + ROUNDING))
