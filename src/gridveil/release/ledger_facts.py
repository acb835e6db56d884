"""What a label says of the ledger: which entry debited the release, and what its population had spent then."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import AfterValidator

from gridveil.privacy.budget import attacker_rate
from gridveil.privacy.ledger.entry import decimal, is_amount, is_hash
from gridveil.release.facts import FactsModel, Text
from gridveil.release.wording import percent

DECIMAL = re.compile(r"(0|[1-9][0-9]{0,99})\.[0-9]{0,399}[1-9]")
"""As many digits as sums of amounts that an entry can hold may need."""


def _amount(text: str) -> str:
    if not is_amount(text) and not DECIMAL.fullmatch(text):
        msg = 'an exact amount is written "3", "0.1" or "1/3"'
        raise ValueError(msg)
    return text


def _hash(text: str) -> str:
    if not is_hash(text):
        msg = "a hash is 64 hexadecimal digits"
        raise ValueError(msg)
    return text


Amount = Annotated[str, AfterValidator(_amount)]
"""An exact rational, to be read by `Fraction`: as `decimal` writes it, or a fraction, as earlier releases have it."""


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
            return f"spent {decimal(counted)} is more than the cap {decimal(cap)}"
        if float(counted) < epsilon or counted > spent:
            amounts = f"epsilon {epsilon}, {decimal(counted)} of it spent under the cap, {decimal(spent)} in all"
            return f"{amounts}: each is at most the next"
        return None


def in_words(facts: LedgerFacts) -> str:
    """Return the facts as the label's sentence."""
    entry = f"entry {facts.hash[:12]} of population '{facts.population}'"
    spent, cap = decimal(Fraction(facts.spent)), decimal(Fraction(facts.cap))
    if facts.unit == "household":
        return f"{entry}: releases so far, this one included, epsilon {spent} of at most {cap}."
    here = decimal(Fraction(facts.spent_in_window or facts.spent))
    return (
        f"{entry}. All releases together spend at most epsilon {cap} on what a household did in one {facts.window}; on "
        f"a {facts.window} that this release reads, they have spent at most {here} so far. "
        f"{loses_the_sum(Fraction(facts.spent))}"
    )


def loses_the_sum(spent: Fraction, when: str = "so far") -> str:
    """Return what a cap for each window of the calendar does not limit, and what that gives an attacker.

    >>> loses_the_sum(Fraction(5, 2)).partition("epsilon ")[2][:14]
    '2.5 so far (an'
    """
    return (
        f"Who is in the data, and where, loses the sum of all releases: epsilon {decimal(spent)} {when} (an attacker "
        "who falsely accuses at most 1 in 100 then recognises a household with a chance of at most "
        f"{percent(attacker_rate(float(spent)))} %)."
    )
