"""Charging comes before answering: what fails half-way stays spent, what is refused is never begun."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.codes import has_code

from gridveil.geography.grid import Grid
from gridveil.model.errors import BudgetError, UsageError
from gridveil.model.window import Window
from gridveil.simulate.sources import Nobody, SeededLaplace
from gridveil.trusted.budget import Bound, PureDP
from gridveil.trusted.kernel.kernel import Kernel
from gridveil.trusted.kernel.noise import ExactNoise
from gridveil.trusted.kernel.transforms import Haar

GRID = Grid(0, 0, 1, 1, 1, 1)
WINDOW = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 4)
BOUND = Bound(step=10, window=25)
QUESTIONS = {
    "sums": lambda k: k.session().sums(0, 0.5),
    "sequential": lambda k: k.session().sums(np.arange(4), 0.5, sequential=True),
    "staircase": lambda k: k.session().sums(0, 0.5, noise="staircase"),
    "matrix": lambda k: k.session().matrix(None, None, np.eye(4), 0.5),
    "transform": lambda k: k.session().transform(Haar(), 0.5),
    "deviations": lambda k: k.session().deviations(0, 0.5),
    "household_totals": lambda k: k.session().household_totals([0, 10], 0.5),
}


def breaks_off(*_: object) -> Any:
    raise InterruptedError


class Unreadable(Nobody):
    """A source that breaks off when it is asked."""

    bounded_cube = count_totals = breaks_off  # type: ignore[assignment]  # stand-ins that fail


class Unlucky(SeededLaplace):
    """Noise that breaks off after the source has answered."""

    add = add_staircase = breaks_off  # type: ignore[assignment]  # stand-ins that fail


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("broken", ["source", "noise"])
def test_a_measurement_that_fails_half_way_stays_spent(question: str, broken: str) -> None:
    """Else it could be tried again and again, and whatever leaks of an attempt would cost nothing."""
    source = Unreadable(GRID, WINDOW) if broken == "source" else Nobody(GRID, WINDOW)
    noise = Unlucky(0) if broken == "noise" else ExactNoise()
    asked = Kernel(source, WINDOW, budget=PureDP(1), bound=BOUND, noise=noise)
    with pytest.raises(InterruptedError):
        QUESTIONS[question](asked)
    assert asked.spent == pytest.approx(0.5, rel=1e-9)
    assert [record.epsilon for record in asked.records] == [0.5]
    with pytest.raises(BudgetError):
        asked.session().household_totals([0], 0.6)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("broken", ["source", "noise"])
def test_what_is_refused_touches_neither_source_nor_noise(question: str, broken: str) -> None:
    source = Unreadable(GRID, WINDOW) if broken == "source" else Nobody(GRID, WINDOW)
    asked = Kernel(source, WINDOW, budget=PureDP("0.4"), bound=BOUND, noise=Unlucky(0))
    with pytest.raises(BudgetError):
        QUESTIONS[question](asked)
    assert asked.spent == 0
    assert not asked.records


class Clerk:
    """A permit that remembers what it was asked, or refuses."""

    def __init__(self, *named: Window, refuses: bool = False, epsilon: str = "1") -> None:
        self.named, self.refuses, self.epsilon, self.used = named, refuses, Fraction(epsilon), 0

    def covers(self, window: Window) -> bool:
        return window in self.named

    def use(self) -> None:
        if self.refuses:
            msg = "no"
            raise BudgetError(msg, code="no")
        self.used += 1


def kernel_with(permit: Clerk, source: Any = None, noise: Any = None) -> Kernel:
    source = Nobody(GRID, WINDOW) if source is None else source
    return Kernel(source, WINDOW, budget=PureDP(1), bound=BOUND, noise=noise, permit=permit)


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_ledger_is_debited_once_and_before_the_source_is_asked(question: str) -> None:
    permit = Clerk(WINDOW)
    asked = kernel_with(permit, Unreadable(GRID, WINDOW))
    assert permit.used == 0
    for _ in range(2):
        with pytest.raises(InterruptedError):
            QUESTIONS[question](asked)
        assert permit.used == 1


@pytest.mark.parametrize("question", QUESTIONS)
def test_without_a_debit_nothing_is_asked_or_charged(question: str) -> None:
    for permit, why in ((Clerk(WINDOW, refuses=True), BudgetError), (Clerk(WINDOW.before(2)), UsageError)):
        asked = kernel_with(permit, Unreadable(GRID, WINDOW))
        with pytest.raises(why):
            QUESTIONS[question](asked)
        assert (asked.spent, asked.records, permit.used) == (0, (), 0)


def test_what_the_kernel_refuses_is_not_debited() -> None:
    permit = Clerk(WINDOW)
    with pytest.raises(BudgetError):
        kernel_with(permit).session().sums(0, 1.5)
    assert permit.used == 0


def test_a_permit_is_for_exact_noise_and_just_its_amount() -> None:
    for permit, noise in ((Clerk(WINDOW), SeededLaplace(0)), (Clerk(WINDOW, epsilon="2"), None)):
        with pytest.raises(UsageError, check=has_code("permit-mismatch")):
            kernel_with(permit, noise=noise)
