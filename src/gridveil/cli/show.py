"""What commands print: results on standard output, progress and what only the operator may see on standard error."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from time import monotonic
from typing import IO, TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, ProgressColumn, Task, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress
from rich.table import Table
from rich.text import Text

from gridveil.model.errors import GridveilWarning
from gridveil.model.running import Progress, is_sentence, split_stage
from gridveil.trusted.engines.base.schema import SCRATCH

if TYPE_CHECKING:
    from gridveil.release.format.label import Label
    from gridveil.trusted.source.report import Report

out = Console(highlight=False, soft_wrap=True, markup=False)
operator = Console(stderr=True, highlight=False, markup=False)
KEPT = "Interrupted: parts that were read are kept in {}, and the same command goes on from them."

SPEED_PERIOD = 3600.0
"""Seconds that the time left is estimated from: a part of the readings may take minutes."""

LOG_INTERVAL = 10.0
"""Minimum seconds between log lines of a running stage."""

COMPLETE = "100 %"


def warn(warning: GridveilWarning, console: Console) -> None:
    """Show a warning with its code, as errors are shown."""
    console.print(f"{warning} [{warning.code}]", style="bold red")


def report(seen: Report, console: Console) -> None:
    """Show what ingest saw and dropped."""
    first, *_ = str(seen).splitlines()
    console.print(first)
    for warning in seen.warnings:
        warn(warning, console)
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
    """Print the label's note, if it has one: that what follows is not all of a series."""
    if label.note is not None:
        operator.print(label.note)


def command(*words: object) -> str:
    """Return a command line to copy: with the path to gridveil, if it is not on the PATH, and quoted."""
    ours = "gridveil" if shutil.which("gridveil") else sys.argv[0]
    return shlex.join([ours, *(str(word) for word in words)])


def on_terminal() -> bool:
    """Whether standard error is a terminal that bars can be drawn on."""
    return operator.file.isatty() and not operator.is_dumb_terminal


@contextmanager
def bars(scratch: Path | None = None, *, delay: float = 0.0) -> Iterator[Progress]:
    """Show the progress of stages on standard error: bars on a terminal, plain lines in a log.

    Call what it gives with the name of a stage and the fraction that is done. Counts go into brackets after the name,
    as in `trials (3 of 30)`; the time left follows from the fractions of this run.

    scratch: if the run is interrupted, print that parts are kept there.
    delay: seconds without any output, for what is mostly done by then.
    """
    begun = monotonic()
    display: list[Progress] = []
    try:
        with ExitStack() as stack:

            def progress(stage: str, done: float) -> None:
                if not display and monotonic() - begun >= delay:
                    lines = StageLines(operator.file)
                    display.append(stack.enter_context(draw_bars(operator)) if on_terminal() else lines)
                for update in display:
                    update(stage, done)

            yield progress
    except KeyboardInterrupt:
        if scratch is not None and any((scratch / SCRATCH).glob("*.parquet")):
            operator.print(KEPT.format(scratch / SCRATCH), soft_wrap=True)
        raise


@contextmanager
def draw_bars(console: Console, clock: Callable[[], float] | None = None) -> Iterator[Progress]:
    """Show a bar for each stage once it begins. After a failure all bars are removed: the error says more."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[details]}"),
        _TimeLeft(),
    )
    with RichProgress(*columns, console=console, get_time=clock, speed_estimate_period=SPEED_PERIOD) as rich:

        def progress(stage: str, done: float) -> None:
            if is_sentence(stage):
                rich.console.print(stage)
                return
            name, details = split_stage(stage)
            task = next((known for known in rich.tasks if known.description == name), None)
            if task is None or (task.finished and done < 1):
                task = _begin(rich, name, task)
            if details:
                rich.update(task.id, details=details)
            if done:  # until then the bar only moves
                rich.update(task.id, total=1.0, completed=done)

        try:
            yield progress
        except BaseException:
            rich.live.transient = True
            for task in rich.tasks:
                rich.update(task.id, visible=False)
            raise


def _begin(rich: RichProgress, name: str, before: Task | None) -> Task:
    """Begin a stage, or begin a finished one again (a mechanism may measure twice): the time it took adds up."""
    if before is not None:
        rich.remove_task(before.id)
    rich.add_task(name, total=None, details="")
    task = rich.tasks[-1]
    if before is not None:
        task.start_time = rich.get_time() - (before.finished_time or 0.0)
    return task


class _TimeLeft(ProgressColumn):
    """The time left, while a stage runs and its speed is known."""

    def render(self, task: Task) -> Text:
        """Return the text of the column."""
        seconds = None if task.finished else task.time_remaining
        return Text("" if seconds is None else f"{timedelta(seconds=int(seconds))} left")


class StageLines:
    """Plain lines for a log: one when a stage begins, some while it runs, one at its end, and every sentence."""

    def __init__(self, file: IO[str], clock: Callable[[], float] = monotonic) -> None:
        self._file, self._clock = file, clock
        self._percents: dict[str, str] = {}
        self._last = 0.0

    def __call__(self, stage: str, done: float) -> None:
        """Write a line, if one is due."""
        name, details = split_stage(stage)
        now = self._clock()
        ends = done >= 1 and self._percents.get(name, COMPLETE) != COMPLETE
        if name in self._percents and now < self._last + LOG_INTERVAL and not ends:
            return
        percent = f"{int(100 * done)} %" if done and not is_sentence(stage) else ""
        self._percents[name] = percent or COMPLETE
        self._last = now
        state = ", ".join(filter(None, (percent, details)))
        with suppress(OSError):  # a full disk or a closed pipe: a log that fails must not stop the work
            self._file.write(f"{name}: {state}\n" if state else f"{name}\n")
            self._file.flush()
