"""The sentences of label and README, by the codes that labels hold: short, and no stronger than what holds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_CEILING, Context
from fractions import Fraction
from typing import Literal, NamedTuple

from gridveil.model.errors import GridveilWarning
from gridveil.release.format.facts import WINDOW_QUESTIONS, AttackRate, LedgerFacts, attack_rates
from gridveil.trusted.budget import FALSE_POSITIVES, PLAIN_WORDS_FROM
from gridveil.trusted.ledger.entry import format_amount

Definition = Literal["pure-dp"]
Unit = Literal["household"]
Neighbours = Literal["add-or-remove-household"]
NoiseKind = Literal["laplace", "staircase"]
Sampler = Literal["opendp", "gridveil"]
StepOrigin = Literal["stated", "supply"]
WindowOrigin = Literal["stated", "histogram", "mechanism"]
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
NOT_PRIVATE_WARNING = GridveilWarning(
    "NOT PRIVATE: made with test noise that anyone can reproduce and take off again. "
    "Do not publish it if the readings are of real households.",
    code="not-private",
)
NO_LEDGER = "none. Releases about the same households add up, and gridveil did not track that here."
CAVEATS: dict[Caveat, str] = {
    "several-ids": (
        "Several households of one person, or several meters of one household under different ids: their losses add up."
    ),
    "not-a-household": "An id that is not a household: the promise is about what the id stands for.",
    "other-households": (
        "What other households reveal: those with like habits or weather reveal something about each other, in any "
        "useful release."
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
        "Over several releases of a series, intervals become shorter relative to consumption as their noise averages "
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
HISTOGRAM = "chosen privately from a noisy histogram of household totals, epsilon {:g} of it"
CHOSEN_BY_MECHANISM = "chosen by the mechanism, from public numbers and earlier noisy answers alone"
SUPPLY = "what a 100 A supply at 230 V can deliver (gridveil's default)"
SEED = "The seed is of what is computed after the noise was added; the noise has none."
QUADRATURE = (
    "Errors of cells do not simply combine into the error of a region, because cells share noise: ask gridveil for "
    "the region."
)
NOISES: dict[NoiseKind, str] = {"laplace": "Laplace", "staircase": "staircase"}
TEST_NOISE = "test noise"
CAPPED = "Readings above the step bound are capped to it: true consumption means consumption so capped."
NEGATIVE = "Negative values, if any, are noise around little or no consumption; sums need them as they are."
WORLDS = {
    "membership": "In the data, or not",
    "behaviour": "One of two behaviours (series of readings), at a known place",
    "place": "One of two places, with known readings",
    "window_membership": "Readings in this {window}, or none",
    "window_behaviour": "One of two behaviours in this {window}, with all else known",
}
"""The two worlds that each question compares."""


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


def high_epsilon(epsilon: float) -> list[GridveilWarning]:
    """Return the warning that an epsilon of 5 or more needs, or nothing."""
    if epsilon < PLAIN_WORDS_FROM:
        return []
    msg = (
        f"WARNING: epsilon {exact(epsilon)} is high. From {PLAIN_WORDS_FROM} on the guarantee by itself is weak: "
        "it does not rule out that a determined attacker finds out whether a household is in the data."
    )
    return [GridveilWarning(msg, code="epsilon-high", figures={"epsilon": epsilon})]


def staircase(epsilon: float) -> list[GridveilWarning]:
    """Return the warning that staircase noise needs at an epsilon of 5 or more, or nothing."""
    if epsilon < PLAIN_WORDS_FROM:
        return []
    msg = (
        f"WARNING: staircase noise at epsilon {epsilon:g} is far smaller than one household most of the time: the "
        "consumption of a household that is alone in its cell is revealed almost exactly."
    )
    return [GridveilWarning(msg, code="staircase-noise-small", figures={"epsilon": epsilon})]


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


def bound_origin(window: WindowOrigin, step: StepOrigin, stated: str, epsilon: float | None) -> str:
    """Return where the bounds of a window and of its steps came from.

    stated: the publisher's own words. epsilon: what the histogram of household totals cost, if there was one.

    >>> bound_origin("stated", "supply", "a public table", None)
    "a public table; the step's: what a 100 A supply at 230 V can deliver (gridveil's default)"
    """
    of_step = stated if step == "stated" else SUPPLY
    if window == "stated":
        return stated if step == "stated" else f"{stated}; the step's: {of_step}"
    chosen = HISTOGRAM.format(epsilon or 0) if window == "histogram" else CHOSEN_BY_MECHANISM
    return f"the window's {chosen}; the step's: {of_step}"


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


def _times(epsilon: float) -> str:
    return f"{math.exp(epsilon):.3g}" if epsilon < 700 else "more than 1e300"  # noqa: PLR2004 - exp overflows at 710


# What an attacker can learn about one household: pairs of worlds, and how well they can be distinguished.


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
                f"{self.describe_worlds(rate)}: at most {percent(rate.true_positive_rate)} % (loss {exact(rate.loss)})."
                for rate in self.rates
            ),
        ]

    def describe_worlds(self, rate: AttackRate) -> str:
        """Return the two worlds that are compared."""
        return WORLDS[rate.question].format(window=self.window)


def describe_attacks(statements: Iterable[AttackStatement]) -> list[str]:
    """Return statements as sentences, with a warning at the end if a loss is so high that it limits hardly anything."""
    every = list(statements)
    warnings = map(str, weak_guarantee(every))
    return [*(sentence for statement in every for sentence in statement.sentences()), *warnings]


def weak_guarantee(statements: Iterable[AttackStatement]) -> list[GridveilWarning]:
    """Return the warning that a high loss needs, or nothing."""
    worst = max((rate.loss for statement in statements for rate in statement.rates), default=0.0)
    if worst < PLAIN_WORDS_FROM:
        return []
    msg = f"From a loss of {PLAIN_WORDS_FROM} on, the guarantee alone hardly limits an attacker."
    return [GridveilWarning(msg, code="guarantee-weak", figures={"loss": worst})]


def summarize_attacks(epsilon: float) -> str:
    """Return the rates for one household in one sentence, for where a list would be too long.

    >>> print(summarize_attacks(1))
    At 1 % false positives, an attacker who knows everything else has at most 2.72 % true positives for in the data or \
not, and 7.39 % for one of two behaviours or one of two places.
    """
    rates = {rate.question: rate.true_positive_rate for rate in attack_rates(epsilon)}
    return (
        f"At {percent(FALSE_POSITIVES)} % false positives, an attacker who knows everything else has at most "
        f"{percent(rates['membership'])} % true positives for in the data or not, and "
        f"{percent(max(rates['behaviour'], rates['place']))} % for one of two behaviours or one of two places."
    )


def ledger_attacks(facts: LedgerFacts, shown: float, when: str = "up to this release") -> list[AttackStatement]:
    """Return what an attacker can learn about one window at its cap, and from all releases that the ledger knows.

    shown: the epsilon of the releases that are described anyway; nothing is repeated if there are no others.
    """
    about_window = [rate for rate in facts.attack_rates if rate.question in WINDOW_QUESTIONS]
    about_all = [rate for rate in facts.attack_rates if rate.question not in WINDOW_QUESTIONS]
    others = float(Fraction(facts.spent)) > shown
    return [
        *([window_attacks(about_window, facts.window, facts.cap)] if about_window and facts.window else []),
        *([AttackStatement(about_all, f"all releases of population '{facts.population}' {when}")] if others else []),
    ]


def window_attacks(rates: list[AttackRate], window: str, cap: str) -> AttackStatement:
    """Return the statement about one ledger window, once its cap is spent."""
    releases = f"all releases of this population that read one {window}, at its cap of {format_amount(Fraction(cap))}"
    return AttackStatement(rates, releases, window)


def describe_ledger(facts: LedgerFacts) -> str:
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
