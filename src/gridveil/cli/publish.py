"""`gridveil publish`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gridveil.cli import options as o
from gridveil.model.errors import UsageError

if TYPE_CHECKING:
    from gridveil.publishing.spec import Spec

NO_LEDGER = "WARNING: no ledger. Cumulative privacy loss for these households is not tracked, and the label says so."
NOT_OF_A_SPEC = {"source", "parameters", "operator_record", "next_window", "again"}
NOT_THE_SPECS = "WARNING: the ledger that the spec states is not debited, because of --no-ledger."


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
    profile: o.Profile = None,
    title: o.Title = None,
    publisher: o.Publisher = None,
    bound_origin: o.BoundOrigin = None,
    choices: o.Choices = None,
    ledger: o.Ledger = None,
    population: o.Population = None,
    no_ledger: o.NoLedger = False,
    engine: o.EngineName = None,
    master: o.Master = None,
    database: o.Database = None,
    memory: o.Memory = None,
    scratch: o.Scratch = None,
    out: o.Out = None,
    next_window: o.Next = False,
    again: o.Again = False,
    operator_record: o.OperatorRecord = None,
) -> None:
    """Publish a release from a spec, or from the same as flags (flags override the spec).

    With --next, publish the next complete window of a series (a spec with a
    cadence) into a folder of its own in --out. If none is complete yet, say
    when it will be, and exit with 0. If a failed run already debited the
    window, pass --again to retry, which debits it once more.

    Epsilon is debited to the ledger before anything is measured, and stays
    spent whatever happens then. Standard output says only what is public.
    What was dropped goes to standard error, for the operator.
    """
    flags = {name: value for name, value in locals().items() if name not in NOT_OF_A_SPEC}
    from gridveil.cli import show
    from gridveil.publishing.debit import debited
    from gridveil.publishing.next_release import Waiting, run_next
    from gridveil.publishing.run import run as publish
    from gridveil.release.format.label import bounds_in_words, warnings
    from gridveil.trusted.budget import PureDP

    if again and not next_window:
        msg = "--again is for a window of a series: give it with --next"
        raise UsageError(msg, code="again-without-next")
    spec = o.spec_from(source, parameters, flags)
    if spec.no_ledger:
        spec.check_ledger()
        show.operator.print(NO_LEDGER, style="bold red")
        if o.spec_from(source, parameters, {**flags, "no_ledger": False}).ledger is not None:
            show.operator.print(NOT_THE_SPECS, style="bold red")
    with show.bars(spec.scratch) as tell:
        published = (
            run_next(spec, again=again, progress=tell, record=operator_record)
            if next_window
            else publish(spec, progress=tell, record=operator_record)
        )
    if isinstance(published, Waiting):
        show.out.print(str(published))
        return
    privacy, entry = published.label.privacy, published.label.ledger_entry
    show.out.print(f"Published {published.path}")
    show.out.print(f"Spent epsilon {privacy.epsilon_accounted:.9g} of {privacy.epsilon:g}.")
    for sentence in (*bounds_in_words(published.label), *warnings(published.label)):
        show.out.print(sentence)
    for sentence in debited(entry, PureDP(str(spec.epsilon)).epsilon) if entry else ():
        show.out.print(sentence)
    again_costs = (
        f"Epsilon {privacy.epsilon:g} is spent now, and publishing the same households again adds to it: "
        "try grids with plan, not with publish."
    )
    show.out.print(_due(spec) if next_window else again_costs)
    place = published.path.parent if next_window else published.path
    show.out.print(f"Next: {show.command('serve', place, '--open')}")
    show.out.print(f"      {show.command('query', place)}")
    show.out.print(f"      {show.command('report', place, '-o', 'report.html')}")
    for warning in published.warnings:
        show.operator.print(f"{warning} [{warning.code}]", style="bold red")
    show.operator.print("\nFor the operator only (exact counts of private data):")
    show.report(published.report, show.operator)


def _due(spec: Spec) -> str:
    """Return when the next window of a series can be published."""
    from datetime import UTC, datetime

    from gridveil.model.window import timezone
    from gridveil.publishing.next_release import upcoming

    try:
        one = upcoming(spec)
    except UsageError as error:  # this release is there, and whole
        return f"There is no next window: {error}."
    name, end = (one.out or Path()).name, one.to_window().end
    if end <= datetime.now(UTC):
        return f"The next window, {name}, has ended: give the command again."
    return f"The next window, {name}, ends at {end.astimezone(timezone(one.tables()[0].timezone)).isoformat()}."
