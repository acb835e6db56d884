"""A population's chain of entries as a store keeps it, and everything that can be wrong with it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from gridveil.model.errors import GridveilError, InputError
from gridveil.trusted.ledger.entry import NO_HASH, Entry, format_amount
from gridveil.trusted.ledger.population import Population
from gridveil.trusted.ledger.tally import Tally

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
        """Tell of texts, hashes, numbers and links."""
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
        """Tell of an old state that came back."""
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
    """Tell of kinds that are out of place."""
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
    """Tell of debits that took the population over its cap."""
    tally = Tally(Population.from_entry(entries[0]))
    for entry in entries:
        if entry.kind == "debit":
            standing = tally.add(entry)
            if standing.worst > standing.cap:
                yield (
                    f"population {entry.population}, entry {entry.number}: this debit takes it to epsilon "
                    f"{format_amount(standing.worst)}, over the cap of {format_amount(standing.cap)}"
                )
