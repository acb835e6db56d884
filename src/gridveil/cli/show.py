"""What commands print: results on standard output, progress and what only the operator may see on standard error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from gridveil.ingest.report import Report
    from gridveil.mechanisms.base import Progress as Tell

out = Console(highlight=False, soft_wrap=True, markup=False)
operator = Console(stderr=True, highlight=False, markup=False)


@contextmanager
def bars() -> Iterator[Tell]:
    """Show a bar for every stage that is reported, as it comes up."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=operator) as progress:
        stages: dict[str, TaskID] = {}

        def tell(stage: str, done: float) -> None:
            if stage not in stages:
                stages[stage] = progress.add_task(stage, total=1.0)
            progress.update(stages[stage], completed=done)

        yield tell


def report(seen: Report, console: Console) -> None:
    """Show what ingest saw and dropped."""
    console.print(f"{seen.readings:,} rows of readings; {seen.households:,} households inside the extent.")
    if not seen.faults:
        console.print("Nothing to report: every row counts.")
        return
    table = Table("table", "what", "count", "e.g. household")
    for fault in seen.faults:
        # An id is whatever a meter sent: shown letter by letter, never as markup or terminal commands.
        example = Text("" if fault.example is None else ascii(fault.example)[1:-1])
        table.add_row(fault.table, fault.what, f"{fault.count:,}", example)
    console.print(table)
