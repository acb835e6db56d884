"""A cache of bytes that forgets what was not asked for lately."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock


class Cache:
    """Bytes by key, up to `most` bytes in all; for many threads.

    >>> cache = Cache(most=4)
    >>> [cache.get(key, lambda: b"new") for key in "aab"], len(cache)
    ([b'new', b'new', b'new'], 1)
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = 0
        self._held: OrderedDict[Hashable, bytes] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._held)

    def get(self, key: Hashable, make: Callable[[], bytes]) -> bytes:
        """Return what is held, or make it. Two who ask at once may both make it; the answer is the same."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
                return self._held[key]
        made = make()
        with self._lock:
            if key not in self._held and len(made) <= self._most:
                self._held[key] = made
                self._size += len(made)
            while self._size > self._most:
                self._size -= len(self._held.popitem(last=False)[1])
        return made
