"""A population's chain of entries: what can be wrong with it, its sums, and whether one more debit fits."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from gridveil.model.errors import BudgetError, GridveilError, InputError
from gridveil.trusted.ledger.entry import NO_HASH, Entry, format_amount
from gridveil.trusted.ledger.population import LedgerWindow, Population, Read, Standing

# The sums of a population's debits, and whether one more fits under the cap.

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


# A population's chain of entries as a store keeps it, and everything that can be wrong with it.

Head = tuple[int, str]
"""Number and hash of a chain's last entry."""

LOST: Head = (-1, "")
"""Instead of a mark that should be there and is not."""

NO_MARK = (
    "the .head file beside the ledger is missing or damaged, so that nobody can tell whether this is an old state. "
    "A ledger, its .head and its -journal are one: put them together again, under one name. If the .head is lost for "
    "good, `gridveil ledger verify LEDGER --against NEWEST-EXPORT --new-head` makes one, if nothing is missing"
)


@dataclass(frozen=True)
class ChainLine:
    """One entry as a store keeps it, not yet believed."""

    number: int
    hash: str
    text: str


@dataclass(frozen=True)
class Chain:
    """What a store keeps of one population, at one moment."""

    population: str
    lines: Sequence[ChainLine]
    head: Head | None
    """The last entry, kept apart: a chain that was cut at its end does not fit it."""
    mark: Head | None = None
    """An entry that was written, as kept outside of the store if it needs that: an old state does not have it."""

    def faults(self) -> list[str]:
        """Return what is wrong, in plain words; nothing if the chain is sound.

        Guarantee: if there are no faults then the chain begins with a population, every entry is as it was hashed and
        follows the one before, releases refer to debits, and after each debit the population was within its cap.
        Who can write to the store can also write a sound chain that was never made, or put back an older one: that
        shows in comparison with an earlier export only (`Ledger.check_against`).
        """
        if not self.lines:
            return [f"population {self.population}: all its entries are gone; the ledger's list of heads still has it"]
        return (
            list(self._find_broken_links())
            or list(self._find_rollback())
            or list(_find_disorder(self.entries))
            or list(_find_overspending(self.entries))
        )

    @property
    def entries(self) -> list[Entry]:
        """The entries, if all of them are some; whether they make a sound chain is for `faults` to say."""
        return [entry for entry in self._read if isinstance(entry, Entry)]

    @cached_property
    def _read(self) -> list[Entry | InputError]:
        """What each line is: an entry, or why not."""
        return [_parse_entry(line.text) for line in self.lines]

    def _find_broken_links(self) -> Iterator[str]:
        """Report faults of texts, hashes, numbers and links."""
        previous = NO_HASH
        for number, (line, entry) in enumerate(zip(self.lines, self._read, strict=True)):
            at = f"population {self.population}, entry {line.number}"
            if line.number != number:
                yield f"{at}: entry {number} is expected here; entries are missing, repeated or out of order"
                return
            if hashlib.sha256(line.text.encode(errors="replace")).hexdigest() != line.hash:
                yield f"{at}: its text was changed, or its hash: they do not belong together"
            if isinstance(entry, InputError):
                yield f"{at}: {entry}"
            elif (entry.population, entry.number) != (self.population, number):
                yield f"{at}: it was written as entry {entry.number} of population {entry.population}"
            elif entry.previous != previous:
                yield f"{at}: it does not follow the entry before, which was changed or exchanged"
            previous = line.hash
        if self.head != (len(self.lines) - 1, previous):
            told = "no last entry" if self.head is None else f"entry {self.head[0]} as the last"
            yield (
                f"population {self.population}, entry {len(self.lines) - 1}: it ends the chain, but the list of heads "
                f"has {told}, or another one of this number; entries were cut off, or added past the ledger"
            )

    def _find_rollback(self) -> Iterator[str]:
        """Report a rollback to an earlier state."""
        if self.mark is None:
            return
        if self.mark == LOST:
            yield f"population {self.population}: {NO_MARK}"
            return
        number, digest = self.mark
        if number >= len(self.lines):
            yield (
                f"population {self.population}, entry {len(self.lines) - 1}: it ends the chain, but entries up to "
                f"{number} were written: an old state of the ledger came back, which has forgotten debits"
            )
        elif self.lines[number].hash != digest:
            yield f"population {self.population}, entry {number}: another one was written: this is not that ledger"


def _parse_entry(text: str) -> Entry | InputError:
    try:
        return Entry.from_text(text)
    except InputError as error:
        return error


def _find_disorder(entries: Sequence[Entry]) -> Iterator[str]:
    """Report entries of a kind that is out of place."""
    first, name = entries[0], entries[0].population
    if first.kind != "population":
        yield f"population {name}, entry 0: a chain begins with its population, not with a {first.kind}"
        return
    try:
        Population.from_entry(first)
    except GridveilError as error:
        yield f"population {name}, entry 0: {error}"
    open_debits: set[str] = set()
    for entry in entries[1:]:
        if entry.kind == "population":
            yield f"population {name}, entry {entry.number}: a chain has one population, its first entry"
        elif entry.kind == "debit":
            open_debits.add(entry.hash)
        elif entry.body["debit"] in open_debits:
            open_debits.remove(entry.body["debit"])
        else:
            yield (
                f"population {name}, entry {entry.number}: the release refers to no debit before it, or to one that "
                "has its release"
            )


def _find_overspending(entries: Sequence[Entry]) -> Iterator[str]:
    """Report debits that took the population over its cap."""
    tally = Tally(Population.from_entry(entries[0]))
    for entry in entries:
        if entry.kind == "debit":
            standing = tally.add(entry)
            if standing.worst > standing.cap:
                yield (
                    f"population {entry.population}, entry {entry.number}: this debit takes it to epsilon "
                    f"{format_amount(standing.worst)}, over the cap of {format_amount(standing.cap)}"
                )
