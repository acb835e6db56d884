"""The progress of a long run of many stages: what is being done, and for how long all of it will go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from gridveil.cli import show
from gridveil.cli.show import StageLines
from gridveil.research.paper.run import Progress as Done

STEADY = 300.0
"""Seconds of work that the rate is taken over: trials differ much in length."""


@contextmanager
def time_bar() -> Iterator[Callable[[Done], None]]:
    """Show on standard error how much of the estimated time is over, not of the trials: they differ a hundredfold."""
    if not show.on_terminal():
        lines = StageLines(show.operator.file)
        yield lambda at: lines(f"{at.stage} ({at.done:,} of {at.total:,} trials)", at.seconds_done / (at.seconds or 1))
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[trials]}"),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=show.operator, speed_estimate_period=STEADY) as progress:
        task = progress.add_task("bench paper", total=None, trials="")

        def tell(at: Done) -> None:
            trials = f"{at.done:,}/{at.total:,} trials"
            if progress.tasks[0].total is None:
                # What an earlier run has done is no measure of this one's speed.
                progress.reset(task, total=at.seconds, completed=at.seconds_done, description=at.stage, trials=trials)  # type: ignore[arg-type]  # rich counts in floats too
            progress.update(task, completed=at.seconds_done, description=at.stage, trials=trials)

        yield tell
