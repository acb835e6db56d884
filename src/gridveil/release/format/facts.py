"""Building blocks of labels and catalogues: texts, grid, window, an attacker's rates and the ledger's entry."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt

from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.trusted.budget import NEIGHBOUR_STEPS, Question, attacker_rate
from gridveil.trusted.ledger.entry import format_amount, is_amount, is_hash

UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028-\u202e\u2066-\u2069\ufffe\uffff]")
"""Control characters, halves of characters, line separators, and what turns the direction of writing around."""


def _blank_unseen(text: str) -> str:
    """Return a text with blanks for characters that are not seen: it is shown in terminals, pages and HTTP headers."""
    return UNSEEN.sub(" ", text)


def to_plain(value: Any) -> Any:  # noqa: ANN401 - a mechanism may hand over numbers, texts, lists and mappings of them
    """Return what can be written as JSON: plain Python for numpy's, texts for numbers not finite."""
    if isinstance(value, Mapping):
        return {_blank_unseen(str(key)): to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return to_plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return _blank_unseen(value) if isinstance(value, str) else value


Text = Annotated[str, AfterValidator(_blank_unseen)]
Facts = Annotated[dict[str, Any], AfterValidator(to_plain)]


class FactsModel(BaseModel):
    """A group of facts: nothing in it that is not known, and nothing that changes."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class GridFacts(FactsModel):
    """A `Grid` in the label."""

    x0: float
    y0: float
    x1: float
    y1: float
    nx: PositiveInt
    ny: PositiveInt
    crs: Text

    @classmethod
    def of(cls, grid: Grid) -> GridFacts:
        """Return the facts of a grid."""
        return cls(x0=grid.x0, y0=grid.y0, x1=grid.x1, y1=grid.y1, nx=grid.nx, ny=grid.ny, crs=grid.crs)

    def grid(self) -> Grid:
        """Return the grid they describe."""
        return Grid(self.x0, self.y0, self.x1, self.y1, nx=self.nx, ny=self.ny, crs=self.crs)


class WindowFacts(FactsModel):
    """A `Window` in the label."""

    start: datetime
    step_seconds: PositiveInt
    steps: PositiveInt

    @classmethod
    def of(cls, window: Window) -> WindowFacts:
        """Return the facts of a window."""
        seconds = window.step // timedelta(seconds=1)
        return cls(start=window.start.astimezone(UTC), step_seconds=seconds, steps=window.steps)

    def window(self) -> Window:
        """Return the window they describe."""
        return Window(self.start, timedelta(seconds=self.step_seconds), self.steps)


HOUSEHOLD_QUESTIONS: tuple[Question, ...] = ("membership", "behaviour", "place")
WINDOW_QUESTIONS: tuple[Question, ...] = ("window_membership", "window_behaviour")
RATE_ROUNDING = 1e-6


class AttackRate(FactsModel):
    """Two worlds that differ in one household, and how well the best attacker distinguishes them.

    `loss` bounds the log-ratio of any outcome's probabilities in the two worlds. `true_positive_rate` is at the
    false-positive rate that the label states.
    """

    question: Question
    loss: PositiveFloat
    true_positive_rate: float


def attack_rates(epsilon: float, questions: Sequence[Question] = HOUSEHOLD_QUESTIONS) -> list[AttackRate]:
    """Return what follows for each question from the epsilon of adding or removing one household.

    >>> [(rate.question, rate.loss) for rate in attack_rates(1.5)]
    [('membership', 1.5), ('behaviour', 3.0), ('place', 3.0)]
    """
    losses = {question: NEIGHBOUR_STEPS[question] * epsilon for question in questions}
    return [
        AttackRate(question=question, loss=loss, true_positive_rate=attacker_rate(loss))
        for question, loss in losses.items()
    ]


def rates_agree(stated: Sequence[AttackRate], right: Sequence[AttackRate]) -> bool:
    """Whether stated rates are the right ones, in this order."""
    return len(stated) == len(right) and all(
        one.question == other.question
        and math.isclose(one.loss, other.loss, rel_tol=RATE_ROUNDING)
        and math.isclose(one.true_positive_rate, other.true_positive_rate, rel_tol=RATE_ROUNDING)
        for one, other in zip(stated, right, strict=True)
    )


DECIMAL = re.compile(r"(0|[1-9][0-9]{0,99})\.[0-9]{0,399}[1-9]")
"""As many digits as sums of amounts that an entry can hold may need."""


def _check_amount(text: str) -> str:
    if not (is_amount(text) or DECIMAL.fullmatch(text)) or format_amount(Fraction(text)) != text:
        msg = 'an exact amount is written "3", "0.1" or "1/3"'
        raise ValueError(msg)
    return text


def _check_hash(text: str) -> str:
    if not is_hash(text):
        msg = "a hash is 64 hexadecimal digits"
        raise ValueError(msg)
    return text


Amount = Annotated[str, AfterValidator(_check_amount)]
"""An exact rational as `format_amount` writes it, to be read by `Fraction`."""


class LedgerFacts(FactsModel):
    """The debit of a release, and where its population stood with it. Amounts are exact.

    `spent` adds up all debits, this one included. With the unit `household-window` the cap is for each window of the
    calendar, and `spent_in_window` is the sum of the most used one of those that this release read. `attack_rates` say
    what an attacker can learn from all releases so far, and, with `household-window`, about one window at its cap.
    """

    hash: Annotated[str, AfterValidator(_check_hash)]
    population: Text
    unit: Literal["household", "household-window"]
    window: Literal["day", "week", "month", "year"] | None = None
    timezone: Text | None = None
    cap: Amount
    spent: Amount
    spent_in_window: Amount | None = None
    attack_rates: list[AttackRate] = Field(default_factory=lambda known: _ledger_rates(known))  # noqa: PLW0108  # defined below

    def find_fault(self, epsilon: float) -> str | None:
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
        if not rates_agree(self.attack_rates, _ledger_rates(self.model_dump())):
            return "its attack_rates do not follow from cap and spent"
        return None


def _ledger_rates(known: dict[str, Any]) -> list[AttackRate]:
    """Return what an attacker can learn at the cap about one window, and so far from all releases."""
    cap, spent = (float(Fraction(known[name])) for name in ("cap", "spent"))
    at_the_cap = attack_rates(cap, WINDOW_QUESTIONS) if known["unit"] == "household-window" else []
    return [*at_the_cap, *attack_rates(spent)]
