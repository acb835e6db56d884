"""What a label says of the ledger: which entry debited the release, and what its population had spent then."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Literal

from pydantic import AfterValidator

from gridveil.privacy.ledger.entry import decimal, is_amount, is_hash
from gridveil.release.facts import FactsModel, Text


def _amount(text: str) -> str:
    if not is_amount(text):
        msg = 'an exact amount is written "3" or "1/10"'
        raise ValueError(msg)
    return text


def _hash(text: str) -> str:
    if not is_hash(text):
        msg = "a hash is 64 hexadecimal digits"
        raise ValueError(msg)
    return text


Amount = Annotated[str, AfterValidator(_amount)]
"""An exact rational, as `str(Fraction)` writes it."""


class LedgerFacts(FactsModel):
    """The debit of a release, and where its population stood with it. Amounts are exact.

    `spent` adds up all debits, this one included: the most that any household loses, and what membership and location
    lose. With the unit `household-window` the cap is for each window of the calendar, and `spent_in_window` is
    the sum of the most used one of those that this release read.
    """

    hash: Annotated[str, AfterValidator(_hash)]
    population: Text
    unit: Literal["household", "household-window"]
    window: Literal["day", "week", "month", "year"] | None = None
    timezone: Text | None = None
    cap: Amount
    spent: Amount
    spent_in_window: Amount | None = None

    def fault(self, epsilon: float) -> str | None:
        """Return what does not follow from what, of a release with this epsilon; `None` if all does."""
        by_window = self.unit == "household-window"
        if any((fact is not None) != by_window for fact in (self.window, self.timezone, self.spent_in_window)):
            return f"unit {self.unit}: window, timezone and spent_in_window belong to household-window, and only to it"
        cap, spent = Fraction(self.cap), Fraction(self.spent)
        counted = spent if self.spent_in_window is None else Fraction(self.spent_in_window)
        if counted > cap:
            return f"spent {counted} is more than the cap {cap}"
        if float(counted) < epsilon or counted > spent:
            return f"epsilon {epsilon}, {counted} of it spent under the cap, {spent} in all: each is at most the next"
        return None


def in_words(facts: LedgerFacts) -> str:
    """Return the facts as the label's sentence."""
    entry = f"entry {facts.hash[:12]} of population '{facts.population}'"
    spent, cap = decimal(Fraction(facts.spent)), decimal(Fraction(facts.cap))
    if facts.unit == "household":
        return f"{entry}: releases so far, this one included, epsilon {spent} of at most {cap}."
    here = decimal(Fraction(facts.spent_in_window or facts.spent))
    return (
        f"{entry}. No {facts.window} of a household's readings is read for more than epsilon {cap} (those read here: "
        f"{here} so far); who is in the data, and where, loses the sum of all releases: epsilon {spent} so far."
    )
