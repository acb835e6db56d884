"""The label of a series: what releases that stand beside each other promise together, and each by itself."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from fractions import Fraction

from pydantic import Field, PositiveFloat, PositiveInt

from gridveil.model.errors import GridveilWarning, InputError
from gridveil.model.window import Window
from gridveil.release.format import wording
from gridveil.release.format.facts import FactsModel, LedgerFacts, Text, WindowFacts
from gridveil.release.format.label import Label, MechanismFacts, NoiseFacts, Privacy, Section
from gridveil.release.format.wording import AttackStatement, summarize_attacks
from gridveil.trusted.ledger.entry import format_amount

SEVERAL_LEDGERS = (
    "not one and the same for all of these releases, see their labels. If they are about the same households, their "
    "epsilons add up."
)
WITH_THE_LAST = "up to the last of these"
"""Of releases up to a gap, or of a copy of a series: the ledger may know more by now."""
OWN_CHOICES = "not for all of these releases in the same way, see their labels."
OWN_BOUNDS = "Every release has bounds of its own, and says in its label how they were chosen."


class PartFacts(FactsModel):
    """One release of a series."""

    path: Text
    start: datetime
    steps: PositiveInt
    epsilon: PositiveFloat
    mechanism: Text


class GapFacts(FactsModel):
    """A period within a series of which nothing was published."""

    start: datetime
    end: datetime


class SeriesFacts(FactsModel):
    """All releases of a series, also those beyond its gaps. `epsilon`: their sum; `None` if one is not private."""

    releases: PositiveInt
    epsilon: PositiveFloat | None


class SeriesLabel(Label):
    """What follows from the labels of releases about the same homes, one after the other in time.

    It is no file: every release keeps its own label. `epsilon` is the exact sum, which is what a household that is in
    all of them loses, for whether it is in the data (sequential composition). Measurements and bounds are in the
    releases' own labels.
    """

    parts: list[PartFacts]
    gaps: list[GapFacts] = Field(default_factory=list, description="of the series, if this is only a part of it")
    series: SeriesFacts | None = Field(None, description="what all of the series loses, if this is only a part of it")
    staircase_epsilons: list[float] = Field(default_factory=list, description="of releases that need a warning")
    several_ledgers: bool = Field(default=False, description="not all releases were debited to one and the same ledger")
    latest_entry: LedgerFacts | None = Field(None, description="the last debit, if one ledger has them all")

    @property
    def ledger(self) -> str:
        """What the ledger knew with the last of these releases, or that there is not one for all."""
        entry = self.latest_entry
        if entry is None:
            return SEVERAL_LEDGERS if self.several_ledgers else wording.NO_LEDGER
        whom, spent, cap = f"population '{entry.population}'", Fraction(entry.spent), format_amount(Fraction(entry.cap))
        if entry.unit == "household":
            return f"{whom}: with the last of these, epsilon {format_amount(spent)} of at most {cap} was spent."
        return (
            f"{whom}. Cap: epsilon {cap} for the readings of a household in one {entry.window}. The cap does not limit "
            f"the sum of all releases: epsilon {format_amount(spent)} {WITH_THE_LAST}."
        )

    @property
    def note(self) -> str | None:
        """That this is not all of the series, if it is not."""
        if not self.gaps:
            return None
        missing = ", ".join(f"{gap.start:%Y-%m-%d %H:%M} to {gap.end:%Y-%m-%d %H:%M}" for gap in self.gaps)
        window = self.window.window()
        return (
            f"This series has gaps: nothing was published from {missing} (UTC). This is the run from "
            f"{window.start:%Y-%m-%d %H:%M} to {window.end:%Y-%m-%d %H:%M} only."
        )

    @property
    def releases(self) -> int:
        """How many releases these are."""
        return len(self.parts)

    def bounds_in_words(self) -> list[str]:
        """Return where bounds are told, and how far values were corrected at most."""
        if self.correction is None:
            return [OWN_BOUNDS]
        factor = f"by the factor {self.correction:.4g} at most"
        return [OWN_BOUNDS, f"Values are corrected upwards, {factor}, for what the bounds cut. {wording.CAPPED}"]

    def ledger_statements(self) -> list[AttackStatement]:
        """Return what an attacker can learn from all releases of the ledger's population, and about one window."""
        entry = self.latest_entry
        return [] if entry is None else wording.ledger_attacks(entry, self.privacy.epsilon, WITH_THE_LAST)

    def noise_warnings(self) -> list[GridveilWarning]:
        """Return the warnings that the kind of noise of any release needs."""
        return [warning for epsilon in self.staircase_epsilons for warning in wording.staircase(epsilon)]

    def series_warnings(self) -> list[GridveilWarning]:
        """Return what a household loses by the whole series, if this is a run between gaps."""
        if self.series is None:
            return []
        figures = self.series.model_dump()
        epsilon = self.series.epsilon
        if epsilon is None:
            msg = "Not all releases of this series are private. Together they are not."
            return [GridveilWarning(msg, code="series-not-private", figures=figures)]
        msg = (
            f"All {self.series.releases} releases of this series, also those beyond its gaps, have epsilon "
            f"{wording.exact(epsilon)} together. {summarize_attacks(epsilon)}"
        )
        return [GridveilWarning(msg, code="series-epsilon", figures=figures)]

    def of_parts(self) -> list[Section]:
        """Return the releases that the series is made of."""
        several = (
            f"{len(self.parts)} releases, each with its own label. The epsilon above is their sum: what a household "
            "that is in all of them loses, for whether it is in the data. One of them alone promises the epsilon in "
            "its line:"
            if self.releases > 1
            else "One release, with its own label:"
        )
        note = [] if self.note is None else [self.note]
        return [Section("Releases", [*note, several, *(_line(part) for part in self.parts)])]


def series_label(
    title: str,
    labels: Sequence[tuple[str, Label]],
    *,
    truths: Sequence[bool],
    gaps: Sequence[GapFacts] = (),
    series: SeriesFacts | None = None,
) -> SeriesLabel:
    """Return the label of releases, by folder and in order of time without gaps.

    truths: whether the error bars of each are about the consumption itself.
    gaps, series: of the whole series, if these releases are a part of it.
    """
    every = [label for _, label in labels]
    last, latest = every[-1], _latest(every)
    epsilon = total_epsilon(every)
    accounted = sum((Fraction(str(label.privacy.epsilon_accounted)) for label in every), Fraction(0))
    corrections = [label.correction for label in every if label.correction is not None]
    window = Window(every[0].window.start, last.window.window().step, sum(label.window.steps for label in every))
    return SeriesLabel(
        title=title,
        publisher=_all(every, lambda label: label.publisher),
        published=max(label.published for label in every),
        gridveil_version=_all(every, lambda label: label.gridveil_version),
        private=all(label.private for label in every),
        privacy=Privacy(epsilon=float(epsilon), epsilon_accounted=float(min(accounted, epsilon))),
        noise=_each_once(noise for label in every for noise in label.noise),
        bounds=[],
        private_bound_epsilon=None,  # in the releases' own labels, like all measurements
        correction=max(corrections, default=None),
        mechanism=MechanismFacts(name=_all(every, lambda label: label.mechanism.name)),
        measurements=[],
        grid=last.grid,
        window=WindowFacts.of(window),
        choices=last.choices if len({label.choices for label in every}) == 1 else OWN_CHOICES,
        several_ledgers=latest is None and any(label.ledger_entry for label in every),
        ledger_entry=None,
        latest_entry=latest,
        not_covered=[
            *dict.fromkeys(line for label in every for line in label.not_covered),
            *wording.several(about_the_truth=any(truths), noise_alone=not all(truths)),
        ],
        parts=[
            PartFacts(
                path=path,
                start=label.window.start,
                steps=label.window.steps,
                epsilon=label.privacy.epsilon,
                mechanism=label.mechanism.name,
            )
            for path, label in labels
        ],
        gaps=list(gaps),
        series=series,
        staircase_epsilons=list(dict.fromkeys(label.staircase_epsilon for label in every if label.noise_warnings())),
    )


def total_epsilon(labels: Sequence[Label]) -> Fraction:
    """Return the exact sum of releases' epsilons, or refuse what no label could say."""
    total = sum((Fraction(str(label.privacy.epsilon)) for label in labels), Fraction(0))
    if 2 * total > sys.float_info.max:  # behaviour and place lose twice the sum
        msg = "the epsilons of these releases add up to more than any number of a label; get a fresh copy of the series"
        raise InputError(msg, code="epsilon-sum-too-large")
    return total


def series_facts(labels: Sequence[Label]) -> SeriesFacts:
    """Return what a household loses by a whole series, for the label of one of its runs, which adds up its own."""
    private = all(label.private for label in labels)
    return SeriesFacts(releases=len(labels), epsilon=float(total_epsilon(labels)) if private else None)


def _each_once(noises: Iterable[NoiseFacts]) -> list[NoiseFacts]:
    return list({noise.model_dump_json(): noise for noise in noises}.values())


def _all(labels: Sequence[Label], fact: Callable[[Label], str]) -> str:
    """Return what labels say, each text once."""
    return "; ".join(dict.fromkeys(fact(label) for label in labels))


def _line(part: PartFacts) -> str:
    return (
        f"{part.path}: {part.steps} steps from {part.start:%Y-%m-%d %H:%M} UTC, epsilon {wording.exact(part.epsilon)}, "
        f"{part.mechanism}"
    )


def _latest(labels: Sequence[Label]) -> LedgerFacts | None:
    """Return what the ledger knew when the last of these releases was published; `None` unless one has debited all."""
    entries = [label.ledger_entry for label in labels]
    found = [entry for entry in entries if entry is not None]
    if len(found) < len(entries) or len({_account(entry) for entry in found}) > 1 or not _add_up(labels):
        return None
    return max(found, key=lambda entry: Fraction(entry.spent))


def _account(entry: LedgerFacts) -> tuple[str, str, str | None, str | None, Fraction]:
    """Return what a population keeps for good."""
    return entry.population, entry.unit, entry.window, entry.timezone, Fraction(entry.cap)


def _add_up(labels: Sequence[Label]) -> bool:
    """Whether one ledger can have debited all: what it had spent then rises by each one's epsilon at least.

    Two ledgers with populations of one name are noticed, unless what else they debited hides it.
    """
    debits = [(Fraction(label.ledger_entry.spent), label.privacy.epsilon) for label in labels if label.ledger_entry]
    before = Fraction(0)
    for spent, epsilon in sorted(debits):  # the order of debits: a gap may have been filled later
        if float(spent - before) < epsilon:  # as floats, because that is how a label tells epsilon, 1/3 say
            return False
        before = spent
    return True
