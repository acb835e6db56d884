"""The publisher's commands: `gridveil check`, `gridveil plan` and `gridveil publish`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gridveil.cli import options as o
from gridveil.model.errors import GridveilWarning, InputError, UsageError

if TYPE_CHECKING:
    from gridveil.publishing.plan import Plan
    from gridveil.publishing.spec import Spec
    from gridveil.trusted.source.report import Fault, Report

NO_LEDGER = GridveilWarning(
    "WARNING: no ledger. Cumulative privacy loss for these households is not tracked, and the label says so.",
    code="no-ledger",
)
LEDGER_IGNORED = GridveilWarning(
    "WARNING: the ledger that the spec states is not debited, because of --no-ledger.", code="ledger-ignored"
)
FILE_WIDTH = 160
"""Columns of tables that do not go to a terminal."""


@o.takes(o.TABLES, o.GRID, o.TIME, o.BOUNDS, o.BUDGET, o.ENGINE, o.OUT)
def check(
    flags: o.Flags,
    source: o.Source = None,
    strict: Annotated[bool, typer.Option("--strict", help="Fail if anything was dropped")] = False,
) -> None:
    """Show what a publication would drop and why, without publishing. For the operator only.

    Takes the flags of `publish` except those of the label; bounds, epsilon and --out are not needed. For a series (a
    spec with a cadence) it checks the next window. Missing readings are an error only once that window is over.
    """
    from gridveil.cli import show
    from gridveil.publishing.check import check as check_tables
    from gridveil.publishing.next_release import make_next_spec
    from gridveil.publishing.plan import Plan

    spec = o.spec_from(source, flags)
    series = spec.cadence is not None
    plan = Plan.of(make_next_spec(spec) if series else spec)
    waits = series and _print_window(plan)
    try:
        with show.bars(spec.scratch) as progress:
            report = check_tables(plan.spec, progress=progress)
    except InputError as error:
        if not waits:
            raise
        show.out.print(f"There is nothing to check yet ({error}).")
        return
    show.report(report, show.out)
    if not report.counted and not waits:
        msg = "no reading counts: there is nothing to publish"
        raise InputError(msg, code="nothing-counted")
    if strict and _findings(report, plan.spec):
        msg = "--strict: there is something to report"
        raise InputError(msg, code="findings-strict")


def _print_window(plan: Plan) -> bool:
    """Print which window of a series is checked, and what it waits for; return whether it is not over yet."""
    from datetime import UTC, datetime

    from gridveil.cli import show
    from gridveil.model.window import timezone
    from gridveil.publishing.next_checks import find_missing_interval

    zone = plan.spec.tables()[0].timezone
    start, end = (f"{at.astimezone(timezone(zone)):%Y-%m-%d %H:%M}" for at in (plan.window.start, plan.window.end))
    show.out.print(f"The next window of the series: {start} to {end} ({zone}).")
    waits = plan.window.end > datetime.now(UTC)
    if waits:
        show.out.print(f"It is not over: `publish --next` waits until {end}.")
    missing = find_missing_interval(plan.spec, plan.window)
    if missing is not None:
        msg = f"WARNING: {missing}. `publish --next` waits for it."
        show.warn(GridveilWarning(msg, code="interval-missing"), show.out)
    return waits


def _findings(report: Report, spec: Spec) -> list[Fault]:
    """Return the faults that fail `--strict`. Files of whole days have rows outside of the window, as they should."""
    from gridveil.trusted.engines.base.schema import has_fields
    from gridveil.trusted.source.rules import OUTSIDE_STEPS

    by_days = spec.readings is not None and has_fields(spec.readings.path)
    return [fault for fault in report.faults if not (by_days and fault.code == OUTSIDE_STEPS)]


@o.takes(o.TABLES, o.GRID, o.TIME, o.BOUNDS, o.BUDGET, o.OUT)
def plan(
    flags: o.Flags,
    source: o.Source = None,
    expect: Annotated[int, typer.Option(min=1, help="Rough public number of households")] = 1000,
    figure: Annotated[Path | None, typer.Option(help="Draw the curve: a new .png, .svg or .pdf file")] = None,
) -> None:
    """Show what error to expect at each epsilon, and suggest a grid and a step, before any data is read.

    Rehearses the publication on an invented town with as many households as you expect, for about 20 seconds. Takes the
    flags of `publish` except those of the label; the tables and --out are not needed, and not touched.
    """
    from rich.console import Console

    from gridveil.cli import show
    from gridveil.model.files import check_new, write_new
    from gridveil.simulate import plan_report
    from gridveil.simulate.planning import plan as rehearse_plan

    check_new([figure])
    if figure is not None:
        from gridveil.report.figures.chart import as_file, check_format

        kind = check_format(figure)
    spec = o.spec_from(source, flags, tables=False)
    with show.bars() as progress:
        outlook = rehearse_plan(spec, expect=expect, progress=progress)
    console = Console(highlight=False)
    console.width = console.width if console.is_terminal else FILE_WIDTH
    show.out.print(plan_report.heading(outlook))
    console.print(plan_report.expectations(outlook))
    summary, *others = plan_report.sentences(outlook)
    show.out.print(summary)
    console.print(plan_report.sizes(outlook))
    for sentence in (*others, *plan_report.privacy(outlook.epsilon, spec.cadence)):
        show.out.print(sentence)
    if figure is not None:
        write_new(figure, as_file(plan_report.draw_outlook(outlook), kind))
        show.out.print(f"Wrote {figure}")


@o.takes(o.TABLES, o.GRID, o.TIME, o.BOUNDS, o.BUDGET, o.LABEL, o.LEDGER, o.ENGINE, o.OUT)
def publish(
    flags: o.Flags,
    source: o.Source = None,
    next_window: Annotated[
        bool, typer.Option("--next", help="The next window of a series: the spec has a cadence, --out is the series")
    ] = False,
    again: Annotated[
        bool,
        typer.Option("--again", help="With --next: retry a window that was debited but has no release"),
    ] = False,
    operator_record: Annotated[
        Path | None,
        typer.Option(
            help="A new file for the operator only: digests and counts of what was read, never to be published"
        ),
    ] = None,
) -> None:
    """Publish a release from a spec, or from the same as flags (flags override the spec).

    With --next, publish the next complete window of a series (a spec with a
    cadence) into a folder of its own in --out. If none is complete yet, say
    when it will be, and exit with 0. If a failed run already debited the
    window, pass --again to retry, which debits it once more.

    Epsilon is debited to the ledger before anything is measured, and stays
    spent whatever happens then. Standard output is public. The report on
    dropped rows goes to standard error, for the operator only.
    """
    from gridveil.cli import show
    from gridveil.publishing.debit import describe_debit
    from gridveil.publishing.next_release import Waiting, run_next
    from gridveil.publishing.run import run
    from gridveil.release.format.label import bounds_in_words, warnings
    from gridveil.trusted.budget import PureDP

    if again and not next_window:
        msg = "--again is for a window of a series: give it with --next"
        raise UsageError(msg, code="again-without-next")
    spec = o.spec_from(source, flags)
    if spec.no_ledger:
        spec.check_ledger()
        show.warn(NO_LEDGER, show.operator)
        others = {name: value for name, value in flags.items() if name != "no_ledger"}
        if o.spec_from(source, others).ledger is not None:
            show.warn(LEDGER_IGNORED, show.operator)
    with show.bars(spec.scratch) as progress:
        published = (
            run_next(spec, again=again, progress=progress, record=operator_record)
            if next_window
            else run(spec, progress=progress, record=operator_record)
        )
    if isinstance(published, Waiting):
        show.out.print(str(published))
        return
    privacy, entry = published.label.privacy, published.label.ledger_entry
    show.out.print(f"Published {published.path}")
    show.out.print(f"Spent epsilon {privacy.epsilon_accounted:.9g} of {privacy.epsilon:g}.")
    for sentence in (*bounds_in_words(published.label), *map(str, warnings(published.label))):
        show.out.print(sentence)
    for sentence in describe_debit(entry, PureDP(str(spec.epsilon)).epsilon) if entry else ():
        show.out.print(sentence)
    again_costs = (
        f"Epsilon {privacy.epsilon:g} is spent now, and publishing the same households again adds to it: "
        "try grids with plan, not with publish."
    )
    show.out.print(_next_window(spec) if next_window else again_costs)
    place = published.path.parent if next_window else published.path
    show.out.print(f"Next: {show.command('serve', place, '--open')}")
    show.out.print(f"      {show.command('query', place)}")
    show.out.print(f"      {show.command('report', place, '-o', 'report.html')}")
    for warning in published.warnings:
        show.warn(warning, show.operator)
    show.operator.print("\nFor the operator only (exact counts of private data):")
    show.report(published.report, show.operator)


def _next_window(spec: Spec) -> str:
    """Return when the next window of a series can be published."""
    from datetime import UTC, datetime

    from gridveil.model.window import timezone
    from gridveil.publishing.next_release import make_next_spec

    try:
        one = make_next_spec(spec)
    except UsageError as error:  # this release is there, and whole
        return f"There is no next window: {error}."
    name, end = (one.out or Path()).name, one.to_window().end
    if end <= datetime.now(UTC):
        return f"The next window, {name}, has ended: give the command again."
    return f"The next window, {name}, ends at {end.astimezone(timezone(one.tables()[0].timezone)).isoformat()}."
