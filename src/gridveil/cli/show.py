"""What commands print: results on standard output, progress and what only the operator may see on standard error."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gridveil.cli.stages import StageLines, drawn
from gridveil.trusted.engines.base.partitions import SCRATCH

if TYPE_CHECKING:
    from gridveil.model.progress import Progress as Tell
    from gridveil.release.format.label import Label
    from gridveil.trusted.source.report import Report

out = Console(highlight=False, soft_wrap=True, markup=False)
operator = Console(stderr=True, highlight=False, markup=False)
KEPT = "Interrupted: parts that were read are kept in {}, and the same command goes on from them."


def on_terminal() -> bool:
    """Whether standard error is a terminal that bars can be drawn on."""
    return operator.file.isatty() and not operator.is_dumb_terminal


@contextmanager
def bars(scratch: Path | None = None) -> Iterator[Tell]:
    """Show on standard error how far stages are: bars on a terminal, plain lines elsewhere.

    What an interrupted run leaves in `scratch` is told.
    """
    try:
        with drawn(operator) if on_terminal() else nullcontext(StageLines(operator.file)) as tell:
            yield tell
    except KeyboardInterrupt:
        if scratch is not None and any((scratch / SCRATCH).glob("*.parquet")):
            operator.print(KEPT.format(scratch / SCRATCH), soft_wrap=True)
        raise


def report(seen: Report, console: Console) -> None:
    """Show what ingest saw and dropped."""
    first, *_ = str(seen).splitlines()
    console.print(first)
    for warning in seen.warnings:
        console.print(f"{warning} [{warning.code}]", style="bold red")
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
