"""The progress of a study: how many trials are done, how fast, and for how long it will go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from gridveil.cli import show
from gridveil.cli.show import StageLines

STEADY = 60.0
"""Seconds of work that the rate is taken over: trials differ much in length."""


class _TrialRate(ProgressColumn):
    """Trials per minute."""

    def render(self, task: Task) -> Text:
        """Return the rate, once there is one."""
        return Text("" if task.speed is None else f"{60 * task.speed:,.0f}/min")


@contextmanager
def study_bar(name: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar, or lines in a log, on standard error; give what tells how many trials are done of how many."""
    if not show.on_terminal():
        lines = StageLines(show.operator.file)
        lines(f"{name}: read the tables", 0.0)
        yield lambda done, total: lines(f"{name}: trials ({done:,} of {total:,})", done / max(1, total))
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        _TrialRate(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=show.operator, speed_estimate_period=STEADY) as progress:
        task = progress.add_task(f"{name}: read the tables", total=None)

        def tell(done: int, total: int) -> None:
            # What an earlier run has done is no measure of this one's speed.
            if progress.tasks[0].total is None:
                progress.reset(task, total=total, completed=done, description=f"{name}: trials")
            else:
                progress.update(task, completed=done)

        yield tell
