"""The kernel: the only way from true values to anything else. It answers with noise, and adds up what that costs."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gridveil.model.errors import BudgetError, UsageError
from gridveil.model.progress import Progress, silent
from gridveil.model.units import Ints
from gridveil.model.window import Window
from gridveil.trusted.budget import PureDP
from gridveil.trusted.kernel.account import MOST_TERMS, ROUNDING, Account, Marks
from gridveil.trusted.kernel.bound import Bound
from gridveil.trusted.kernel.checks import check_scales, checked_epsilon
from gridveil.trusted.kernel.measure import Deviations, Measure, Measurement, NoiseKind, NoisyAnswers
from gridveil.trusted.kernel.noise import ExactNoise, Noise
from gridveil.trusted.kernel.permit import Permit
from gridveil.trusted.kernel.questions.deviations import ask_deviations
from gridveil.trusted.kernel.questions.question import KernelQuestion, Kind, Scope, unit_scale
from gridveil.trusted.kernel.questions.strategies import ask_matrix, ask_transform
from gridveil.trusted.kernel.questions.strategy import Factors
from gridveil.trusted.kernel.questions.sums import ask_staircase_sums, ask_sums
from gridveil.trusted.kernel.slabs import Slab, is_held, slabs_of
from gridveil.trusted.kernel.source import Source
from gridveil.trusted.kernel.transforms import Fourier, Haar

SUMMING = "bound and sum the households"

Losses = dict[tuple[Window, Bound], NDArray[np.float64]]
"""What every pillar has lost on each window under each bound."""


@dataclass(frozen=True)
class Record:
    """One measurement, as the label tells it. All of it is public."""

    kind: Kind
    answers: int
    epsilon: float
    window: Window
    bound: Bound | None
    """`None` for household totals, which are bounded by counting each household once."""
    noise: NoiseKind = "laplace"


class Kernel:
    """Holds the source, answers measurements, and refuses those that would overspend.

    Guarantee: everything that leaves through its five questions together is epsilon-differentially private for
    adding or removing one household with its whole series in all windows and its place, `epsilon` being the budget.
    Argument: a household is in one pillar and its contribution to each (window, bound) satisfies the bound,
    so the loss of a transcript is at most the sum over accounts of their knapsack values in that pillar plus the
    fixed charges (see `Account`, `household_totals`, `ask_staircase_sums`). Before each measurement that sum, rounded
    up, is compared with the budget in every pillar; the decision depends on public numbers and earlier answers only.
    Charging precedes answering: a measurement that fails half-way stays spent. One measurement is made at a time,
    whoever asks; a copy of a kernel, in this process or a forked one, would spend the budget again and is refused.

    With a `permit` the whole budget is debited to a ledger before the first measurement is charged, and only windows
    that the debit names are measured. Test noise has no permit: what it makes is no release.

    `progress` is told when the source is asked, and how much of a cube too large to be held was gone through: all of it
    follows from public numbers and earlier answers.
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
    ) -> None:
        self._source, self._progress = source, progress
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

    def __copy__(self) -> Kernel:
        """Refuse: two kernels would spend one budget twice."""
        msg = "a kernel cannot be copied: its budget is spent once"
        raise UsageError(msg, code="kernel-copied")

    def __reduce__(self) -> str:
        """Refuse to be pickled, and with it to be deeply copied."""
        self.__copy__()
        return ""

    @property
    def private(self) -> bool:
        """Whether the noise is the real thing. Asked of its type: what else claims to be private is not believed."""
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
            return _worst(self._losses, self._fixed)

    @property
    def remaining(self) -> float:
        """What the worst-off pillar has left, rounded down."""
        left = self._budget.epsilon - Fraction(self.spent)
        return max(0.0, math.nextafter(float(left), -math.inf))

    def face(self, bound: Bound | None = None) -> Measure:
        """Return what a mechanism is handed: public facts and the measurements, no way to the source.

        bound: what questions are asked under unless they name another, carried over to other windows pro rata; by
            default the kernel's own. It must be public or paid for. `epsilon` is what remains when the face is made.
        """
        usual = self._bound if bound is None else bound

        def under(options: dict[str, Any]) -> dict[str, Any]:
            if options.get("bound") is not None:
                return options
            window = options.get("window")
            if type(window) is Window and window != self._window:
                return {**options, "bound": usual.over(self._window.steps, window.steps)}
            return {**options, "bound": usual}

        def sums(labels: ArrayLike | None, epsilon: float, **options: Any) -> Measurement:  # noqa: ANN401  # as in Sums
            return self.sums(labels, epsilon, **under(options))

        def matrix(
            x: ArrayLike | None,
            y: ArrayLike | None,
            t: ArrayLike | None,
            epsilon: float,
            **options: Any,  # noqa: ANN401  # as in Matrix
        ) -> NoisyAnswers:
            return self.matrix(x, y, t, epsilon, **under(options))

        def transform(transform: Fourier | Haar, epsilon: float, **options: Any) -> NoisyAnswers:  # noqa: ANN401  # as in Transform
            return self.transform(transform, epsilon, **under(options))

        def deviations(labels: ArrayLike, epsilon: float, **options: Any) -> Deviations:  # noqa: ANN401  # as in DeviationsOf
            return self.deviations(labels, epsilon, **under(options))

        def household_totals(edges: ArrayLike, epsilon: float, *, window: Window | None = None) -> Measurement:
            return self.household_totals(edges, epsilon, window=window)

        # Functions, not bound methods: those would carry the kernel, and with it the source, as an attribute.
        return Measure(
            grid=self._source.grid,
            window=self._window,
            bound=usual,
            epsilon=self.remaining,
            sums=sums,
            matrix=matrix,
            transform=transform,
            deviations=deviations,
            household_totals=household_totals,
            remaining=lambda: self.remaining,
        )

    def sums(
        self,
        labels: ArrayLike | None,
        epsilon: float,
        *,
        window: Window | None = None,
        bound: Bound | None = None,
        relative: ArrayLike | None = None,
        sequential: bool = False,
        noise: NoiseKind = "laplace",
    ) -> Measurement:
        """Measure the sum of the cube over each label, with noise that costs `epsilon`.

        labels: integers broadcastable to the cube (x, y, t); label `i` makes answer `i`, -1 is not measured. `None` is
            every cell and step by itself, in the order x, y, t: as if they were numbered so, without the numbers.
        window, bound: of the cube; by default the published window, and the given bound carried over to the window.
        relative: how large the noise scales are relative to each other; equal by default.
        sequential: charge every label by itself, as if a household could be at its worst in all labels at once
            (the paper's Theorem 8). Valid, and never less noise than the joint calculation.
        noise: "staircase" has less variance than "laplace" where no pillar has steps in more than one label, and much
            less at an epsilon of 10 and above; there it shows what a lonely household used almost exactly.

        Guarantee: see `ask_sums` and `ask_staircase_sums`. The joint loss of all measurements is what counts against
        the budget.
        """
        kinds = {"laplace": ask_sums, "staircase": ask_staircase_sums}
        if noise not in kinds:
            msg = f"noise {noise!r}: there are {' and '.join(kinds)}"
            raise UsageError(msg, code="noise-unknown")
        scope, epsilon = self._scope(window, bound), checked_epsilon(epsilon)
        question = kinds[noise](scope, labels, epsilon, relative=relative, sequential=sequential)
        return Measurement(self._answer(question), question.scales, question.staircase)

    def matrix(
        self,
        x: ArrayLike | None,
        y: ArrayLike | None,
        t: ArrayLike | None,
        epsilon: float,
        *,
        window: Window | None = None,
        bound: Bound | None = None,
    ) -> NoisyAnswers:
        """Measure the strategy `x (x) y (x) t` of the cube, with equal noise on all answers that costs `epsilon`.

        x, y, t: a matrix for each axis (row, place), or `None` for an identity. Their entries are rounded to multiples
        of a power of two that public numbers give; what was applied comes back with the answers.

        Guarantee: see `ask_matrix`.
        """
        question, factors = ask_matrix(self._scope(window, bound), x, y, t, checked_epsilon(epsilon))
        return self._answer_strategy(question, factors)

    def transform(
        self,
        transform: Fourier | Haar,
        epsilon: float,
        *,
        x: ArrayLike | None = None,
        y: ArrayLike | None = None,
        window: Window | None = None,
        bound: Bound | None = None,
    ) -> NoisyAnswers:
        """Measure a transform of every pillar's time series, with noise that costs `epsilon`.

        x, y: matrices across space, as in `matrix`.

        Guarantee: see `ask_transform`.
        """
        question, factors = ask_transform(self._scope(window, bound), transform, x, y, checked_epsilon(epsilon))
        return self._answer_strategy(question, factors)

    def deviations(
        self, labels: ArrayLike, epsilon: float, *, window: Window | None = None, bound: Bound | None = None
    ) -> Deviations:
        """Measure how unevenly the cube is spread in each label: `sum |value - mean of the label|`, Wh.

        Guarantee: see `ask_deviations`.
        """
        question, sizes = ask_deviations(self._scope(window, bound), labels, checked_epsilon(epsilon))
        return Deviations(self._answer(question) / sizes, question.scales / sizes)

    def household_totals(self, edges: ArrayLike, epsilon: float, *, window: Window | None = None) -> Measurement:
        """Measure how many households have a window total in each bin, with noise that costs `epsilon`.

        edges: increasing integers, Wh. Bin `i` is `[edges[i], edges[i+1])`, the last one is open; a total below the
        first edge is in none. Steps are capped at the kernel's step bound first.

        Guarantee: a household is in at most one bin, so one count moves by one: with scale `1 / epsilon` the loss is
        `epsilon`, in every pillar, whatever else is measured (a fixed charge).
        """
        window, epsilon = self._scope(window, None).window, checked_epsilon(epsilon)
        bins = np.array(edges, dtype=np.int64)  # a copy, which nobody else can change after the check
        if bins.ndim != 1 or not len(bins) or (np.diff(bins) <= 0).any():
            msg = "edges must be a list of increasing whole numbers of Wh"
            raise UsageError(msg, code="edges-invalid")
        scales = np.full(len(bins), unit_scale(1.0, epsilon))
        check_scales(scales)
        with self._one_at_a_time:
            self._charge(window, fixed=epsilon)
            self._records.append(Record("household_totals", len(bins), epsilon, window, None))
            self._progress(SUMMING, 0.0)
            true = self._source.count_totals(window, self._bound.step, bins)
            self._progress(SUMMING, 1.0)
            return Measurement(self._noise.add(true, scales), scales)

    def _answer(self, question: KernelQuestion) -> Ints:
        """Charge for a question, then answer it."""
        check_scales(question.scales)
        scope = question.scope
        with self._one_at_a_time:
            if question.weights is None:
                self._charge(scope.window, fixed=question.epsilon)
            else:
                self._charge_weights(scope.window, scope.bound, *question.weights)
            answers, staircase = int(question.scales.size), question.staircase
            noise: NoiseKind = "staircase" if staircase else "laplace"
            self._records.append(Record(question.kind, answers, question.epsilon, scope.window, scope.bound, noise))
            exact = question.exact(self._slabs(scope.window, scope.bound))
            if staircase:
                return self._noise.add_staircase(exact, staircase)
            # In place: of a large cube, the answers to `None` fill the memory. An audit's noise keeps what it is given.
            for some in slabs_of(exact.shape):
                exact[some] = self._noise.add(exact[some].copy(), question.scales[some])
                if not is_held(exact.size):
                    self._progress("draw the noise", some.stop / len(exact))
            return exact

    def _answer_strategy(self, question: KernelQuestion, factors: Factors) -> NoisyAnswers:
        """Answer a strategy, and return from its integers to Wh."""
        unit = 2.0 ** -sum(factor.bits for factor in factors if factor)
        values = self._answer(question).astype(np.float64)
        x, y, t = (factor.matrix if factor else None for factor in factors)
        return NoisyAnswers(values * unit, question.scales * unit, x, y, t)

    def _scope(self, window: Window | None, bound: Bound | None) -> Scope:
        of = self._window if window is None else window
        if type(of) is not Window or not (bound is None or type(bound) is Bound):
            msg = f"a measurement is of a Window under a Bound, not of {window!r} under {bound!r}"
            raise UsageError(msg, code="scope-invalid")
        return Scope(of, self._bound_of(window, bound), (self._source.grid.nx, self._source.grid.ny, of.steps))

    def _bound_of(self, window: Window | None, bound: Bound | None) -> Bound:
        if bound is not None:
            return bound
        if window is None or window == self._window:
            return self._bound
        return self._bound.over(self._window.steps, window.steps)

    def _slabs(self, window: Window, bound: Bound) -> Iterator[Slab]:
        """Give out a cube in slabs, all of it in one if it is held. Which it is depends on its public shape alone."""
        shape = (self._source.grid.nx, self._source.grid.ny, window.steps)
        if is_held(math.prod(shape)):
            yield slice(0, shape[0]), self._cube(window, bound, shape)
            return
        self._progress(SUMMING, 0.0)
        for rows in slabs_of(shape):
            slab = self._source.bounded_cube(window, bound, rows)
            yield rows, _checked(slab, (rows.stop - rows.start, *shape[1:]))
            self._progress(SUMMING, rows.stop / shape[0])

    def _cube(self, window: Window, bound: Bound, shape: tuple[int, int, int]) -> Ints:
        """Return a cube that is held from now on, with as many of those asked for last as there is room for."""
        cube = self._cubes.pop((window, bound), None)
        while self._cubes and not is_held(math.prod(shape) + sum(held.size for held in self._cubes.values())):
            del self._cubes[next(iter(self._cubes))]
        if cube is None:
            self._progress(SUMMING, 0.0)
            cube = _checked(self._source.bounded_cube(window, bound), shape)
            self._progress(SUMMING, 1.0)
        self._cubes[window, bound] = cube
        return cube

    def _charge_weights(self, window: Window, bound: Bound, marks: Marks, weight: NDArray[np.float64]) -> None:
        """Add the weights of a measurement to its account, or refuse it and change nothing."""
        account = self._accounts.get((window, bound)) or Account(window, bound)
        losses = {**self._losses, (window, bound): account.loss_with(marks, weight)}
        self._allow(losses, self._fixed)
        self._debit(window)
        account.add(marks, weight)
        self._accounts[window, bound], self._losses = account, losses

    def _charge(self, window: Window, fixed: float) -> None:
        """Add a fixed charge, or refuse it and change nothing. Its measurement was made to cost a little less."""
        total = self._fixed + fixed / (1 + 2 * ROUNDING)
        self._allow(self._losses, total)
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

    def _allow(self, losses: Losses, fixed: float) -> None:
        """Refuse what would take the worst-off pillar over the budget."""
        if os.getpid() != self._process:
            msg = "a kernel answers in the process that made it only: a fork would spend its budget again"
            raise UsageError(msg, code="kernel-forked")
        if len(self._records) >= MOST_TERMS:
            msg = f"more than {MOST_TERMS} measurements cannot be accounted for"
            raise UsageError(msg, code="account-too-long")
        after, budget = _worst(losses, fixed), float(self._budget.epsilon)
        if not math.isfinite(after) or Fraction(after) > self._budget.epsilon:
            msg = (
                f"this measurement would take the worst-off pillar to epsilon {after:.6g} of {budget:g} "
                f"(spent {self.spent:.6g}, remaining {self.remaining:.6g}, over by {after - budget:.3g}); not made"
            )
            raise BudgetError(msg, code="over-budget")


def _checked(cube: Ints, shape: tuple[int, int, int]) -> Ints:
    """Refuse what a source gave instead of the slab that was asked for: a household would count several times."""
    if cube.shape != shape:
        msg = f"a source gave values of shape {cube.shape} for a slab of {shape}, against the protocol `Source`"
        raise UsageError(msg, code="source-shape")
    return cube


def _worst(losses: Losses, fixed: float) -> float:
    """Return the loss of the worst-off pillar, rounded up by more than floating-point errors can amount to."""
    total = sum(losses.values(), np.zeros((1, 1)))
    return float((total.max() + fixed) * (1 + ROUNDING))
