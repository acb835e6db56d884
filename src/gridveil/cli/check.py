"""`gridveil check`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gridveil.cli import options as o
from gridveil.model.errors import InputError

if TYPE_CHECKING:
    from gridveil.publishing.plan import Plan
    from gridveil.publishing.spec import Spec
    from gridveil.trusted.source.report import Fault, Report


def run(
    source: o.Source = None,
    households: o.Households = None,
    timezone: o.Timezone = None,
    timestamps: o.Timestamps = None,
    unit: o.Unit = None,
    interval: o.Interval = None,
    extent: o.Extent = None,
    grid: o.Cells = None,
    cell_size: o.CellSize = None,
    crs: o.Crs = None,
    start: o.Start = None,
    step: o.Step = None,
    steps: o.Steps = None,
    bound: o.Bound = None,
    bound_step: o.BoundStep = None,
    bound_window: o.BoundWindow = None,
    epsilon: o.Epsilon = None,
    acknowledge: o.Acknowledge = False,
    mechanism: o.MechanismName = None,
    parameters: o.Parameters = None,
    engine: o.EngineName = None,
    master: o.Master = None,
    database: o.Database = None,
    memory: o.Memory = None,
    scratch: o.Scratch = None,
    out: o.Out = None,
    strict: Annotated[bool, typer.Option("--strict", help="Fail if anything was dropped")] = False,
) -> None:
    """Show what a publication would drop and why, without publishing. For the operator only.

    Takes the flags of `publish` but those of the label; bounds, epsilon and --out are not needed. Of a series (a spec
    with a cadence) it looks at the next window, and what is missing fails only once that one is over.
    """
    flags = {name: value for name, value in locals().items() if name not in ("source", "parameters", "strict")}
    from gridveil.cli import show
    from gridveil.publishing.check import check
    from gridveil.publishing.next_release import upcoming
    from gridveil.publishing.plan import Plan

    spec = o.spec_from(source, parameters, flags)
    series = spec.cadence is not None
    plan = Plan.of(upcoming(spec) if series else spec)
    waits = series and _tell_window(plan)
    try:
        with show.bars(spec.scratch) as tell:
            report = check(plan.spec, progress=tell)
    except InputError as error:
        if not waits:
            raise
        show.out.print(f"There is nothing to look at yet ({error}).")
        return
    show.report(report, show.out)
    if not report.counted and not waits:
        msg = "no reading counts: there is nothing to publish"
        raise InputError(msg, code="nothing-counted")
    if strict and _to_report(report, plan.spec):
        msg = "--strict: there is something to report"
        raise InputError(msg, code="findings-strict")


def _tell_window(plan: Plan) -> bool:
    """Say which window of a series is looked at, and what it still waits for; return whether it is not over."""
    from datetime import UTC, datetime

    from gridveil.cli import show
    from gridveil.model.window import timezone
    from gridveil.publishing.next_checks import missing_interval

    zone = plan.spec.tables()[0].timezone
    start, end = (f"{at.astimezone(timezone(zone)):%Y-%m-%d %H:%M}" for at in (plan.window.start, plan.window.end))
    show.out.print(f"The next window of the series: {start} to {end} ({zone}).")
    waits = plan.window.end > datetime.now(UTC)
    if waits:
        show.out.print(f"It is not over: `publish --next` waits until {end}.")
    missing = missing_interval(plan.spec, plan.window)
    if missing is not None:
        show.out.print(f"WARNING: {missing}. `publish --next` waits for it.")
    return waits


def _to_report(report: Report, spec: Spec) -> list[Fault]:
    """Return what is worth failing for: files of days beside the window have rows outside of it, as they should."""
    from gridveil.trusted.engines.base.partitions import has_fields
    from gridveil.trusted.source.rules import OUTSIDE_STEPS

    by_days = spec.readings is not None and has_fields(spec.readings.path)
    return [fault for fault in report.faults if not (by_days and fault.code == OUTSIDE_STEPS)]
