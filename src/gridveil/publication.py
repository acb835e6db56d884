"""A publication from end to end: check what is public, ingest, measure, write the release."""

from __future__ import annotations

import errno
import os
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from gridveil.cube import Grid, Window
from gridveil.debit import Spending
from gridveil.errors import BudgetError, UsageError
from gridveil.estimate import Estimate, Posterior
from gridveil.ingest.ingest import axes, ingest
from gridveil.ingest.report import Report
from gridveil.ingest.source import IngestedSource
from gridveil.mechanisms.base import Mechanism, Progress, silent
from gridveil.mechanisms.bounded import FACTOR, release_with_private_bound
from gridveil.mechanisms.mosaic.public_shape import read_shape
from gridveil.mechanisms.registry import make, train_steps
from gridveil.mechanisms.rehearsal import check_settings
from gridveil.operator_record import check_record, inputs, write_record
from gridveil.privacy.bound import Bound
from gridveil.privacy.budget import ACKNOWLEDGE_ABOVE, PureDP
from gridveil.privacy.kernel import Kernel, Record
from gridveil.privacy.noise import ExactNoise, Noise
from gridveil.release import wording
from gridveil.release.debit_facts import DebitFacts, StatedBound
from gridveil.release.label import (
    BoundFacts,
    GridFacts,
    Label,
    MeasurementFacts,
    MechanismFacts,
    Privacy,
    WindowFacts,
    WindowName,
)
from gridveil.release.ledger_facts import LedgerFacts, in_words
from gridveil.release.openable import check_openable
from gridveil.release.write import write_release
from gridveil.spec import HOW_TO_CHOOSE, LATITUDE, LONGITUDE, NO_CRS, STEP_BY_DEFAULT, WH_PER_KWH, Spec, make_spec

version = cache(metadata.version)  # read from a file, which an audit would do thousands of times

LONGEST_NAME = 255
"""Bytes that a name of a file or folder may have."""

TAKEN = {errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR}
"""Why a folder cannot be renamed to what another process has put there."""


@dataclass(frozen=True)
class Published:
    """What a publication did: where the release is and what was spent. `report` is for the operator only."""

    path: Path
    label: Label
    report: Report
    warnings: tuple[str, ...] = ()
    """What failed when the release was there already, and takes nothing from it."""


@dataclass(frozen=True)
class Plan:
    """All that is decided before any data is read."""

    spec: Spec
    grid: Grid
    window: Window
    reading_window: Window
    mechanism: Mechanism

    @classmethod
    def of(cls, spec: Spec) -> Plan:
        """Return the plan of a spec, or say what is missing."""
        spec.need("extent", "grid", "start", "steps")
        spec.check_bound()
        window = spec.to_window()
        mechanism = make(spec.mechanism, {**spec.parameters, **_profile(spec)})
        before = train_steps(mechanism)
        first = window.before(before).start if before else window.start
        return cls(spec, spec.to_grid(), window, Window(first, window.step, before + window.steps), mechanism)

    @property
    def training_window(self) -> Window | None:
        """The steps before the published ones that the mechanism learns from, if any."""
        before = train_steps(self.mechanism)
        return self.window.before(before) if before else None

    def reads(self) -> dict[str, Window]:
        """Return what is read, by the names that a debit and the label give it."""
        training = self.training_window
        return {"published": self.window, **({"training": training} if training else {})}

    def debit_facts(self) -> DebitFacts:
        """Return the public settings that a ledger's entry holds."""
        spec, bound = self.spec, self.spec.to_bound()
        return DebitFacts(
            title=spec.title,
            publisher=spec.publisher,
            choices=spec.choices,
            gridveil_version=version("gridveil"),
            mechanism=spec.mechanism,
            parameters=asdict(self.mechanism),  # type: ignore[call-overload]  # mechanisms are dataclasses
            grid=GridFacts.of(self.grid),
            window=WindowFacts.of(self.window),
            training_window=WindowFacts.of(self.training_window) if self.training_window else None,
            bound=StatedBound(
                step_kwh=bound.step / WH_PER_KWH,
                window_kwh=None if spec.private_bound else bound.window / WH_PER_KWH,
                origin=spec.bound_origin,
            ),
        )

    def in_degrees_of_nothing(self) -> bool:
        """Whether places are in columns called longitude and latitude, but no coordinate system was stated.

        It asks for the names of columns alone, never for a row, so that it may stop a publication.
        """
        if self.spec.crs is not None:
            return False
        x, y = axes(self.spec.tables()[1])
        return x.lower() in LONGITUDE and y.lower() in LATITUDE

    def check_openable(self) -> None:
        """Refuse, before anything is read or spent, what would be a release that nobody could open."""
        spec = self.spec
        texts = {name: getattr(spec, name) for name in ("title", "publisher", "choices", "bound_origin")}
        check_openable(self.grid, (self.window, self.reading_window), texts, asdict(self.mechanism))  # type: ignore[call-overload]  # mechanisms are dataclasses

    def ingest(self) -> tuple[IngestedSource, Report]:
        """Read the tables."""
        return ingest(*self.spec.tables(), self.grid, self.reading_window)


def _profile(spec: Spec) -> dict[str, Any]:
    """Return the public shape of the day as parameters of a mechanism: its numbers, so that the label has them too."""
    if spec.profile is None:
        return {}
    zone = spec.readings.timezone if spec.readings else "UTC"
    return {"profile": read_shape(spec.profile).hourly.ravel().tolist(), "profile_zone": zone}


def publish(*, progress: Progress = silent, **settings: Any) -> Published:  # noqa: ANN401  # see Spec
    """Publish a release; the settings are those of `Spec`, tables may be given as paths.

    Everything that is public is checked before a row is read, and nothing is at `out` unless all went well. State a
    `ledger` (and a `population`, if it has several), which is debited before anything is measured, or `no_ledger=True`.
    """
    return run(make_spec(settings), progress=progress)


def run(
    spec: Spec,
    *,
    progress: Progress = silent,
    noise: Noise | None = None,
    today: date | None = None,
    record: Path | None = None,
) -> Published:
    """Publish what a spec says.

    record: a new file for the operator alone, with exact digests and counts of what was read.
    noise, today: for tests. Other noise marks the release as not private, and needs no ledger: none would debit it.
    """
    spec.need(*HOW_TO_CHOOSE)
    plan, bound, budget, out = Plan.of(spec), spec.to_bound(), allowed_budget(spec), Path(spec.out or "")
    plan.check_openable()
    _refuse_future(plan.window)
    check_out(out)
    if record is not None:
        check_record(record, out)
    if noise is None or type(noise) is ExactNoise:  # as the kernel asks: whatever is private is counted
        spec.check_ledger()
    check_settings(plan.mechanism, plan.grid, plan.window, bound, float(budget.epsilon))
    spending = _spending(plan, budget)
    if plan.in_degrees_of_nothing():
        raise UsageError(NO_CRS)
    progress("read the tables", 0.0)
    files = [] if record is None else inputs(*spec.tables())
    source, report = plan.ingest()
    progress("read the tables", 1.0)
    kernel = Kernel(
        source,
        plan.window,
        budget=budget,
        bound=bound,
        noise=noise,
        permit=spending.permit if spending else None,
    )
    with spending.until_released() if spending else nullcontext():
        label, digests = _release(plan, kernel, spending, out, today or datetime.now(UTC).date(), progress)
    entry = label.ledger_entry.hash if label.ledger_entry else None
    warnings = [
        spending.record(digests) if spending else None,
        write_record(record, files=files, report=report, release=out, entry=entry) if record else None,
    ]
    return Published(out, label, report, tuple(filter(None, warnings)))


def _spending(plan: Plan, budget: PureDP) -> Spending | None:
    """Return the way to the ledger, if there is one: a debit that it has no room for is refused here."""
    spec = plan.spec
    if spec.ledger is None:
        return None
    return Spending(spec.ledger, spec.population, budget.epsilon, plan.reads(), plan.debit_facts())


def _release(
    plan: Plan, kernel: Kernel, spending: Spending | None, out: Path, today: date, progress: Progress
) -> tuple[Label, dict[str, str]]:
    """Measure, and write the release. Return its label, and the digests of its files."""
    if plan.spec.private_bound:
        estimate = release_with_private_bound(kernel, plan.mechanism, progress)
    else:
        estimate = plan.mechanism.release(kernel.face(), progress)
    debit, entry = spending.entry() if spending else (None, None)
    label = make_label(plan, kernel, estimate, today, debit)
    progress("write the release", 0.0)
    try:
        digests = write_release(out, grid=plan.grid, window=plan.window, estimate=estimate, label=label, entry=entry)
    except OSError as error:
        if error.errno in TAKEN and os.path.lexists(out):
            msg = f"{out}: another release was written there meanwhile, and stays; this one is not kept"
            raise UsageError(msg) from error
        msg = f"{out}: the release could not be written ({error.strerror or error}), and nothing is there"
        raise UsageError(msg) from error
    progress("write the release", 1.0)
    return label, digests


def _refuse_future(window: Window) -> None:
    """Refuse what nobody can have read yet: a typing error, which would cost a whole budget."""
    now = datetime.now(UTC)
    if window.start > now:
        msg = f"start {window.start.isoformat()} is in the future, by a clock that shows {now:%Y-%m-%d}; see --start"
        raise UsageError(msg)


def check_out(out: Path) -> None:
    """Refuse, before anything is read or spent, a place where no release could be written."""
    if os.path.lexists(out):
        msg = f"{out}: already there, and never overwritten; give another --out"
        raise UsageError(msg)
    if len(os.fsencode(out.name)) > LONGEST_NAME:
        msg = f"{out}: the name is too long; give another --out"
        raise UsageError(msg)
    above = next(folder for folder in out.absolute().parents if folder.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        msg = f"{out}: no folder can be made there ({above} is a file, or not yours to write); give another --out"
        raise UsageError(msg)


def allowed_budget(spec: Spec) -> PureDP:
    """Return the budget; a very weak one must be acknowledged."""
    spec.need("epsilon")
    budget = PureDP(str(spec.epsilon))
    if budget.epsilon > ACKNOWLEDGE_ABOVE and not spec.acknowledge:
        msg = (
            f"epsilon {spec.epsilon} protects next to nothing: whoever suspects that a household is in the data can be "
            f"all but certain. Lower it, or state that you know with --acknowledge; the label says it plainly"
        )
        raise BudgetError(msg)
    return budget


def make_label(plan: Plan, kernel: Kernel, estimate: Estimate, today: date, debit: LedgerFacts | None = None) -> Label:
    """Return the privacy statement: public settings, what the kernel recorded, and the ledger's debit."""
    spec, training = plan.spec, plan.training_window
    correction = estimate.details.get(FACTOR)
    about_the_truth = isinstance(estimate.errors, Posterior)
    return Label(
        title=spec.title,
        publisher=spec.publisher,
        published=today,
        gridveil_version=version("gridveil"),
        private=kernel.private,
        privacy=Privacy(epsilon=float(kernel.budget.epsilon), epsilon_accounted=kernel.spent),
        noise=_noise(kernel),
        bounds=_bounds(plan, kernel.records),
        private_bound_epsilon=_private_bound_epsilon(plan, kernel.records),
        correction=correction,
        mechanism=MechanismFacts(
            name=spec.mechanism,
            parameters=asdict(plan.mechanism),  # type: ignore[call-overload]  # mechanisms are dataclasses
            details=estimate.details,
        ),
        measurements=[_measurement(plan, record) for record in kernel.records],
        grid=GridFacts.of(plan.grid),
        window=WindowFacts.of(plan.window),
        training_window=WindowFacts.of(training) if training else None,
        choices=spec.choices,
        ledger=in_words(debit) if debit else wording.NO_LEDGER,
        ledger_entry=debit,
        not_covered=wording.not_covered(
            corrected=correction is not None, about_the_truth=about_the_truth, ledger=debit is not None
        ),
    )


def _used(records: tuple[Record, ...]) -> list[tuple[Window, Bound]]:
    """Return the bounds that were measured under, in that order."""
    return list(dict.fromkeys((record.window, record.bound) for record in records if record.bound is not None))


def _stated(plan: Plan, window: Window, bound: Bound) -> bool:
    """Whether a window's bound is the publisher's. Asked of what was measured: a mechanism may choose a lower one."""
    given = plan.spec.to_bound()
    here = given if window == plan.window else given.over(plan.window.steps, window.steps)
    return not plan.spec.private_bound and bound == here


def _histogram_epsilon(records: tuple[Record, ...]) -> float:
    return sum(record.epsilon for record in records if record.kind == "household_totals")


def _private_bound_epsilon(plan: Plan, records: tuple[Record, ...]) -> float | None:
    """Return what bounds cost that were chosen from a histogram; `None` if there are none."""
    chosen = not all(_stated(plan, *used) for used in _used(records))
    return (_histogram_epsilon(records) or None) if chosen else None


def _noise(kernel: Kernel) -> str:
    if not kernel.private:
        return wording.TEST_NOISE
    return wording.exact_noise([record.noise for record in kernel.records], version("opendp"))


def _measurement(plan: Plan, record: Record) -> MeasurementFacts:
    return MeasurementFacts(
        kind=record.kind,
        labels=record.answers,
        epsilon=record.epsilon,
        window=_which(plan, record.window),
        noise=record.noise,
        bound_kwh=None if record.bound is None else record.bound.window / WH_PER_KWH,
    )


def _bounds(plan: Plan, records: tuple[Record, ...]) -> list[BoundFacts]:
    histogram = _histogram_epsilon(records)
    return [
        BoundFacts(
            window=_which(plan, window),
            step_kwh=bound.step / WH_PER_KWH,
            window_kwh=bound.window / WH_PER_KWH,
            steps=window.steps,
            origin=_origin(plan.spec, histogram, stated=_stated(plan, window, bound)),
        )
        for window, bound in _used(records)
    ]


def _origin(spec: Spec, histogram: float, *, stated: bool) -> str:
    """Return where bounds came from: stated, by default or chosen privately, the window's and the step's."""
    step = spec.bound_origin if spec.bound_step is not None else STEP_BY_DEFAULT
    if not stated:
        chosen = wording.chosen_privately(histogram) if histogram else wording.CHOSEN_OTHERWISE
        return f"the window's {chosen}; the step's: {step}"
    return spec.bound_origin if spec.bound_step is not None else f"{spec.bound_origin}; the step's: {step}"


def _which(plan: Plan, window: Window) -> WindowName:
    if window == plan.window:
        return "published"
    return "training" if window == plan.training_window else "other"
