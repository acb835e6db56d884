"""Where questions are answered: from memory, at once, or in a room where few are worked on."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from contextlib import nullcontext
from dataclasses import dataclass

from gridveil.model.errors import UsageError
from gridveil.serve.cache import Cache
from gridveil.serve.heavy import MOST_SECONDS, Deadline, Heavy

CACHED_BYTES = 64 * 2**20

# Work is counted in numbers of the error model that a box reads: about 40 million a second.
HEAVY_WORK = 200_000.0  # 5 milliseconds
LONG_WORK = 5e7  # a second
MOST_WORK = 1e9  # 25 seconds
LARGE_BODY = 2**16


@dataclass(frozen=True)
class Job:
    """A question that is ready to be answered: how much work it is, and how to do it."""

    work: float
    make: Callable[[Deadline], bytes]


@dataclass(frozen=True)
class QueryTask:
    """What is asked: under which key its answer is kept (None: not at all), and how to plan it.

    `large`: making the plan is work of its own, as it is where a polygon must be laid over the cells.
    """

    key: Hashable
    plan: Callable[[], Job]
    large: bool = False


class Desk:
    """Answers questions. Those that take long have a room of their own, so that slices need not wait for them."""

    def __init__(self) -> None:
        self.cache = Cache(CACHED_BYTES)
        self.seconds = MOST_SECONDS
        self.room = Heavy()
        self.long_room = Heavy(at_once=1, waiting=4)
        self.reading_room = Heavy(at_once=1, waiting=8)  # where large bodies are read

    def answer(self, question: QueryTask) -> bytes:
        """Return what is in memory, or what the plan makes; answers that took a turn are kept."""
        key = question.key
        held = None if key is None else self.cache.find(key)
        if held is not None:
            return held
        with self.room.turn() if question.large else nullcontext():
            job = question.plan()
        _check(job)
        if job.work < HEAVY_WORK:
            return job.make(Deadline(self.seconds))
        with (self.long_room if job.work > LONG_WORK else self.room).turn():
            if key is None:
                return job.make(Deadline(self.seconds))
            return self.cache.get(key, lambda: job.make(Deadline(self.seconds)))

    def warm(self, question: QueryTask) -> None:
        """Make an answer before it is asked for, however long that takes; who asks meanwhile waits for it."""
        job = question.plan()
        _check(job)
        self.cache.get(question.key, lambda: job.make(Deadline(float("inf"))))


def _check(job: Job) -> None:
    """Refuse what would keep the server busy for too long."""
    if job.work > MOST_WORK:
        msg = (
            f"the error bars of this take {job.work / 1e6:,.0f} million numbers to work out, and the server stops "
            f"at {MOST_WORK / 1e6:,.0f} million: ask in smaller pieces (fewer, smaller or shorter ones)"
        )
        raise UsageError(msg, code="work-too-large")
