"""A publication from end to end: check what is public, ingest, measure, write the release with its label."""

from __future__ import annotations

import errno
import os
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from gridveil.mechanisms.base import Mechanism, Progress, check_settings, silent
from gridveil.mechanisms.bounds import choose_bound, debias_estimate
from gridveil.mechanisms.inference.true_consumption import infer_true_consumption
from gridveil.model.arrays import WH_PER_KWH
from gridveil.model.errors import BudgetError, GridveilWarning, UsageError
from gridveil.model.files import check_times
from gridveil.model.window import Window
from gridveil.publishing.debit import Spending, check_record, list_inputs, write_record
from gridveil.publishing.in_memory import spec_with_tables
from gridveil.publishing.plan import Plan, version
from gridveil.publishing.spec import HOW_TO_CHOOSE, NO_CRS, Spec
from gridveil.release.format import wording
from gridveil.release.format.facts import GridFacts, LedgerFacts, WindowFacts
from gridveil.release.format.label import (
    BoundFacts,
    Label,
    MeasurementFacts,
    MechanismFacts,
    NoiseFacts,
    Privacy,
    WindowName,
)
from gridveil.release.format.netcdf import check_disk_space, write_release
from gridveil.trusted.budget import ACKNOWLEDGE_ABOVE, Bound, PureDP
from gridveil.trusted.kernel.discrete_laplace import VECTORISED_FROM
from gridveil.trusted.kernel.kernel import Kernel, Record
from gridveil.trusted.kernel.noise import ExactNoise, Noise
from gridveil.trusted.source.ingest import IngestedSource
from gridveil.trusted.source.report import Report
from gridveil.uncertainty import Estimate

# A release without a public window bound: one is chosen privately first, and paid for from epsilon.

FACTOR = "debias_factor"
"""Where the details of an estimate say what its values were multiplied by for what private bounds cut."""


def release_with_private_bound(
    kernel: Kernel, mechanism: Mechanism, progress: Progress = silent, *, error_bars: bool = True
) -> Estimate:
    """Return what a mechanism makes of a kernel that has no window bound of its own (only what its steps add up to).

    A noisy histogram of household totals gives the bound; the mechanism measures under it with what remains, and its
    estimate is corrected for what the bound cuts. A mechanism with `chooses_bounds` does all of this itself. Without
    `error_bars` those of the noise alone are kept, which takes no time.

    Guarantee: the kernel's. It charges for the histogram, and the chosen bound follows from that alone.
    """
    if getattr(mechanism, "chooses_bounds", False):
        return mechanism.release(kernel.session(), progress)
    chosen = choose_bound(kernel.session())
    progress("choose the bound", 1.0)
    estimate = mechanism.release(kernel.session(chosen.bound), progress)
    if not error_bars:
        return debias_estimate(estimate, chosen)
    return infer_true_consumption(estimate, chosen, timedelta(days=1) / kernel.session().window.step)


def make_label(plan: Plan, kernel: Kernel, estimate: Estimate, today: date, debit: LedgerFacts | None = None) -> Label:
    """Return the privacy statement: public settings, what the kernel recorded, and the ledger's debit."""
    spec, training = plan.spec, plan.training_window
    correction = estimate.details.get(FACTOR)
    about_the_truth = estimate.errors.about_the_truth
    return Label(
        title=spec.title,
        publisher=spec.publisher,
        published=today,
        gridveil_version=version("gridveil"),
        private=kernel.private,
        privacy=Privacy(epsilon=float(kernel.budget.epsilon), epsilon_accounted=kernel.spent),
        noise=_noise_facts(kernel),
        bounds=_bound_facts(plan, kernel.records),
        bound_origin=spec.bound_origin,
        private_bound_epsilon=_private_bound_epsilon(plan, kernel.records),
        correction=correction,
        mechanism=MechanismFacts(
            name=spec.mechanism,
            parameters=asdict(plan.mechanism),  # type: ignore[call-overload]  # mechanisms are dataclasses
            details=estimate.details,
        ),
        measurements=[_measurement_facts(plan, record) for record in kernel.records],
        grid=GridFacts.of(plan.grid),
        window=WindowFacts.of(plan.window),
        training_window=WindowFacts.of(training) if training else None,
        choices=spec.choices,
        ledger_entry=debit,
        not_covered=wording.caveats(
            corrected=correction is not None, about_the_truth=about_the_truth, unit=debit.unit if debit else None
        ),
    )


def _measured_bounds(records: tuple[Record, ...]) -> list[tuple[Window, Bound]]:
    """Return the bounds that were measured under, in that order."""
    return list(dict.fromkeys((record.window, record.bound) for record in records if record.bound is not None))


def _is_publisher_bound(plan: Plan, window: Window, bound: Bound) -> bool:
    """Whether a window's bound is the publisher's. Asked of what was measured: a mechanism may choose a lower one."""
    given = plan.spec.to_bound()
    here = given if window == plan.window else given.prorate(plan.window.steps, window.steps)
    return not plan.spec.private_bound and bound == here


def _histogram_epsilon(records: tuple[Record, ...]) -> float:
    return sum(record.epsilon for record in records if record.kind == "household_totals")


def _private_bound_epsilon(plan: Plan, records: tuple[Record, ...]) -> float | None:
    """Return what bounds cost that were chosen from a histogram; `None` if there are none."""
    chosen = not all(_is_publisher_bound(plan, *used) for used in _measured_bounds(records))
    return (_histogram_epsilon(records) or None) if chosen else None


def _noise_facts(kernel: Kernel) -> list[NoiseFacts]:
    if not kernel.private:
        return []
    kinds = list(dict.fromkeys(record.noise for record in kernel.records))
    many = any(record.noise == "laplace" and record.answers >= VECTORISED_FROM for record in kernel.records)
    samplers: list[wording.Sampler] = ["opendp", "gridveil"] if many else ["opendp"]
    return [NoiseFacts(kinds=kinds, samplers=samplers, opendp=version("opendp"))]


def _measurement_facts(plan: Plan, record: Record) -> MeasurementFacts:
    return MeasurementFacts(
        kind=record.kind,
        labels=record.answers,
        epsilon=record.epsilon,
        window=_window_name(plan, record.window),
        noise=record.noise,
        bound_kwh=None if record.bound is None else record.bound.window / WH_PER_KWH,
    )


def _bound_facts(plan: Plan, records: tuple[Record, ...]) -> list[BoundFacts]:
    chosen: wording.WindowOrigin = "histogram" if _histogram_epsilon(records) else "mechanism"
    return [
        BoundFacts(
            window=_window_name(plan, window),
            step_kwh=bound.step / WH_PER_KWH,
            window_kwh=bound.window / WH_PER_KWH,
            steps=window.steps,
            step_origin="supply" if plan.spec.bound_step is None else "stated",
            window_origin="stated" if _is_publisher_bound(plan, window, bound) else chosen,
        )
        for window, bound in _measured_bounds(records)
    ]


def _window_name(plan: Plan, window: Window) -> WindowName:
    if window == plan.window:
        return "published"
    return "training" if window == plan.training_window else "other"


# A publication from end to end: check what is public, ingest, measure, write the release.

MAX_NAME_BYTES = 255
"""Bytes that a name of a file or folder may have."""

OUT_TAKEN = {errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR}
"""Why a folder cannot be renamed to what another process has put there."""


@dataclass(frozen=True)
class Published:
    """What a publication did: where the release is and what was spent. `report` is for the operator only."""

    path: Path
    label: Label = field(repr=False)
    report: Report = field(repr=False)  # a notebook would show it to everybody
    warnings: tuple[GridveilWarning, ...] = ()
    """What failed when the release was there already, and takes nothing from it."""


def publish(
    spec: Spec | str | Path | None = None,
    *,
    progress: Progress = silent,
    **settings: Any,  # noqa: ANN401  # see Spec
) -> Published:
    """Publish a release by a spec (or its TOML file), by settings, or by both, and return where it is and its label.

    settings: those of `Spec`; they override those of the spec. A table may be given as its path or, to DuckDB, itself:
    a DataFrame, an Arrow table or a DuckDB relation (`readings=frame`, or `readings={"table": frame, "unit": "Wh"}`).

    Everything that is public is checked before a row is read, and nothing is at `out` unless all went well. State a
    `ledger` (and a `population`, if it has several), which is debited before anything is measured, or `no_ledger=True`.

    Raises `UsageError` for settings that are missing or do not fit, `InputError` for a table that cannot be read,
    `BudgetError` where the ledger or the budget has no room. Once debited, a budget stays spent.
    """
    with spec_with_tables(settings, spec) as made:
        return run(made, progress=progress)


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
    today = today or datetime.now(UTC).date()  # before anything is read: how long that takes depends on the data
    spec.check_single()
    spec.need(*HOW_TO_CHOOSE)
    plan, bound, budget, out = Plan.of(spec), spec.to_bound(), check_budget(spec), Path(spec.out or "")
    plan.check_openable()
    _refuse_future(plan.window)
    check_out(out)
    check_disk_space(out, plan.grid, plan.window)
    check_scratch(spec.scratch, out)
    if record is not None:
        check_record(record, out)
    if noise is None or type(noise) is ExactNoise:  # as the kernel asks: whatever is private is counted
        spec.check_ledger()
    check_settings(plan.mechanism, plan.grid, plan.window, bound, float(budget.epsilon))
    spending = _open_spending(plan, budget)
    if plan.has_lonlat_without_crs():
        raise UsageError(NO_CRS, code="crs-not-stated")
    progress("read the tables", 0.0)
    files = [] if record is None else list_inputs(*spec.tables(), plan.reading_window)
    source, report = plan.ingest(progress)
    with closing(source):
        kernel = Kernel(
            source,
            plan.window,
            budget=budget,
            bound=bound,
            noise=noise,
            permit=spending.permit if spending else None,
            progress=progress,
        )
        with spending.until_released() if spending else nullcontext():
            label, digests = _release(plan, kernel, spending, out, today, progress)
        warnings = [_forget(source)]
    if spending:
        warnings.append(spending.record(digests))
    if record:
        entry = label.ledger_entry.hash if label.ledger_entry else None
        warnings.append(write_record(record, files=files, report=report, release=out, entry=entry))
    return Published(out, label, report, tuple(warning for warning in warnings if warning is not None))


def _open_spending(plan: Plan, budget: PureDP) -> Spending | None:
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
        estimate = plan.mechanism.release(kernel.session(), progress)
    debit, entry = spending.entry() if spending else (None, None)
    label = make_label(plan, kernel, estimate, today, debit)
    try:
        digests = write_release(
            out, grid=plan.grid, window=plan.window, estimate=estimate, label=label, entry=entry, progress=progress
        )
    except OSError as error:
        if error.errno in OUT_TAKEN and os.path.lexists(out):
            msg = f"{out}: another release was written there meanwhile, and stays; this one is not kept"
            raise UsageError(msg, code="out-taken-meanwhile") from error
        msg = f"{out}: the release could not be written ({error.strerror or error}), and nothing is there"
        raise UsageError(msg, code="release-not-written") from error
    return label, digests


def _forget(source: IngestedSource) -> GridveilWarning | None:
    """Take away what was kept to go on after an interruption, and return a warning if that fails."""
    try:
        source.forget()
    except OSError as error:
        msg = f"WARNING: the release is valid, but --scratch still holds private results ({error}); remove it yourself"
        return GridveilWarning(msg, code="scratch-not-removed")
    return None


def check_scratch(scratch: Path | None, out: Path) -> None:
    """Refuse, before anything is read, private results in a place that is published."""
    if scratch is not None and Path(os.path.realpath(scratch)).is_relative_to(os.path.realpath(out)):
        msg = f"{scratch}: that is inside the release, and scratch is as private as the readings; keep it elsewhere"
        raise UsageError(msg, code="scratch-inside-release")


def _refuse_future(window: Window) -> None:
    """Refuse what nobody can have read yet: a typing error, which would cost a whole budget."""
    now = datetime.now(UTC)
    if window.start > now:
        msg = f"start {window.start.isoformat()} is in the future, by a clock that shows {now:%Y-%m-%d}; see --start"
        raise UsageError(msg, code="window-in-future")


def check_out(out: Path) -> None:
    """Refuse, before anything is read or spent, a place where no release could be written."""
    if os.path.lexists(out):
        msg = f"{out}: already there, and never overwritten; give another --out"
        raise UsageError(msg, code="out-exists")
    if len(os.fsencode(out.name)) > MAX_NAME_BYTES:
        msg = f"{out}: the name is too long; give another --out"
        raise UsageError(msg, code="out-name-too-long")
    above = next(folder for folder in out.absolute().parents if folder.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        msg = f"{out}: no folder can be made there ({above} is a file, or not yours to write); give another --out"
        raise UsageError(msg, code="out-not-writable")
    check_times(above)


def check_budget(spec: Spec) -> PureDP:
    """Return the budget; a very weak one must be acknowledged."""
    spec.need("epsilon")
    budget = PureDP(str(spec.epsilon))
    if budget.epsilon > ACKNOWLEDGE_ABOVE and not spec.acknowledge:
        msg = (
            f"epsilon {spec.epsilon} protects next to nothing: whoever suspects that a household is in the data can be "
            f"all but certain. Lower it, or state that you know with --acknowledge; the label says it plainly"
        )
        raise BudgetError(msg, code="epsilon-not-acknowledged")
    return budget
