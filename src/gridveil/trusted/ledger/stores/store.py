"""What a ledger asks of the place where its entries are kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from gridveil.model.errors import GridveilError
from gridveil.trusted.ledger.chain import Chain
from gridveil.trusted.ledger.entry import Entry


class Store(Protocol):
    """Keeps chains.

    Required of an implementation, because the ledger's guarantee rests on it: `append` calls `make` while nothing else
    can append, with all that was appended before, and when it returns the entry is on disk; if `make` raises nothing
    is written.
    """

    @property
    def where(self) -> str:
        """Where it is, fit to be shown: no password."""

    def chains(self) -> dict[str, Chain]:
        """Return all chains as they are at one moment."""

    def append(self, population: str, make: Callable[[Chain], Entry]) -> Entry:
        """Add to a population's chain the entry that `make` makes of it."""

    def faults(self) -> list[str]:
        """Return what is wrong with the store itself, in plain words."""


def unknown_end(where: str, entry: Entry) -> GridveilError:
    """Return what to say if nobody knows whether an entry was kept."""
    return GridveilError(
        f"{where}: writing ended in an error, and whether the {entry.kind} {entry.hash[:12]} was kept is not known. "
        "Nothing was released. Take it as spent until `gridveil ledger show` says otherwise",
        code="ledger-unsure",
    )
