"""The label for someone who has never heard of differential privacy: nothing in it is stronger than the label."""

from __future__ import annotations

from gridveil.release.format import wording
from gridveil.release.format.label import Label, attacks_in_words, bounds_in_words, warnings
from gridveil.report.words import listed

METHOD = (
    "The method is called differential privacy. It is a mathematical promise about what this release can reveal, "
    "whoever looks at it and whatever else they know."
)
NOISE = (
    "Random noise was added to every number that was taken from the readings, before anything was published. What you "
    "see was computed from those noisy numbers, and from what is public anyway."
)
EPSILON = "It says how much a release may depend on any one household: the smaller, the stronger the protection."


def promise(label: Label) -> dict[str, str]:
    """Return the fields of the page about privacy."""
    return {
        "method": METHOD if label.private else "This is a test of the method: nobody is protected.",
        "protected": listed(_protected(label)),
        "strength": listed(_strength(label)),
        "not_covered": listed(label.not_covered_in_words()),
        "bounds": listed(bounds_in_words(label)),
    }


def _protected(label: Label) -> list[str]:
    if not label.private:
        return [wording.NOT_PRIVATE_WHY]
    unit = wording.UNITS[label.privacy.unit]
    return [
        f"{unit[:1].upper()}{unit[1:]}.",
        NOISE,
    ]


def _strength(label: Label) -> list[str]:
    epsilon = label.privacy.epsilon
    if not label.private:
        return [f"Not at all. It imitates a release with epsilon {wording.exact(epsilon)}."]
    return [
        f"Epsilon is {wording.exact(epsilon)}. {EPSILON}",
        wording.promise(epsilon, label.releases),
        *attacks_in_words(label),
        *warnings(label),
    ]
