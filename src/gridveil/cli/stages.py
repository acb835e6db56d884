"""How stages of long work are shown: as bars on a terminal, as plain lines in a log."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import IO

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from gridveil.model.progress import Progress as Tell
from gridveil.model.progress import is_sentence, name_of

STEADY = 3600.0
"""Seconds that the time left is estimated from: a part of the readings may take minutes."""

SELDOM = 10.0
"""Minimum seconds between log lines of a running stage."""

WHOLE = "100 %"


class _Left(ProgressColumn):
    """The time left, as long as there is some and it is known."""

    def render(self, task: Task) -> Text:
        """Return it in words."""
        seconds = None if task.finished else task.time_remaining
        return Text("" if seconds is None else f"{timedelta(seconds=int(seconds))} left")


@contextmanager
def drawn(console: Console, clock: Callable[[], float] | None = None) -> Iterator[Tell]:
    """Show a bar for every stage, as it comes up. After a failure they are taken away: the error says more."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[details]}"),
        _Left(),
    )
    with Progress(*columns, console=console, get_time=clock, speed_estimate_period=STEADY) as progress:

        def tell(stage: str, done: float) -> None:
            if is_sentence(stage):
                progress.console.print(stage)
                return
            name, details = name_of(stage)
            task = next((known for known in progress.tasks if known.description == name), None)
            if task is None or (task.finished and done < 1):
                task = _begin(progress, name, task)
            if details:
                progress.update(task.id, details=details)
            if done:  # until then the bar only moves
                progress.update(task.id, total=1.0, completed=done)

        try:
            yield tell
        except BaseException:
            progress.live.transient = True
            for task in progress.tasks:
                progress.update(task.id, visible=False)
            raise


def _begin(progress: Progress, name: str, before: Task | None) -> Task:
    """Begin a stage, or one that was over once more: a mechanism may ask again. The time that it took adds up."""
    if before is not None:
        progress.remove_task(before.id)
    progress.add_task(name, total=None, details="")
    task = progress.tasks[-1]
    if before is not None:
        task.start_time = progress.get_time() - (before.finished_time or 0.0)
    return task


class StageLines:
    """Plain lines, each written at once: one when a stage begins, then some now and then, and every sentence."""

    def __init__(self, file: IO[str], clock: Callable[[], float] = time.monotonic) -> None:
        self._file, self._clock = file, clock
        self._said: dict[str, str] = {}
        self._last = 0.0

    def __call__(self, stage: str, done: float) -> None:
        """Write a line, if it is time for one."""
        name, details = name_of(stage)
        now = self._clock()
        over = done >= 1 and self._said.get(name, WHOLE) != WHOLE
        if name in self._said and now < self._last + SELDOM and not over:
            return
        percent = f"{int(100 * done)} %" if done and not is_sentence(stage) else ""
        self._said[name] = percent or WHOLE
        self._last = now
        told = ", ".join(filter(None, (percent, details)))
        with suppress(OSError):  # of a full disk or a closed pipe: nothing is given up because of a log
            self._file.write(f"{name}: {told}\n" if told else f"{name}\n")
            self._file.flush()
