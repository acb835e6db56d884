"""Executes queries: from a cache, inline, or with a limit on how many run at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from threading import BoundedSemaphore, Lock
from time import monotonic

from gridveil.model.errors import UsageError

CACHE_BYTES = 64 * 2**20
MAX_SECONDS = 30.0

# Work is counted in numbers of the error model that a box reads: about 40 million a second.
HEAVY_WORK = 200_000.0  # 5 milliseconds
LONG_WORK = 5e7  # a second
MAX_WORK = 1e9  # 25 seconds
LARGE_BODY = 2**16


class BusyError(Exception):
    """Too many heavy queries at once."""


class TooLongError(Exception):
    """A query took too long to answer."""


class Deadline:
    """When work ends, done or not: the server cannot tell that a client has left."""

    def __init__(self, seconds: float) -> None:
        self._end = monotonic() + seconds

    def check(self) -> None:
        """Stop if time is up. Called between pieces of work."""
        if monotonic() > self._end:
            raise TooLongError


class Query(ABC):
    """A parsed request: how much work its answer is, and how to compute it."""

    key: Hashable | None = None
    """What the answer is cached under. None: the answer is not cached."""

    slow_work = False
    """Whether `work` is heavy itself, as it is where a polygon must be laid over the cells."""

    @abstractmethod
    def work(self) -> float:
        """Return how many numbers the answer reads."""

    @abstractmethod
    def compute(self, deadline: Deadline) -> bytes:
        """Return the encoded answer."""


class QueryExecutor:
    """Executes queries. Long ones have a limit of their own, so that slices need not wait for them."""

    def __init__(self) -> None:
        self.cache = AnswerCache(CACHE_BYTES)
        self.seconds = MAX_SECONDS
        self.heavy = ConcurrencyLimit()
        self.long = ConcurrencyLimit(running=1, waiting=4)
        self.parsing = ConcurrencyLimit(running=1, waiting=8)

    def run(self, query: Query) -> bytes:
        """Return the answer from the cache, or compute it; heavy answers are cached."""
        cached = None if query.key is None else self.cache.find(query.key)
        if cached is not None:
            return cached
        with self.heavy.slot() if query.slow_work else nullcontext():
            work = query.work()
        _check_work(work)
        if work < HEAVY_WORK:
            return query.compute(Deadline(self.seconds))
        with (self.long if work > LONG_WORK else self.heavy).slot():
            if query.key is None:
                return query.compute(Deadline(self.seconds))
            return self.cache.get(query.key, lambda: query.compute(Deadline(self.seconds)))

    def warm(self, query: Query) -> None:
        """Cache an answer before it is asked for, however long that takes; requests for it meanwhile wait."""
        _check_work(query.work())
        self.cache.get(query.key, lambda: query.compute(Deadline(float("inf"))))

    def parsing_slot(self, body: bytes) -> AbstractContextManager[None]:
        """Wait for a slot to parse a body in, if it is large."""
        return self.parsing.slot() if len(body) > LARGE_BODY else nullcontext()


def _check_work(work: float) -> None:
    """Refuse a query that would keep the server busy for too long."""
    if work > MAX_WORK:
        msg = (
            f"the error bars of this take {work / 1e6:,.0f} million numbers to work out, and the server stops "
            f"at {MAX_WORK / 1e6:,.0f} million: ask in smaller pieces (fewer, smaller or shorter ones)"
        )
        raise UsageError(msg, code="work-too-large")


class ConcurrencyLimit:
    """Lets a few run at once and a few more wait, no longer than `patience` seconds; all others are refused."""

    def __init__(self, running: int = 2, waiting: int = 16, patience: float = 20.0) -> None:
        self._running = BoundedSemaphore(running)
        self._places = BoundedSemaphore(running + waiting)
        self._patience = patience

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Wait for a slot, or raise `BusyError`."""
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


class AnswerCache:
    """Encoded answers by key, up to `max_bytes` in all, the least recently used removed first; safe for threads.

    >>> cache = AnswerCache(max_bytes=4)
    >>> [cache.get(key, lambda: b"new") for key in "aab"], len(cache)
    ([b'new', b'new', b'new'], 1)
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._size = 0
        self._answers: OrderedDict[Hashable, bytes] = OrderedDict()
        self._computing: dict[Hashable, Lock] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._answers)

    def get(self, key: Hashable, compute: Callable[[], bytes]) -> bytes:
        """Return an answer, computed if need be: of threads that ask for the same, one computes and the others wait."""
        with self._lock:
            computing = self._computing.setdefault(key, Lock())
        with computing:
            try:
                cached = self.find(key)
                return self._store(key, compute()) if cached is None else cached
            finally:
                with self._lock:
                    self._computing.pop(key, None)

    def find(self, key: Hashable) -> bytes | None:
        """Return an answer if it is cached."""
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
            return self._answers.get(key)

    def _store(self, key: Hashable, answer: bytes) -> bytes:
        with self._lock:
            self._size += len(answer) - len(self._answers.pop(key, b""))
            self._answers[key] = answer
            while self._size > self._max_bytes:
                self._size -= len(self._answers.popitem(last=False)[1])
        return answer
