"""What an attacker achieves at most, as figures of a label."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, PositiveFloat

from gridveil.release.format.wording import exact, percent
from gridveil.trusted.budget import FALSE_POSITIVES, NEIGHBOUR_STEPS, PLAIN_WORDS_FROM, Question, attacker_rate

# What the parts of a label are made of: strict models, and texts without characters that are not seen.

# Control characters, halves of characters, line separators, and what turns the direction of writing around.
UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028-\u202e\u2066-\u2069\ufffe\uffff]")


def _seen(text: str) -> str:
    """Return a text with blanks for characters that are not seen: it is shown in terminals, pages and HTTP headers."""
    return UNSEEN.sub(" ", text)


def plain(value: Any) -> Any:  # noqa: ANN401 - a mechanism may hand over numbers, texts, lists and mappings of them
    """Return what can be written as JSON: plain Python for numpy's, texts for numbers not finite."""
    if isinstance(value, Mapping):
        return {_seen(str(key)): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return _seen(value) if isinstance(value, str) else value


Text = Annotated[str, AfterValidator(_seen)]
Facts = Annotated[dict[str, Any], AfterValidator(plain)]


class FactsModel(BaseModel):
    """A group of facts: nothing in it that is not known, and nothing that changes."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


# What an attacker can learn about one household: pairs of worlds, and how well they can be told apart.

OF_A_HOUSEHOLD: tuple[Question, ...] = ("membership", "behaviour", "place")
OF_A_WINDOW: tuple[Question, ...] = ("window_membership", "window_behaviour")

WORLDS = {
    "membership": "In the data, or not",
    "behaviour": "One of two behaviours (series of readings), at a known place",
    "place": "One of two places, with known readings",
    "window_membership": "Readings in this {window}, or none",
    "window_behaviour": "One of two behaviours in this {window}, with all else known",
}
"""The two worlds that each question compares."""

WEAK = f"From a loss of {PLAIN_WORDS_FROM} on, the guarantee alone hardly limits an attacker."

ROUNDING = 1e-6


class AttackRate(FactsModel):
    """Two worlds that differ in one household, and how well the best attacker tells them apart.

    `loss` bounds the log-ratio of any outcome's probabilities in the two worlds. `true_positive_rate` is at the
    false-positive rate that the label states.
    """

    question: Question
    loss: PositiveFloat
    true_positive_rate: float


class AttackStatement(NamedTuple):
    """The attacker's rates for some releases. `window`: the kind of ledger window that they are about, if any."""

    rates: Sequence[AttackRate]
    releases: str
    window: str | None = None

    def sentences(self) -> list[str]:
        """Return a sentence that introduces the rates, and one for each of them.

        >>> AttackStatement(attack_rates(1, ("membership",)), "this release").sentences()[1:]
        ['In the data, or not: at most 2.72 % (loss 1).']
        """
        lead = (
            f"What an attacker who knows everything else can tell about a household from {self.releases}. Rate of true "
            f"positives at {percent(FALSE_POSITIVES)} % false positives (guessing: {percent(FALSE_POSITIVES)} %):"
        )
        return [
            lead,
            *(
                f"{self.worlds(rate)}: at most {percent(rate.true_positive_rate)} % (loss {exact(rate.loss)})."
                for rate in self.rates
            ),
        ]

    def worlds(self, rate: AttackRate) -> str:
        """Return the two worlds that are compared."""
        return WORLDS[rate.question].format(window=self.window)


def attack_rates(epsilon: float, questions: Sequence[Question] = OF_A_HOUSEHOLD) -> list[AttackRate]:
    """Return what follows for each question from the epsilon of adding or removing one household.

    >>> [(rate.question, rate.loss) for rate in attack_rates(1.5)]
    [('membership', 1.5), ('behaviour', 3.0), ('place', 3.0)]
    """
    losses = {question: NEIGHBOUR_STEPS[question] * epsilon for question in questions}
    return [
        AttackRate(question=question, loss=loss, true_positive_rate=attacker_rate(loss))
        for question, loss in losses.items()
    ]


def in_words(statements: Iterable[AttackStatement]) -> list[str]:
    """Return statements as sentences, with a warning at the end if a loss is so high that it limits hardly anything."""
    every = list(statements)
    return [*(sentence for statement in every for sentence in statement.sentences()), *weakness(every)]


def weakness(statements: Iterable[AttackStatement]) -> list[str]:
    """Return the warning that a high loss needs, or nothing."""
    weak = any(rate.loss >= PLAIN_WORDS_FROM for statement in statements for rate in statement.rates)
    return [WEAK] if weak else []


def summary(epsilon: float) -> str:
    """Return the rates for one household in one sentence, for where there is no room for a list.

    >>> print(summary(1))
    At 1 % false positives, an attacker who knows everything else has at most 2.72 % true positives for in the data or \
not, and 7.39 % for one of two behaviours or one of two places.
    """
    rates = {rate.question: rate.true_positive_rate for rate in attack_rates(epsilon)}
    return (
        f"At {percent(FALSE_POSITIVES)} % false positives, an attacker who knows everything else has at most "
        f"{percent(rates['membership'])} % true positives for in the data or not, and "
        f"{percent(max(rates['behaviour'], rates['place']))} % for one of two behaviours or one of two places."
    )


def agree(stated: Sequence[AttackRate], right: Sequence[AttackRate]) -> bool:
    """Whether stated rates are the right ones, in this order."""
    return len(stated) == len(right) and all(
        one.question == other.question
        and math.isclose(one.loss, other.loss, rel_tol=ROUNDING)
        and math.isclose(one.true_positive_rate, other.true_positive_rate, rel_tol=ROUNDING)
        for one, other in zip(stated, right, strict=True)
    )
