"""The sentences of the label and the README, in one place: short, and no stronger than what holds."""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import ROUND_CEILING, Context
from typing import Literal

from gridveil.trusted.budget import PLAIN_WORDS_FROM

Definition = Literal["pure-dp"]
Unit = Literal["household"]
Neighbours = Literal["add-or-remove-household"]
NoiseKind = Literal["laplace", "staircase"]
Sampler = Literal["opendp", "gridveil"]
Caveat = Literal[
    "several-ids",
    "not-a-household",
    "other-households",
    "other-releases",
    "beyond-the-cap",
    "beyond-the-window-cap",
    "run-time",
    "broken-cipher",
    "clipped",
    "corrected",
    "spreading",
    "model",
    "added-ends",
    "not-averaged",
]
"""Labels hold these codes. Their sentences may be corrected at any time: they are made when a label is read."""

DEFINITIONS: dict[Definition, str] = {"pure-dp": "pure epsilon-differential privacy"}
UNITS: dict[Unit, str] = {"household": "one household, with its entire series in all windows read and its place"}
NEIGHBOURS: dict[Neighbours, str] = {
    "add-or-remove-household": (
        "data sets that differ by adding or removing one household; changing what a household used, or where it is, "
        "takes two such steps"
    ),
}
NOT_PRIVATE = "NOT PRIVATE (TEST NOISE)"
NOT_PRIVATE_WHY = (
    "NOT PRIVATE: made with test noise that anyone can reproduce and take off again. "
    "Do not publish it if the readings are of real households."
)
NO_LEDGER = "none. Releases about the same households add up, and gridveil did not track that here."
CAVEATS: dict[Caveat, str] = {
    "several-ids": (
        "Several households of one person, or several meters of one household under different ids: their losses add up."
    ),
    "not-a-household": "An id that is not a household: the promise is about what the id stands for.",
    "other-households": (
        "What other households reveal: those alike in habit or weather tell about each other, in any useful release."
    ),
    "other-releases": "Other releases about the same households, earlier or later: their epsilons add up.",
    "beyond-the-cap": (
        "Other releases about the same households: the ledger adds up those it knows, and caps their sum; what else "
        "there is comes on top."
    ),
    "beyond-the-window-cap": (
        "Other releases about the same households: the ledger adds up those it knows, and caps what they reveal about "
        "one of its windows, but not their sum; what else there is comes on top."
    ),
    "run-time": "How long the run took, and anything else seen of the machine it ran on.",
    "broken-cipher": "Attackers who can break AES-256 or ChaCha20, which generate the random bits.",
    "clipped": (
        "Energy cut off by the bounds: values are of bounded contributions, below the truth by an unknown amount."
    ),
    "corrected": (
        "Energy cut off by the bounds: values are corrected upwards for it, everywhere alike, by what a noisy "
        "histogram says of all households; where heavy users live side by side they are too low, elsewhere too high."
    ),
    "spreading": (
        "The error of spreading a measured sum over its cells and steps: error bars cover it in part at most."
    ),
    "model": (
        "Households unlike those that the error bars take for granted: they cover noise, correction and spreading as "
        "far as a model of households holds."
    ),
    "added-ends": (
        "Over several releases of a series the ends of their 95 % intervals are added, as if all erred alike: what one "
        "does not know about the same homes, the next does not know either. Such intervals are rather too wide."
    ),
    "not-averaged": (
        "Over several releases of a series, intervals become shorter beside the consumption as their noise averages "
        "out. What they do not cover does not: the true consumption then lies outside even more often."
    ),
}
"""What guarantee, values and error bars do not cover."""
OTHER_RELEASES: dict[str | None, Caveat] = {
    None: "other-releases",
    "household": "beyond-the-cap",
    "household-window": "beyond-the-window-cap",
}
"""By the unit of the ledger, if there is one."""
CHOSEN_OTHERWISE = "chosen by the mechanism, from public numbers and earlier noisy answers alone"
SEED = "The seed is of what is computed after the noise was added; the noise has none."
QUADRATURE = (
    "Errors of cells do not simply combine into the error of a region, because cells share noise: ask gridveil for "
    "the region."
)
NOISES: dict[NoiseKind, str] = {"laplace": "Laplace", "staircase": "staircase"}
TEST_NOISE = "test noise"
CAPPED = "Readings above the step bound are capped to it: true consumption means consumption so capped."
NEGATIVE = "Negative values, if any, are noise around little or no consumption; sums need them as they are."


def exact(epsilon: float) -> str:
    """Return an epsilon with all its digits: one just below a limit must not be shown as the limit.

    >>> exact(3), exact(0.1), exact(4.9999999)
    ('3', '0.1', '4.9999999')
    """
    return repr(float(epsilon)).removesuffix(".0")


def percent(rate: float) -> str:
    """Return a rate in per cent, rounded up: three digits, and more where those would pass for certainty.

    >>> percent(0.0448169), percent(0.01), percent(0.999955)
    ('4.49', '1', '99.9955')
    """
    short = _rounded_up(100 * rate, 3)
    return _rounded_up(100 * rate, 6) if short == "100" else short


def _rounded_up(number: float, digits: int) -> str:
    exact = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(repr(number))
    return f"{exact.normalize():f}"


def exact_noise(kinds: Iterable[NoiseKind], samplers: Iterable[Sampler], opendp: str) -> str:
    """Return what noise a release has, and what drew it.

    >>> exact_noise(["laplace", "staircase"], ["opendp"], "0.16.0")
    'exact discrete Laplace and staircase on integers, OpenDP 0.16.0'
    """
    names = " and ".join(NOISES[kind] for kind in kinds)
    ours = "gridveil's sampler where many answers of one scale are drawn at once, else "
    return f"exact discrete {names} on integers, {ours if 'gridveil' in samplers else ''}OpenDP {opendp}"


def these(releases: int) -> str:
    """Return how one release, or several together, are called in a sentence."""
    return "this release" if releases == 1 else f"these {releases:,} releases together"


def promise(epsilon: float, releases: int = 1) -> str:
    """Return the promise of a release, or of several together, in one line."""
    return (
        f"Whatever someone does with {these(releases)}, its outcome would be at most e^{exact(epsilon)} "
        f"({_times(epsilon)}) times as likely, or as unlikely, had any one household not been in the data."
    )


def high_epsilon(epsilon: float) -> list[str]:
    """Return the warning that an epsilon of 5 or more needs, or nothing."""
    if epsilon < PLAIN_WORDS_FROM:
        return []
    warning = (
        f"WARNING: epsilon {exact(epsilon)} is high. From {PLAIN_WORDS_FROM} on the guarantee by itself is weak: "
        "it does not rule out that a determined attacker finds out whether a household is in the data."
    )
    return [warning]


def caveats(*, corrected: bool, about_the_truth: bool, unit: str | None = None) -> list[Caveat]:
    """Return what guarantee, values and error bars do not cover.

    corrected: values were multiplied for what the bounds cut. about_the_truth: error bars are not of the noise alone.
    unit: the ledger's, if there is one.
    """
    return [
        *("several-ids", "not-a-household", "other-households"),
        OTHER_RELEASES[unit],
        *("run-time", "broken-cipher"),
        "corrected" if corrected else "clipped",
        "model" if about_the_truth else "spreading",
    ]


def chosen_privately(epsilon: float) -> str:
    """Return where a private bound came from."""
    return f"chosen privately from a noisy histogram of household totals, epsilon {epsilon:g} of it"


def correction(factor: float) -> str:
    """Return how values were corrected for what bounds cut."""
    return f"Values are corrected upwards by the factor {factor:.4g} for what the bounds cut. {CAPPED}"


def error_bars(*, corrected: bool, about_the_truth: bool) -> str:
    """Return what error bars are about, and what they leave out."""
    if about_the_truth:
        return (
            "A 95 % interval covers the added noise, what was cut from the heaviest users, and how use is spread over "
            "cells and steps, as far as a model of households holds: it assumes that they vary about as London's do."
        )
    cut = "how far the correction for the bounds is wrong" if corrected else "energy cut off by the bounds"
    return (
        f"A 95 % interval covers the added noise. It does not cover {cut}, and of the error of spreading a measured "
        "sum over its cells and steps it covers a part at most: the true consumption lies outside more often than in 5 "
        "of 100 questions."
    )


def several(*, about_the_truth: bool, noise_alone: bool) -> list[Caveat]:
    """Return what error bars over several releases of a series leave out, by what their own are about."""
    found: dict[Caveat, bool] = {"added-ends": about_the_truth, "not-averaged": noise_alone}
    return [caveat for caveat, is_so in found.items() if is_so]


def staircase(epsilon: float) -> list[str]:
    """Return the warning that staircase noise needs at an epsilon of 5 or more, or nothing."""
    if epsilon < PLAIN_WORDS_FROM:
        return []
    warning = (
        f"WARNING: staircase noise at epsilon {epsilon:g} is far smaller than one household most of the time: the "
        "consumption of a household that is alone in its cell is revealed almost exactly."
    )
    return [warning]


def _times(epsilon: float) -> str:
    return f"{math.exp(epsilon):.3g}" if epsilon < 700 else "more than 1e300"  # noqa: PLR2004 - exp overflows at 710
