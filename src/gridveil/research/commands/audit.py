"""`gridveil audit`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gridveil.research.commands import require_libraries

WIDE = 140
"""Columns of a table that does not go to a terminal."""


def run(
    mechanism: Annotated[str | None, typer.Option(help="Attack this mechanism")] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Attack all mechanisms: ten to twenty minutes on two cores")
    ] = False,
    epsilon: Annotated[str, typer.Option(help="What is claimed")] = "1",
    json: Annotated[Path | None, typer.Option(help="Write the findings: a new .json file")] = None,
    figure: Annotated[
        Path | None, typer.Option(help="Draw claimed and attained epsilon: a new .png, .svg or .pdf")
    ] = None,
) -> None:
    """Attack the claim: publish small towns with and without a canary household, and prove how much epsilon shows.

    Shows a lower bound on epsilon for each mechanism, all at once with confidence 1 - 1e-6, and the ceiling: the most
    that so many runs could prove. Fails if a bound is above the claim, or if the attacks at epsilon 1 attain less than
    they must.
    """
    require_libraries("audit")
    from rich.console import Console

    from gridveil.cli import show
    from gridveil.mechanisms.base import list_names, make
    from gridveil.model.errors import GridveilError, UsageError
    from gridveil.model.files import check_new, write_new
    from gridveil.research.audit.effort import Effort
    from gridveil.research.audit.report import (
        as_json,
        draw_audit,
        list_objections,
        list_powerless,
        make_entries,
        make_table,
        state_verdict,
    )
    from gridveil.research.audit.study import audit_all
    from gridveil.trusted.budget import PureDP

    if every == (mechanism is not None):
        msg = "say what to attack: --mechanism NAME, or --all"
        raise UsageError(msg, code="audit-needs-mechanism")
    chosen = list_names() if mechanism is None else [mechanism]
    claim = float(PureDP(epsilon).epsilon)
    for name in chosen:
        make(name, {})  # refuses an unknown one now
    check_new([json, figure])
    if figure is not None:
        from gridveil.report.figures.chart import as_file, check_format

        kind = check_format(figure)
    with show.bars() as tell:
        found = make_entries(audit_all(chosen, epsilon, Effort(), lambda done: tell("attack", done)), claim)
    console = Console(highlight=False, markup=False)
    console.width = console.width if console.is_terminal else WIDE
    console.print(make_table(found))
    if json is not None:
        write_new(json, as_json(found))
        show.out.print(f"Wrote {json}")
    if figure is not None:
        write_new(figure, as_file(draw_audit(found), kind))
        show.out.print(f"Wrote {figure}")
    for words in list_powerless(found):
        show.out.print(words)
    if wrong := list_objections(found):
        msg = "the audit objects:\n" + "\n".join(f"  {one}" for one in wrong)
        raise GridveilError(msg, code="audit-objects")
    show.out.print(state_verdict(found))
