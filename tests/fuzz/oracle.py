"""What must be true whatever is read: done or refused in words, in bounded time and memory."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gridveil.model.errors import GridveilError

GRIDVEIL = str(Path(sys.executable).parent / "gridveil")
SECONDS = 10
"""Of one example, by the processor's clock: the machine may be busy."""
MEGABYTES = 1000
"""Of a whole command, libraries included."""
PATIENCE = 120
"""Seconds by the wall's clock, after which something waits for ever."""
CODES = (0, 2, 3, 4)
"""How a command may end: done, or a mistake of usage, input or budget. 1 is Python's for a traceback."""


class HangError(BaseException):
    """Not an Exception: nothing that is tested may catch it."""


@contextmanager
def in_time(seconds: float = SECONDS) -> Iterator[None]:
    """Interrupt what takes longer."""

    def interrupt(*_: object) -> None:
        raise HangError

    before = signal.signal(signal.SIGPROF, interrupt)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def refusal(call: Callable[[], Any]) -> str | None:
    """Return why something was refused, or None if it was done. Any other error, or too much time, fails the test."""
    try:
        with in_time():
            call()
    except GridveilError as error:
        words = str(error)
        assert words.strip()
        return words
    return None


@dataclass(frozen=True)
class Ended:
    """How a command ended: its code, what it said, and what it took."""

    code: int
    said: str
    seconds: float
    megabytes: float


def command(*arguments: object, folder: Path | None = None) -> Ended:
    """Run the command line by itself; a traceback, a crash of a library, too much time or memory fail the test."""
    with tempfile.TemporaryFile() as said:
        # In between stands a small process: a child's peak of memory starts with that of whoever starts it.
        watched = subprocess.run(
            [sys.executable, "-S", "-c", WATCH, str(PATIENCE), GRIDVEIL, *map(str, arguments)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=said,
            cwd=folder,
            check=True,
        )
        said.seek(0)
        text = said.read().decode(errors="replace")
    code, seconds, kilobytes = watched.stdout.split()
    ended = Ended(int(code), text, float(seconds), int(kilobytes) / 1024)
    assert ended.code in CODES, ended
    assert "Traceback" not in text, ended
    assert ended.seconds < SECONDS, ended
    assert ended.megabytes < MEGABYTES, ended
    return ended


WATCH = """
import resource, subprocess, sys
patience, *words = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_CPU, (int(patience), int(patience)))
child = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=sys.stderr)
try:
    code = child.wait(int(patience))
except subprocess.TimeoutExpired:
    child.kill()
    code = child.wait()
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(code, used.ru_utime + used.ru_stime, used.ru_maxrss)
"""
"""Runs a command for so many seconds at most, and tells its exit code, processor seconds and peak of memory (KiB)."""
