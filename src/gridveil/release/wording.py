"""The sentences of the label and the README, in one place: short, and no stronger than what holds."""

from __future__ import annotations

import math

DEFINITION = "pure epsilon-differential privacy"
UNIT = "one household, with its entire series in all windows read and its location"
NEIGHBOURS = "data sets that differ by adding or removing one household"
NOT_PRIVATE = "NOT PRIVATE (TEST NOISE)"
NOT_PRIVATE_WHY = (
    "NOT PRIVATE: made with test noise that anyone can reproduce and take off again. "
    "Do not publish it if the readings are of real households."
)
NO_LEDGER = "none. Releases about the same households add up, and gridveil did not track that here."
NOT_COVERED = (
    "Several households of one person, or several meters of one household under different ids: their losses add up.",
    "An id that is not a household: the promise is about what the id stands for.",
    "What other households reveal: those alike in habit or weather tell about each other, in any useful release.",
    "Other releases about the same households, earlier or later: their epsilons add up.",
    "How long the run took, and anything else seen of the machine it ran on.",
    "Energy cut off by the bounds: values are of bounded contributions, below the truth by an unknown amount.",
    "The error of spreading a measured sum over its cells and steps: the error bars are about the noise alone.",
)
QUADRATURE = (
    "Standard errors of cells do not add in quadrature: cells that share a measurement share its noise. "
    "Ask gridveil for the error of a region."
)
NEGATIVE = "Negative values are noise around little or no consumption; sums need them as they are."
HIGH_EPSILON = 5


def attacker_true_positive_rate(epsilon: float, false_positive_rate: float = 0.01) -> float:
    """Return the best true-positive rate of any attack that guesses whether a household is in the data.

    **Guarantee.** Under pure epsilon-DP a test with false-positive rate `f` and true-positive rate `p` has
    `p <= e^epsilon f` and, for its complement, `1 - f <= e^epsilon (1 - p)`.

    >>> [round(attacker_true_positive_rate(e), 4) for e in (0.1, 1, 3, 30)]
    [0.0111, 0.0272, 0.2009, 1.0]
    """
    grown = math.exp(min(epsilon, 700.0)) * false_positive_rate
    return min(grown, 1 - math.exp(-epsilon) * (1 - false_positive_rate))


def promise(epsilon: float) -> str:
    """Return the promise in one line."""
    return (
        f"Whatever someone does with this release, its outcome would be at most e^{epsilon:g} "
        f"({_times(epsilon)}) times as likely, or as unlikely, had any one household not been in the data."
    )


def attack(rate: float) -> str:
    """Return what the best attack can achieve."""
    return (
        "An attacker who knows everything about everyone else, and falsely accuses at most 1 in 100, "
        f"recognises a household that is in the data with a chance of at most {100 * rate:.3g} %."
    )


def high_epsilon(epsilon: float) -> list[str]:
    """Return the warning that an epsilon above 5 needs, or nothing."""
    if epsilon <= HIGH_EPSILON:
        return []
    warning = (
        f"WARNING: epsilon {epsilon:g} is high. Above {HIGH_EPSILON} the guarantee by itself is weak: "
        "it does not rule out that a determined attacker recognises a household."
    )
    return [warning]


def _times(epsilon: float) -> str:
    return f"{math.exp(epsilon):.3g}" if epsilon < 700 else "more than 1e300"  # noqa: PLR2004 - exp overflows at 710
