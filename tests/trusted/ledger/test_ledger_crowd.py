"""Several publishers at once never overspend: 500 attempts against a cap for 100."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from copy import copy
from fractions import Fraction
from multiprocessing.synchronize import Barrier

from tests.trusted.ledger.books import DAY

from gridveil.model.errors import BudgetError
from gridveil.trusted.ledger.book import create_ledger, open_ledger
from gridveil.trusted.ledger.population import Population

PUBLISHERS, ATTEMPTS, ROOM = 5, 100, 100


together: Barrier


def meet(barrier: Barrier) -> None:
    global together  # noqa: PLW0603  # what a pool hands to its processes when they start
    together = barrier


def attempt(where: str) -> int:
    """Ask for permits while there is room, then use them all: the cap must hold when they are used."""
    permit = open_ledger(where).permit("town", Fraction(1, 10), [DAY], {"title": "crowd"})
    together.wait(60)
    accepted = 0
    for debit in [copy(permit) for _ in range(ATTEMPTS)]:
        try:
            debit.use()
        except BudgetError:
            assert debit.entry is None
        else:
            accepted += 1
    return accepted


def test_exactly_as_many_debits_succeed_as_there_is_room_for(where: str) -> None:
    ledger = create_ledger(where)
    # A half more than a whole number of debits: the last one must be refused whole.
    ledger.add_population(Population("town", Fraction(ROOM, 10) + Fraction(1, 20)))
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(PUBLISHERS, spawn, meet, (spawn.Barrier(PUBLISHERS),)) as pool:
        accepted = list(pool.map(attempt, PUBLISHERS * [where]))
    assert sum(accepted) == ROOM
    assert ledger.standing("town").remaining == Fraction(1, 20)
    assert ledger.verify() == []
    assert len(ledger.entries("town")) == ROOM + 1
