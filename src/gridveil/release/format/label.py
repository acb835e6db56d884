"""The label: a release's machine-readable privacy statement, and the same in plain words."""

from __future__ import annotations

from datetime import UTC, date, datetime
from itertools import groupby
from typing import Any, Literal, NamedTuple

from pydantic import Field, NonNegativeFloat, PositiveFloat, PositiveInt

from gridveil.model.errors import GridveilWarning
from gridveil.release.format import facts, wording
from gridveil.release.format.facts import AttackRate, Facts, FactsModel, GridFacts, LedgerFacts, Text, WindowFacts
from gridveil.release.format.wording import AttackStatement
from gridveil.trusted.budget import FALSE_POSITIVES

WindowName = Literal["published", "training", "other"]


class Privacy(FactsModel):
    """What is promised, to whom. `epsilon` is the budget, `epsilon_accounted` what the worst-off pillar lost.

    `attack_rates` are the attacker's questions: the two worlds they compare, the loss between them, and the best
    true-positive rate at `attacker_false_positive_rate`.
    """

    definition: wording.Definition = "pure-dp"
    epsilon: PositiveFloat
    epsilon_accounted: NonNegativeFloat
    unit: wording.Unit = "household"
    neighbours: wording.Neighbours = "add-or-remove-household"
    attacker_false_positive_rate: float = FALSE_POSITIVES
    attack_rates: list[AttackRate] = Field(default_factory=lambda known: facts.attack_rates(known["epsilon"]))


class BoundFacts(FactsModel):
    """The most one household could contribute to a window, and where the numbers came from.

    `step_origin`: stated by the publisher, or what a supply can deliver. `window_origin`: stated, chosen from a noisy
    histogram of household totals, or by the mechanism from public numbers and noisy answers.
    """

    window: WindowName = "published"
    step_kwh: PositiveFloat
    window_kwh: PositiveFloat
    steps: PositiveInt
    step_origin: wording.StepOrigin = "stated"
    window_origin: wording.WindowOrigin = "stated"


class MechanismFacts(FactsModel):
    """How the values were made. `details` are those of the mechanism's `Estimate`."""

    name: Text
    parameters: Facts = Field(default_factory=dict)
    details: Facts = Field(default_factory=dict)


class MeasurementFacts(FactsModel):
    """One question the kernel answered: its kind, how many numbers it gave and what it cost.

    `bound_kwh` is the window bound that households were bounded to; there is none where they are counted.
    """

    kind: Text
    labels: PositiveInt
    epsilon: NonNegativeFloat
    window: WindowName = "published"
    noise: wording.NoiseKind = "laplace"
    bound_kwh: PositiveFloat | None = None


class NoiseFacts(FactsModel):
    """The kinds of noise, what drew them, and which version of OpenDP."""

    kinds: list[wording.NoiseKind]
    samplers: list[wording.Sampler]
    opendp: Text


class Label(FactsModel):
    """A release's privacy statement: codes and figures. Everything in it is public, or was measured with noise.

    `private` is false for values made with test noise; such a release says NOT PRIVATE wherever it is shown.
    `bound_origin` says where stated bounds come from, in the publisher's words.
    """

    schema_version: Literal[1] = 1
    title: Text
    publisher: Text
    published: date
    gridveil_version: Text
    private: bool
    privacy: Privacy
    noise: list[NoiseFacts] = Field(description="of one release, or of each of a series; empty: test noise")
    bounds: list[BoundFacts]
    bound_origin: Text = "not stated"
    private_bound_epsilon: NonNegativeFloat | None = Field(None, description="what private bounds cost, if any are")
    correction: PositiveFloat | None = Field(None, description="what values were multiplied by for what bounds cut")
    mechanism: MechanismFacts
    measurements: list[MeasurementFacts]
    grid: GridFacts
    window: WindowFacts
    training_window: WindowFacts | None = None
    choices: Text = "not stated"
    ledger_entry: LedgerFacts | None = Field(None, description="the debit of this release, if a ledger has it")
    not_covered: list[wording.Caveat] = Field(description="what guarantee, values and error bars leave out")

    @property
    def heading(self) -> str:
        """The title, with a warning in front when the release is not private."""
        return self.title if self.private else f"{wording.NOT_PRIVATE}: {self.title}"

    @property
    def promise(self) -> str:
        """What is promised, in one line; or that nothing is."""
        return (
            wording.promise(self.privacy.epsilon, self.releases) if self.private else str(wording.NOT_PRIVATE_WARNING)
        )

    @property
    def ledger(self) -> str:
        """The ledger's entry in a sentence, or that there is none."""
        return wording.NO_LEDGER if self.ledger_entry is None else wording.describe_ledger(self.ledger_entry)

    def noise_in_words(self) -> str:
        """Return what noise was added, and what drew it."""
        kinds = [wording.exact_noise(noise.kinds, noise.samplers, noise.opendp) for noise in self.noise]
        return "; ".join(kinds) or wording.TEST_NOISE

    def not_covered_in_words(self) -> list[str]:
        """Return what guarantee, values and error bars do not cover."""
        return [wording.CAVEATS[caveat] for caveat in self.not_covered]

    @property
    def note(self) -> str | None:
        """A note on what is shown, if it is not all there is: see `SeriesLabel`."""
        return None

    def bounds_in_words(self) -> list[str]:
        """Return the bounds as sentences, where they come from, and how values were corrected for them."""
        origins = list(dict.fromkeys(map(self.origin_in_words, self.bounds)))
        windows = dict.fromkeys((bound.window, bound.steps, bound.step_kwh) for bound in self.bounds)
        return [
            *(_bounds_of(self, *window) for window in windows),
            *(f"Origin of {_which(self, origin, len(origins))}: {origin}." for origin in origins),
            *([] if self.correction is None else [wording.correction(self.correction)]),
        ]

    def origin_in_words(self, bound: BoundFacts) -> str:
        """Return where one of the bounds came from."""
        return wording.bound_origin(
            bound.window_origin, bound.step_origin, self.bound_origin, self.private_bound_epsilon
        )

    @property
    def releases(self) -> int:
        """How many releases it is the label of: see `SeriesLabel`."""
        return 1

    @property
    def staircase_epsilon(self) -> float:
        """What measurements of the published window with staircase noise cost, added up."""
        return sum(m.epsilon for m in self.measurements if m.noise == "staircase" and m.window == "published")

    def noise_warnings(self) -> list[GridveilWarning]:
        """Return the warnings that the kind of noise needs."""
        return wording.staircase(self.staircase_epsilon)

    def series_warnings(self) -> list[GridveilWarning]:
        """Return what releases cost that are not shown here, but belong to the same series: see `SeriesLabel`."""
        return []

    def of_parts(self) -> list[Section]:
        """Return the releases that a series is made of: see `SeriesLabel`."""
        return []

    def ledger_statements(self) -> list[AttackStatement]:
        """Return what an attacker can learn from all releases of the ledger's population, and about one window."""
        entry = self.ledger_entry
        return [] if entry is None else wording.ledger_attacks(entry, self.privacy.epsilon)


class StatedBound(FactsModel):
    """The bound in a ledger's debit, as stated before anything was read; without a window's, one is chosen."""

    step_kwh: float
    window_kwh: float | None
    origin: Text


class DebitFacts(FactsModel):
    """What a ledger's debit says of its release: public settings, which its label repeats once the release is there.

    Nothing of the input: no path, name, digest or count.
    """

    title: Text
    publisher: Text
    choices: Text
    gridveil_version: Text
    mechanism: Text
    parameters: Facts
    grid: GridFacts
    window: WindowFacts
    training_window: WindowFacts | None
    bound: StatedBound

    def body(self) -> dict[str, Any]:
        """Return them as an entry of a ledger holds them."""
        return self.model_dump(mode="json")


class Section(NamedTuple):
    """A heading and the lines under it."""

    heading: str
    lines: list[str]


def describe(label: Label) -> list[Section]:
    """Return the label in plain words, section by section."""
    grid, window, training = label.grid, label.window, label.training_window
    return [
        Section(
            label.heading,
            [f"Published by {label.publisher} on {label.published}, gridveil {label.gridveil_version}."],
        ),
        Section("Privacy", [*_privacy(label), f"Noise: {label.noise_in_words()}.", f"Ledger: {label.ledger}"]),
        *label.of_parts(),
        Section("Bounds", label.bounds_in_words()),
        Section(
            "Where and when",
            [
                f"{grid.nx} x {grid.ny} cells over {grid.x0:g},{grid.y0:g} to {grid.x1:g},{grid.y1:g} ({grid.crs}).",
                f"{window.steps} steps of {window.step_seconds} s from {_utc(window.start)}.",
                *([f"Trained on {training.steps} steps from {_utc(training.start)}."] if training else []),
            ],
        ),
        Section(
            "Mechanism",
            [
                f"{label.mechanism.name} {_pairs(label.mechanism.parameters)}".strip(),
                *([f"Details: {_pairs(label.mechanism.details)}"] if label.mechanism.details else []),
                *(_measured(list(run)) for _, run in groupby(label.measurements, key=_alike)),
                *([wording.SEED] if "seed" in label.mechanism.parameters else []),
                f"How these were chosen: {label.choices}",
            ],
        ),
        Section("Not covered", label.not_covered_in_words()),
    ]


def _privacy(label: Label) -> list[str]:
    privacy = label.privacy
    if not label.private:
        return [
            label.promise,
            f"It imitates {wording.DEFINITIONS[privacy.definition]} with epsilon {wording.exact(privacy.epsilon)}.",
        ]
    return [
        label.promise,
        f"Definition: {wording.DEFINITIONS[privacy.definition]}, epsilon {wording.exact(privacy.epsilon)}.",
        f"Accounted for: {privacy.epsilon_accounted:g}, by the cell whose households lost most.",
        f"Protected: {wording.UNITS[privacy.unit]}. Neighbours: {wording.NEIGHBOURS[privacy.neighbours]}.",
        *attacks_in_words(label),
        *map(str, warnings(label)),
    ]


def attack_statements(label: Label) -> list[AttackStatement]:
    """Return what an attacker can learn about a household: from what is shown, and from all that a ledger knows."""
    return [AttackStatement(label.privacy.attack_rates, wording.these(label.releases)), *label.ledger_statements()]


def attacks_in_words(label: Label) -> list[str]:
    """Return the same as sentences."""
    return wording.describe_attacks(attack_statements(label))


def warnings(label: Label) -> list[GridveilWarning]:
    """Return the warnings of a label: it is not private, epsilon is high, noise is small, this is not all."""
    if not label.private:
        return [wording.NOT_PRIVATE_WARNING]
    return [*wording.high_epsilon(label.privacy.epsilon), *label.noise_warnings(), *label.series_warnings()]


def _alike(measured: MeasurementFacts) -> tuple[str, str, str, float | None]:
    return measured.kind, measured.window, measured.noise, measured.bound_kwh


def _measured(run: list[MeasurementFacts]) -> str:
    """Return questions of one kind in a row as a sentence. Their epsilons are those of each by itself."""
    lowest, highest = (f"{pick(m.epsilon for m in run):g}" for pick in (min, max))
    bound = [] if run[0].bound_kwh is None else [f"bound {run[0].bound_kwh:g} kWh"]
    noise = [] if run[0].noise == "laplace" else [f"{run[0].noise} noise"]
    numbers, where = sum(m.labels for m in run), f"({', '.join([f'{run[0].window} window', *bound, *noise])})"
    if len(run) == 1:
        return f"Measured: {run[0].kind}, {numbers} numbers, epsilon {highest} {where}."
    each = highest if lowest == highest else f"{lowest} to {highest}"
    return f"Measured: {run[0].kind}, {numbers} numbers in {len(run)} questions, epsilon {each} each {where}."


def bounds_in_words(label: Label) -> list[str]:
    """Return the bounds as sentences, where they come from, and how values were corrected for them."""
    return label.bounds_in_words()


def _bounds_of(label: Label, window: str, steps: int, step_kwh: float) -> str:
    """Return the bounds on one window as a sentence: questions may have one each."""
    here = (window, steps, step_kwh)
    amounts = [f"{bound.window_kwh:g}" for bound in label.bounds if (bound.window, bound.steps, bound.step_kwh) == here]
    total = amounts[0] if len(amounts) == 1 else f"{', '.join(amounts[:-1])} or {amounts[-1]}"
    where = f"in the {window} window of {steps} steps"
    which = "" if len(amounts) == 1 else ", depending on the question (see what was measured)"
    return f"A household counts for at most {step_kwh:g} kWh a step and {total} kWh {where}{which}."


def _which(label: Label, origin: str, origins: int) -> str:
    """Return which bounds have this origin: all of them, or those with these amounts in a window."""
    if origins == 1:
        return "the bounds"
    same = (bound for bound in label.bounds if label.origin_in_words(bound) == origin)
    return " and ".join(f"{bound.window_kwh:g} kWh" for bound in same)


def _utc(instant: datetime) -> str:
    return f"{instant.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC".replace(":00 UTC", " UTC")


def _pairs(facts: dict[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in facts.items())
