"""What a publication states: its label, and the release with a private bound."""

from __future__ import annotations

from dataclasses import asdict
from datetime import date, timedelta

from gridveil.mechanisms.base import Mechanism, Progress, silent
from gridveil.mechanisms.bounds import choose_bound, debias_estimate
from gridveil.mechanisms.inference.true_consumption import infer_true_consumption
from gridveil.model.arrays import WH_PER_KWH
from gridveil.model.window import Window
from gridveil.publishing.plan import Plan, version
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
from gridveil.trusted.kernel.bound import Bound
from gridveil.trusted.kernel.discrete_laplace import VECTORISED_FROM
from gridveil.trusted.kernel.kernel import Kernel, Record
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


# The privacy statement of a publication: public settings, what the kernel recorded, and the ledger's debit.


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
        noise=_noise(kernel),
        bounds=_bounds(plan, kernel.records),
        bound_origin=spec.bound_origin,
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
        ledger_entry=debit,
        not_covered=wording.caveats(
            corrected=correction is not None, about_the_truth=about_the_truth, unit=debit.unit if debit else None
        ),
    )


def _used(records: tuple[Record, ...]) -> list[tuple[Window, Bound]]:
    """Return the bounds that were measured under, in that order."""
    return list(dict.fromkeys((record.window, record.bound) for record in records if record.bound is not None))


def _stated(plan: Plan, window: Window, bound: Bound) -> bool:
    """Whether a window's bound is the publisher's. Asked of what was measured: a mechanism may choose a lower one."""
    given = plan.spec.to_bound()
    here = given if window == plan.window else given.prorate(plan.window.steps, window.steps)
    return not plan.spec.private_bound and bound == here


def _histogram_epsilon(records: tuple[Record, ...]) -> float:
    return sum(record.epsilon for record in records if record.kind == "household_totals")


def _private_bound_epsilon(plan: Plan, records: tuple[Record, ...]) -> float | None:
    """Return what bounds cost that were chosen from a histogram; `None` if there are none."""
    chosen = not all(_stated(plan, *used) for used in _used(records))
    return (_histogram_epsilon(records) or None) if chosen else None


def _noise(kernel: Kernel) -> list[NoiseFacts]:
    if not kernel.private:
        return []
    kinds = list(dict.fromkeys(record.noise for record in kernel.records))
    many = any(record.noise == "laplace" and record.answers >= VECTORISED_FROM for record in kernel.records)
    samplers: list[wording.Sampler] = ["opendp", "gridveil"] if many else ["opendp"]
    return [NoiseFacts(kinds=kinds, samplers=samplers, opendp=version("opendp"))]


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
    chosen: wording.WindowOrigin = "histogram" if _histogram_epsilon(records) else "mechanism"
    return [
        BoundFacts(
            window=_which(plan, window),
            step_kwh=bound.step / WH_PER_KWH,
            window_kwh=bound.window / WH_PER_KWH,
            steps=window.steps,
            step_origin="supply" if plan.spec.bound_step is None else "stated",
            window_origin="stated" if _stated(plan, window, bound) else chosen,
        )
        for window, bound in _used(records)
    ]


def _which(plan: Plan, window: Window) -> WindowName:
    if window == plan.window:
        return "published"
    return "training" if window == plan.training_window else "other"
