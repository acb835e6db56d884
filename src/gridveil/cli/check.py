"""`gridveil check`."""

from __future__ import annotations

from typing import Annotated

import typer

from gridveil.cli import options as o
from gridveil.errors import InputError


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
    with a cadence) it looks at the next window.
    """
    flags = {name: value for name, value in locals().items() if name not in ("source", "parameters", "strict")}
    from gridveil.cli import show
    from gridveil.next_release import upcoming
    from gridveil.plan import Plan
    from gridveil.spec import NO_CRS

    spec = o.spec_from(source, parameters, flags)
    plan = Plan.of(spec if spec.cadence is None else upcoming(spec))
    with show.bars() as tell:
        ingested, report = plan.ingest(tell)
        ingested.close()
    show.report(report, show.out)
    if plan.in_degrees_of_nothing():
        show.out.print(f"WARNING: {NO_CRS}. Without it `publish` refuses to go on.")
    if not report.counted:
        msg = "no reading counts: there is nothing to publish"
        raise InputError(msg)
    if strict and report.faults:
        msg = "--strict: there is something to report"
        raise InputError(msg)
