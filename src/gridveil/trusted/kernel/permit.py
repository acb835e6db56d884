"""What the kernel asks of a ledger: one permit for one release, written down before anything is answered."""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol

from gridveil.model.window import Window


class Permit(Protocol):
    """A ledger's leave to measure one release.

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
