"""The sums of a population's debits, and whether one more fits under the cap."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from gridveil.model.errors import BudgetError
from gridveil.trusted.ledger.entry import Entry, format_amount
from gridveil.trusted.ledger.population import LedgerWindow, Population, Read, Standing

MAX_NAMED = 10
"""So many releases are named in a refusal."""


class Tally:
    """The debits of one population, added up exactly."""

    def __init__(self, population: Population, entries: Iterable[Entry] = ()) -> None:
        self.population = population
        self.spent = Fraction(0)
        self.windows: dict[LedgerWindow, Fraction] = {}
        self._debits: list[tuple[Entry, frozenset[LedgerWindow]]] = []
        for entry in entries:
            if entry.kind == "debit":
                self.add(entry)

    @classmethod
    def of(cls, entries: Sequence[Entry]) -> Tally:
        """Return the sums of a whole chain."""
        return cls(Population.from_entry(entries[0]), entries[1:])

    def add(self, debit: Entry) -> Standing:
        """Add a debit, and return where it leaves the population in the windows that it touches."""
        epsilon = Fraction(debit.body["epsilon"])
        charges = self.population.charges(map(Read.from_body, debit.body["reads"]), epsilon)
        self.spent += epsilon
        for window, charge in charges.items():
            self.windows[window] = self.windows.get(window, Fraction(0)) + charge
        self._debits.append((debit, frozenset(charges)))
        return self._standing(charges)

    def standing(self) -> Standing:
        """Return where the population stands."""
        return self._standing(self.windows)

    def check(self, reads: Sequence[Read], epsilon: Fraction) -> None:
        """Refuse a debit that would take the population over its cap, and name the releases that spent it."""
        charges = self.population.charges(reads, epsilon)
        if not charges:
            self._compare(epsilon, self.spent, None)
        for window, charge in sorted(charges.items()):
            self._compare(charge, self.windows.get(window, Fraction(0)), window)

    def _compare(self, requested: Fraction, spent: Fraction, window: LedgerWindow | None) -> None:
        remaining = self.population.cap - spent
        if requested <= remaining:
            return
        where = f", ledger window {window.name}" if window else ""
        msg = (
            f"population {self.population.name}{where}: requested epsilon {format_amount(requested)}, remaining "
            f"{format_amount(remaining)} of {format_amount(self.population.cap)}, over by "
            f"{format_amount(requested - remaining)}; nothing was debited. {self._spenders(window)}"
        )
        raise BudgetError(msg, code="over-cap")

    def _spenders(self, window: LedgerWindow | None) -> str:
        debits = [entry for entry, touched in self._debits if window is None or window in touched]
        if not debits:
            return "Nothing was spent before: ask for less."
        named = [
            f"{str(debit.body['spec'].get('title', 'untitled'))[:80]!r} ({debit.at}, epsilon "
            f"{format_amount(Fraction(debit.body['epsilon']))})"
            for debit in debits[-MAX_NAMED:]
        ]
        earlier = f", and {len(debits) - MAX_NAMED} earlier" if len(debits) > MAX_NAMED else ""
        return f"Spent by {', '.join(named)}{earlier}."

    def _standing(self, among: Iterable[LedgerWindow]) -> Standing:
        windows = {window.name: self.windows[window] for window in sorted(among)}
        household = self.population.unit == "household"
        worst = self.spent if household else max(windows.values(), default=Fraction(0))
        return Standing(self.population.unit, self.population.cap, self.spent, worst, windows)
