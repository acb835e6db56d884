"""What an attacker can learn about one household: pairs of worlds, and how well they can be told apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from pydantic import PositiveFloat

from gridveil.privacy.budget import FALSE_POSITIVES, NEIGHBOUR_STEPS, PLAIN_WORDS_FROM, Question, attacker_rate
from gridveil.release.facts import FactsModel
from gridveil.release.wording import exact, percent

OF_A_HOUSEHOLD: tuple[Question, ...] = ("membership", "behaviour", "place")
OF_A_WINDOW: tuple[Question, ...] = ("window_membership", "window_behaviour")

WORLDS = {
    "membership": "In the data, or not",
    "behaviour": "One of two behaviours, at a known place",
    "place": "One of two places, with known readings",
    "window_membership": "Readings in one {window}, or none",
    "window_behaviour": "One of two behaviours in one {window}, with all else known",
}
"""The two worlds that each question compares."""

WEAK = f"From epsilon {PLAIN_WORDS_FROM} on the guarantee alone hardly limits an attacker."

ROUNDING = 1e-6


class ComparisonFacts(FactsModel):
    """Two worlds that differ in one household, the most that telling them apart can gain, and the attacker's rate.

    `epsilon` bounds the log-ratio of any outcome's probabilities in the two worlds.
    """

    question: Question
    epsilon: PositiveFloat
    attacker_true_positive_rate: float


class Statement(NamedTuple):
    """What an attacker can learn from some releases. `window`: the kind of ledger window that it is about, if any."""

    comparisons: Sequence[ComparisonFacts]
    releases: str
    window: str | None = None

    def sentences(self) -> list[str]:
        """Return a sentence that introduces the comparisons, one for each of them, and a warning if one is weak.

        >>> Statement(compare(1, ("membership",)), "this release").sentences()[1:]
        ['In the data, or not: at most 2.72 % (epsilon 1).']
        """
        lead = (
            f"What an attacker who knows everything else can tell about a household from {self.releases}. True-"
            f"positive rate at {percent(FALSE_POSITIVES)} % false positives:"
        )
        rates = [
            f"{self.worlds(one)}: at most {percent(one.attacker_true_positive_rate)} % (epsilon {exact(one.epsilon)})."
            for one in self.comparisons
        ]
        return [lead, *rates, *([WEAK] if max(one.epsilon for one in self.comparisons) >= PLAIN_WORDS_FROM else [])]

    def worlds(self, one: ComparisonFacts) -> str:
        """Return the two worlds that are compared."""
        return WORLDS[one.question].format(window=self.window)


def compare(epsilon: float, questions: Sequence[Question] = OF_A_HOUSEHOLD) -> list[ComparisonFacts]:
    """Return what follows for each question from the epsilon of adding or removing one household.

    >>> [(one.question, one.epsilon) for one in compare(1.5)]
    [('membership', 1.5), ('behaviour', 3.0), ('place', 3.0)]
    """
    losses = {question: NEIGHBOUR_STEPS[question] * epsilon for question in questions}
    return [
        ComparisonFacts(question=question, epsilon=loss, attacker_true_positive_rate=attacker_rate(loss))
        for question, loss in losses.items()
    ]


def agree(stated: Sequence[ComparisonFacts], right: Sequence[ComparisonFacts]) -> bool:
    """Whether stated comparisons are the right ones, in this order."""
    return len(stated) == len(right) and all(
        one.question == other.question
        and math.isclose(one.epsilon, other.epsilon, rel_tol=ROUNDING)
        and math.isclose(one.attacker_true_positive_rate, other.attacker_true_positive_rate, rel_tol=ROUNDING)
        for one, other in zip(stated, right, strict=True)
    )


def summary(epsilon: float) -> str:
    """Return the same about a household in one sentence, for where there is no room for a list.

    >>> print(summary(1))
    At 1 % false positives an attacker tells whether a household is in the data with a true-positive rate of at most \
2.72 %, and which of two behaviours or two places is its own with at most 7.39 %.
    """
    rates = {one.question: one.attacker_true_positive_rate for one in compare(epsilon)}
    substituted = max(rates["behaviour"], rates["place"])
    return (
        f"At {percent(FALSE_POSITIVES)} % false positives an attacker tells whether a household is in the data with a "
        f"true-positive rate of at most {percent(rates['membership'])} %, and which of two behaviours or two places is "
        f"its own with at most {percent(substituted)} %."
    )
