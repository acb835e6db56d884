"""Work counted instead of timed, and waiting for a condition instead of for a while: a busy machine changes neither."""

import sys
import time
from collections.abc import Callable
from pathlib import Path

POLL_SECONDS = 0.01


def count_calls(function: Callable[[], object]) -> int:
    """Return how many functions, of Python or C, a function calls in this thread."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in {"call", "c_call"}

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return calls


def bytes_read() -> int:
    """Return how many bytes this process has read from files so far."""
    return int(Path("/proc/self/io").read_text(encoding="ascii").split()[1])


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> None:
    """Return when a condition holds; fail if it does not within a time far beyond what it should take."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"it did not happen in {seconds} s"
        time.sleep(POLL_SECONDS)


def wait_for_next_second() -> None:
    """Return when the clock shows another second: HDF5 would write it into a file."""
    now = int(time.time())
    wait_until(lambda: int(time.time()) != now)
