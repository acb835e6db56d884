"""What commands print: results on standard output, progress and what only the operator may see on standard error."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from gridveil.ingest.engines.scratch import OURS
from gridveil.ingest.report import NOTHING_COUNTED

if TYPE_CHECKING:
    from gridveil.ingest.report import Report
    from gridveil.mechanisms.base import Progress as Tell
    from gridveil.release.label import Label

out = Console(highlight=False, soft_wrap=True, markup=False)
operator = Console(stderr=True, highlight=False, markup=False)


@contextmanager
def bars(scratch: Path | None = None) -> Iterator[Tell]:
    """Show a bar for every stage that is reported, as it comes up; what a stage says in brackets goes behind it.

    After a failure they are taken away: the error says more. What an interrupted run leaves in `scratch` is told.
    """
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[details]}"),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with Progress(*columns, console=operator) as progress:
        stages: dict[str, TaskID] = {}

        def tell(stage: str, done: float) -> None:
            stage, _, details = stage.partition(" (")
            if stage not in stages:
                # The bar pulses until there is something to tell.
                stages[stage] = progress.add_task(stage, total=None, details="")
            if done:
                progress.update(stages[stage], total=1.0, completed=done, details=details.rstrip(")"))

        try:
            yield tell
        except BaseException as error:
            progress.live.transient = True
            for task in stages.values():
                progress.update(task, visible=False)
            if isinstance(error, KeyboardInterrupt) and scratch is not None and any((scratch / OURS).glob("*.parquet")):
                operator.print(f"What was read is kept in {scratch / OURS}: the same command goes on from there.")
            raise


def report(seen: Report, console: Console) -> None:
    """Show what ingest saw and dropped."""
    first, *_ = str(seen).splitlines()
    console.print(first)
    if not seen.counted:
        console.print(NOTHING_COUNTED, style="bold red")
    if not seen.faults:
        console.print("Nothing to report: every row counts.")
        return
    table = Table("table", "what", "count", "e.g. household")
    for fault in seen.faults:
        # An id is whatever a meter sent: shown letter by letter, never as markup or terminal commands.
        example = Text("" if fault.example is None else ascii(fault.example)[1:-1])
        table.add_row(fault.table, fault.what, f"{fault.count:,}", example)
    console.print(table)
    for hint in seen.hints:
        console.print(hint)


def note(label: Label) -> None:
    """Say what must be said of what is shown at all: that it is not all of a series."""
    if label.note is not None:
        operator.print(label.note)


def command(*words: object) -> str:
    """Return a command line to copy: with the way to gridveil, if it is not on the path, and quoted."""
    ours = "gridveil" if shutil.which("gridveil") else sys.argv[0]
    return shlex.join([ours, *(str(word) for word in words)])
