"""How many large questions are worked on at once, and for how long, so that small ones are answered meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore
from time import monotonic

from gridveil.serve.refusals import BusyError, TooLongError

MOST_SECONDS = 30.0


class Heavy:
    """Room for a few large questions, and a queue that is no longer than the patience of those in it."""

    def __init__(self, at_once: int = 2, waiting: int = 16, patience: float = 20.0) -> None:
        self._running = BoundedSemaphore(at_once)
        self._places = BoundedSemaphore(at_once + waiting)
        self._patience = patience

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for a turn, or say that there is none."""
        if not self._places.acquire(blocking=False):
            raise BusyError
        try:
            if not self._running.acquire(timeout=self._patience):
                raise BusyError
            try:
                yield
            finally:
                self._running.release()
        finally:
            self._places.release()


class Deadline:
    """When work ends, done or not: nobody can tell that whoever asked has left."""

    def __init__(self, seconds: float) -> None:
        self._end = monotonic() + seconds

    def check(self) -> None:
        """Stop if time is up. Called between pieces of work."""
        if monotonic() > self._end:
            raise TooLongError
