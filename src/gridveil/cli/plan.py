"""`gridveil plan`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gridveil.cli import options as o

NOT_OF_A_SPEC = ("source", "parameters", "expect", "figure")
WIDE = 160
"""Columns of tables that do not go to a terminal."""


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
    out: o.Out = None,
    expect: Annotated[int, typer.Option(min=1, help="Rough public number of households")] = 1000,
    figure: Annotated[Path | None, typer.Option(help="Draw the curve: a new .png, .svg or .pdf file")] = None,
) -> None:
    """Show what error to expect at each epsilon, and suggest a grid and a step, before any data is read.

    Rehearses the publication on an invented town with as many households as you expect, for about 20 seconds. Takes the
    flags of `publish` but those of the label; the tables and --out are not needed, and not touched.
    """
    flags = {name: value for name, value in locals().items() if name not in NOT_OF_A_SPEC}
    from rich.console import Console

    from gridveil.cli import show
    from gridveil.model.files import check_new, write_new
    from gridveil.simulate import plan_report as plan_words
    from gridveil.simulate.planning import plan

    check_new([figure])
    if figure is not None:
        from gridveil.report.figures.style import as_file, check_format
        from gridveil.simulate.plan_report import draw_outlook

        kind = check_format(figure)
    spec = o.spec_from(source, parameters, flags, tables=False)
    with show.bars() as tell:
        outlook = plan(spec, expect=expect, progress=tell)
    console = Console(highlight=False)
    console.width = console.width if console.is_terminal else WIDE
    show.out.print(plan_words.heading(outlook))
    console.print(plan_words.expectations(outlook))
    summary, *others = plan_words.sentences(outlook)
    show.out.print(summary)
    console.print(plan_words.sizes(outlook))
    for sentence in (*others, *plan_words.privacy(outlook.epsilon, spec.cadence)):
        show.out.print(sentence)
    if figure is not None:
        write_new(figure, as_file(draw_outlook(outlook), kind))
        show.out.print(f"Wrote {figure}")
