"""`gridveil plan`."""

from __future__ import annotations

from typing import Annotated

import typer

from gridveil.cli import options as o


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
    bound_step: o.BoundStep = None,
    bound_window: o.BoundWindow = None,
    epsilon: o.Epsilon = None,
    acknowledge: o.Acknowledge = False,
    mechanism: o.MechanismName = None,
    parameters: o.Parameters = None,
    out: o.Out = None,
    expect: Annotated[int, typer.Option(help="Rough public number of households")] = 1000,
) -> None:
    """Show the errors that mechanism, epsilon and bounds imply, before any data is read.

    Rehearses the publication on an invented town with as many households as you expect. Takes the flags of
    `publish` but those of the label; the tables and --out are not needed, and not touched.
    """
    flags = {name: value for name, value in locals().items() if name not in ("source", "parameters", "expect")}
    from rich.table import Column, Table

    from gridveil.cli import show
    from gridveil.evaluate.rehearse import rehearse
    from gridveil.release.wording import high_epsilon

    spec = o.spec_from(source, parameters, flags)
    with show.bars() as tell:
        expectations = rehearse(spec, expect, lambda stage, done: tell(f"rehearse: {stage}", done))
    table = Table(Column("question", no_wrap=True), "truth, kWh", "noise (s.e.)", "mean error")
    for line in expectations:
        relative = f"{100 * line.error / line.truth:.0f} %" if line.truth else "-"
        error = f"{line.error:,.2f} ({relative})"
        table.add_row(line.question, f"{line.truth:,.2f}", f"{line.standard_error:,.2f}", error)
    show.out.print(
        f"{spec.mechanism} at epsilon {spec.epsilon}, rehearsed on an invented town of {expect:,} households:"
    )
    show.out.print(table)
    show.out.print("One rehearsal: another one draws other noise. What the bounds cut off is part of the error.")
    for sentence in high_epsilon(float(spec.epsilon or 0)):
        show.out.print(sentence)
