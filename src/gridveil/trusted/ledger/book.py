"""The ledger: debits are written before anything is answered, and never exceed a population's cap."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from gridveil.model.errors import BudgetError, GridveilError, InputError, UsageError
from gridveil.model.window import Window
from gridveil.trusted.ledger.chain import LOST, Chain, Tally
from gridveil.trusted.ledger.entry import Entry, is_amount, is_hash, is_name, to_canonical
from gridveil.trusted.ledger.population import Population, Read, Standing
from gridveil.trusted.ledger.stores.postgres import PostgresStore
from gridveil.trusted.ledger.stores.sqlite import SqliteStore
from gridveil.trusted.ledger.stores.store import Store

# The place of a ledger: a file or a server. An address may hold a password, so no error repeats it.

ADDRESS = re.compile(
    r".*://|\s*postgres(ql)?(:|//)|.*password\s*=|\s*(host|hostaddr|port|dbname|user|service)\s*=",
    re.IGNORECASE | re.DOTALL,
)


def is_address(where: str) -> bool:
    """Whether this is, or was meant to be, the address of a server rather than a path.

    >>> [is_address(where) for where in ("town.ledger", "postgresql:/me@host/db", "host=db password=secret")]
    [False, True, True]
    """
    return ADDRESS.match(where) is not None


def may_hold_password(text: str) -> bool:
    """Whether a text that someone gave had better not be repeated.

    >>> may_hold_password("['postgresql://me:secret@host/db']"), may_hold_password("32 by 32")
    (True, False)
    """
    return re.search(r"://|postgres(ql)?:|password\s*=", text, re.IGNORECASE) is not None


class Ledger:
    """One or several populations, each with its own chain of entries.

    Guarantee: the debits of a population never exceed its cap (see `Population` for what that protects), whatever
    processes debit at once and whenever they stop. A debit is checked against the sum of all debits before it, in exact
    rationals, while no other can be written, and is on disk before `Debit.use` returns (see `Store`). There is no way
    to take one back: a debit whose release was never made stays spent. A damaged chain grants nothing. Whether a debit
    is refused follows from entries, reads and amounts alone, which are public. A ledger in a file is three files that
    stay together, on a local disk (see `SqliteStore`).
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def where(self) -> str:
        """Where the ledger is kept, fit to be shown: no password."""
        return self._store.where

    def populations(self) -> list[Population]:
        """Return the populations, by name."""
        return [Population.from_entry(self._check_chain(chain)[0]) for chain in self._chains()]

    def entries(self, population: str) -> list[Entry]:
        """Return a population's whole chain."""
        return self._find_entries(self._store.chains(), population)

    def standing(self, population: str) -> Standing:
        """Return where a population stands."""
        return Tally.of(self.entries(population)).standing()

    def add_population(self, population: Population) -> Entry:
        """Begin a chain. A population once begun keeps its cap and unit for good."""

        def first(chain: Chain) -> Entry:
            if chain.lines or chain.head or chain.mark:
                msg = (
                    f"{self.where}: population {population.name} is there already, and its cap and unit never change: "
                    "they were promised with every release so far. Publish with it as it is; other households are a "
                    "population with another name"
                )
                raise UsageError(msg, code="population-exists")
            return Entry.after(None, "population", population.name, population.body())

        return self._store.append(population.name, first)

    def permit(
        self, population: str | None, epsilon: Fraction, reads: Sequence[Read], spec: Mapping[str, Any]
    ) -> Debit:
        """Return the permission to spend `epsilon` on these reads, or refuse at once what the cap has no room for.

        population: by name; may be `None` if there is just one.
        spec: public settings of the release, for everyone to see: no path, name, digest or count of an input.

        Nothing is written yet: that is done, and the cap checked again, by `Debit.use`.
        """
        if not (isinstance(epsilon, Fraction) and is_amount(str(epsilon))):
            msg = f"epsilon {epsilon}: a ledger takes exact amounts above zero of at most 100 digits, such as 1 or 0.5"
            raise BudgetError(msg, code="debit-amount")
        if not reads:
            msg = "a debit names what is read: give at least the published window"
            raise UsageError(msg, code="debit-without-read")
        try:
            public = json.loads(to_canonical(dict(spec)))
        except (TypeError, ValueError, RecursionError) as error:
            msg = "the public settings of a debit are texts, finite numbers, and lists and tables of these"
            raise UsageError(msg, code="debit-settings") from error
        chains = self._store.chains()
        name = self._only_population(chains) if population is None else population
        debit = Debit(self._store, name, epsilon, tuple(reads), public)
        debit.check(self._find_entries(chains, name))
        return debit

    def record_release(self, debit_hash: str, files: Mapping[str, str]) -> Entry:
        """Write down the files of a finished release, by name and SHA-256, under its debit."""
        if not files or not all(map(is_name, files)) or not all(map(is_hash, files.values())):
            msg = "a release is recorded as the SHA-256 of each of its files"
            raise UsageError(msg, code="release-digests")
        name = self._find_debit(debit_hash).population

        def release(chain: Chain) -> Entry:
            entries = self._check_chain(chain)
            if any(entry.kind == "release" and entry.body["debit"] == debit_hash for entry in entries):
                msg = f"{self.where}: the debit {debit_hash[:12]} has its release already; each is for one"
                raise UsageError(msg, code="debit-released")
            return Entry.after(entries[-1], "release", name, {"debit": debit_hash, "files": dict(files)})

        return self._store.append(name, release)

    def list_unreleased(self, population: str | None, reads: Sequence[Read]) -> list[Entry]:
        """Return the debits for just these reads that have no release, in order; population: as for `permit`."""
        chains = self._store.chains()
        entries = self._find_entries(chains, self._only_population(chains) if population is None else population)
        released = {entry.body["debit"] for entry in entries if entry.kind == "release"}
        wanted = [read.body() for read in reads]
        debits = [entry for entry in entries if entry.kind == "debit" and entry.hash not in released]
        return [entry for entry in debits if entry.body["reads"] == wanted]

    def verify(self) -> list[str]:
        """Return everything that is wrong, in plain words; nothing if the ledger is sound (see `Chain.faults`)."""
        faults = self._store.faults()
        try:
            chains = self._chains()
        except GridveilError as error:
            return [*faults, str(error)]
        return [*faults, *(fault for chain in chains for fault in chain.faults())]

    def check_against(self, earlier: Sequence[Entry]) -> list[str]:
        """Return where the ledger does not continue what was exported earlier, in plain words.

        This notices what `verify` cannot: an old copy put back, or a chain cut or written anew together with its head.
        """
        chains = self._store.chains()
        texts = {(name, line.number): line.text for name, chain in chains.items() for line in chain.lines}
        faults = []
        for entry in earlier:
            at = f"population {entry.population}, entry {entry.number}"
            kept = texts.get((entry.population, entry.number))
            if kept is None:
                faults.append(f"{at}: it was exported earlier and is gone; was an old copy of the ledger put back?")
            elif kept != entry.text:
                faults.append(f"{at}: it is another one than was exported earlier")
        return faults

    def new_head(self, earlier: Sequence[Entry]) -> None:
        """Replace a lost `.head` of a file's ledger (see `Mark`), if there is no other fault.

        earlier: the newest export there is. What was debited after it and is gone is not noticed any more.
        """
        if not isinstance(self._store, SqliteStore):
            msg = f"{self.where}: a .head belongs to a ledger in a file; this one has none"
            raise UsageError(msg, code="head-without-file")
        chains = [replace(chain, mark=None if chain.mark == LOST else chain.mark) for chain in self._chains()]
        faults = [*self._store.faults(), *(fault for chain in chains for fault in chain.faults())]
        faults += self.check_against(earlier)
        if faults:
            msg = f"{self.where}: no new .head is made for a ledger with faults: {'; '.join(faults)}"
            raise InputError(msg, code="head-faulty-ledger")
        self._store.new_mark()

    def _chains(self) -> list[Chain]:
        chains = self._store.chains()
        return [chains[name] for name in sorted(chains)]

    def _find_debit(self, debit_hash: str) -> Entry:
        for chain in self._store.chains().values():
            for entry in self._check_chain(chain):
                if entry.kind == "debit" and entry.hash == debit_hash:
                    return entry
        msg = f"{self.where}: no debit has the hash {debit_hash[:64]}"
        raise InputError(msg, code="debit-unknown")

    def _only_population(self, chains: Mapping[str, Chain]) -> str:
        if len(chains) == 1:
            return next(iter(chains))
        for name in sorted(chains):
            self._check_chain(
                chains[name]
            )  # who has one population, and damage that looks like another, is told of that
        raise self._make_population_error(chains, "say which population the households are of")

    def _find_entries(self, chains: Mapping[str, Chain], population: str) -> list[Entry]:
        if population not in chains:
            raise self._make_population_error(chains, f"no population {population}")
        return self._check_chain(chains[population])

    def _make_population_error(self, chains: Mapping[str, Chain], why: str) -> UsageError:
        there = ", ".join(sorted(chains)) or "none yet; add one with `gridveil ledger init`"
        return UsageError(f"{self.where}: {why}; there are: {there}", code="population-unknown")

    def _check_chain(self, chain: Chain) -> list[Entry]:
        return check_chain(self.where, chain)


class Debit:
    """A ledger's permit for one release: at first an intention, by `use` an entry.

    Guarantee: as `Permit` demands. `covers` wants all of a window inside one read, so that nothing is measured across a
    border of ledger windows, even where two reads meet.
    """

    def __init__(
        self, store: Store, population: str, epsilon: Fraction, reads: tuple[Read, ...], spec: Mapping[str, Any]
    ) -> None:
        self._store, self._population, self._epsilon, self._reads = store, population, epsilon, reads
        self._body = {"epsilon": str(epsilon), "reads": [read.body() for read in reads], "spec": spec}
        self._used = False
        self.entry: Entry | None = None
        """The debit as written, once it is."""
        self.standing: Standing | None = None
        """Where it left the population, in the ledger windows that it touches."""

    @property
    def epsilon(self) -> Fraction:
        """The exact amount that is debited."""
        return self._epsilon

    @property
    def population(self) -> str:
        """The name of the population that is debited."""
        return self._population

    def covers(self, window: Window) -> bool:
        """Whether one of the reads holds every step of this window."""
        return any(read.holds(window) for read in self._reads)

    def check(self, entries: Sequence[Entry]) -> Tally:
        """Refuse what the chain has no room for, and return its sums."""
        tally = Tally.of(entries)
        tally.population.refuse_crossing(self._reads)
        tally.check(self._reads, self._epsilon)
        return tally

    def use(self) -> None:
        """Write the debit down for good, or raise. Once: what failed is not tried again, it may be on disk."""
        if self._used:
            msg = "a debit is for one release, and this one was used; ask the ledger for another"
            raise UsageError(msg, code="debit-used")
        self._used = True
        standings: list[Standing] = []

        def debit(chain: Chain) -> Entry:
            entries = check_chain(self._store.where, chain)
            tally = self.check(entries)
            entry = Entry.after(entries[-1], "debit", self._population, self._body)
            standings.append(tally.add(entry))
            return entry

        self.entry = self._store.append(self._population, debit)
        self.standing = standings[-1]


def check_chain(where: str, chain: Chain) -> list[Entry]:
    """Return the entries of a chain, or refuse one with faults."""
    faults = chain.faults()
    if faults:
        msg = (
            f"{where}: the ledger is damaged, and nothing is debited to it ({faults[0]}). "
            "`gridveil ledger verify` tells all that is wrong; go back to a sound copy with all later debits"
        )
        raise InputError(msg, code="ledger-damaged")
    return chain.entries


def open_ledger(where: str) -> Ledger:
    """Return the ledger in an SQLite file, or at a postgresql:// URL. It must be there."""
    return Ledger(_open_store(where, make=False))


def create_ledger(where: str) -> Ledger:
    """Return the ledger there, made if it was missing."""
    return Ledger(_open_store(where, make=True))


def _open_store(where: str, *, make: bool) -> Store:
    if not is_address(str(where)):
        return SqliteStore(Path(where), make=make)
    if not str(where).startswith(("postgresql://", "postgres://")):
        msg = "a ledger is a file, or a PostgreSQL database given as postgresql://USER@HOST/DATABASE"
        raise UsageError(msg, code="ledger-address")  # what was given may hold a password
    return PostgresStore(where, make=make)
