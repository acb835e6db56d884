"""What a label says of the ledger: which entry debited the release, and what its population had spent then."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from gridveil.release.format.attack_rates import (
    OF_A_WINDOW,
    AttackRate,
    AttackStatement,
    FactsModel,
    Text,
    agree,
    attack_rates,
)
from gridveil.trusted.ledger.entry import format_amount, is_amount, is_hash

DECIMAL = re.compile(r"(0|[1-9][0-9]{0,99})\.[0-9]{0,399}[1-9]")
"""As many digits as sums of amounts that an entry can hold may need."""


def _amount(text: str) -> str:
    if not (is_amount(text) or DECIMAL.fullmatch(text)) or format_amount(Fraction(text)) != text:
        msg = 'an exact amount is written "3", "0.1" or "1/3"'
        raise ValueError(msg)
    return text


def _hash(text: str) -> str:
    if not is_hash(text):
        msg = "a hash is 64 hexadecimal digits"
        raise ValueError(msg)
    return text


Amount = Annotated[str, AfterValidator(_amount)]
"""An exact rational as `format_amount` writes it, to be read by `Fraction`."""


class LedgerFacts(FactsModel):
    """The debit of a release, and where its population stood with it. Amounts are exact.

    `spent` adds up all debits, this one included. With the unit `household-window` the cap is for each window of the
    calendar, and `spent_in_window` is the sum of the most used one of those that this release read. `attack_rates` say
    what an attacker can learn from all releases so far, and, with `household-window`, about one window at its cap.
    """

    hash: Annotated[str, AfterValidator(_hash)]
    population: Text
    unit: Literal["household", "household-window"]
    window: Literal["day", "week", "month", "year"] | None = None
    timezone: Text | None = None
    cap: Amount
    spent: Amount
    spent_in_window: Amount | None = None
    attack_rates: list[AttackRate] = Field(default_factory=lambda known: _rates(known))  # noqa: PLW0108  # defined below

    def fault(self, epsilon: float) -> str | None:
        """Return what does not follow from what, of a release with this epsilon; `None` if all does."""
        by_window = self.unit == "household-window"
        if any((fact is not None) != by_window for fact in (self.window, self.timezone, self.spent_in_window)):
            return f"unit {self.unit}: window, timezone and spent_in_window belong to household-window, and only to it"
        cap, spent = Fraction(self.cap), Fraction(self.spent)
        counted = spent if self.spent_in_window is None else Fraction(self.spent_in_window)
        if counted > cap:
            return f"spent {format_amount(counted)} is more than the cap {format_amount(cap)}"
        if float(counted) < epsilon or counted > spent:
            amounts = (
                f"epsilon {epsilon}, {format_amount(counted)} of it spent under the cap, {format_amount(spent)} in all"
            )
            return f"{amounts}: each is at most the next"
        if not agree(self.attack_rates, _rates(self.model_dump())):
            return "its attack_rates do not follow from cap and spent"
        return None


def _rates(known: dict[str, Any]) -> list[AttackRate]:
    """Return what an attacker can learn at the cap about one window, and so far from all releases."""
    cap, spent = (float(Fraction(known[name])) for name in ("cap", "spent"))
    at_the_cap = attack_rates(cap, OF_A_WINDOW) if known["unit"] == "household-window" else []
    return [*at_the_cap, *attack_rates(spent)]


def attack_statements(facts: LedgerFacts, shown: float, when: str = "up to this release") -> list[AttackStatement]:
    """Return what an attacker can learn about one window at its cap, and from all releases that the ledger knows.

    shown: the epsilon of the releases that are described anyway; nothing is repeated if there are no others.
    """
    about_window = [rate for rate in facts.attack_rates if rate.question in OF_A_WINDOW]
    about_all = [rate for rate in facts.attack_rates if rate.question not in OF_A_WINDOW]
    others = float(Fraction(facts.spent)) > shown
    return [
        *([of_a_window(about_window, facts.window, facts.cap)] if about_window and facts.window else []),
        *([AttackStatement(about_all, f"all releases of population '{facts.population}' {when}")] if others else []),
    ]


def of_a_window(rates: list[AttackRate], window: str, cap: str) -> AttackStatement:
    """Return the statement about one ledger window, once its cap is spent."""
    releases = f"all releases of this population that read one {window}, at its cap of {format_amount(Fraction(cap))}"
    return AttackStatement(rates, releases, window)


def in_words(facts: LedgerFacts) -> str:
    """Return the facts as the label's sentence."""
    entry = f"entry {facts.hash[:12]} of population '{facts.population}'"
    spent, cap = format_amount(Fraction(facts.spent)), format_amount(Fraction(facts.cap))
    if facts.unit == "household":
        return f"{entry}: releases so far, this one included, epsilon {spent} of at most {cap}."
    here = format_amount(Fraction(facts.spent_in_window or facts.spent))
    return (
        f"{entry}. Cap: epsilon {cap} for the readings of a household in one {facts.window}; spent up to this release "
        f"on a {facts.window} that it reads: at most {here}. The cap does not limit the sum of all releases: epsilon "
        f"{spent} up to this one."
    )
