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
        self._making: dict[Hashable, Lock] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._held)

    def get(self, key: Hashable, make: Callable[[], bytes]) -> bytes:
        """Return what is held, or make it; of those who ask for the same at once, one makes it and the others wait."""
        with self._lock:
            making = self._making.setdefault(key, Lock())
        with making:
            try:
                held = self.find(key)
                return self._keep(key, make()) if held is None else held
            finally:
                with self._lock:
                    self._making.pop(key, None)

    def find(self, key: Hashable) -> bytes | None:
        """Return what is held, if anything is."""
        with self._lock:
            if key in self._held:
                self._held.move_to_end(key)
            return self._held.get(key)

    def _keep(self, key: Hashable, made: bytes) -> bytes:
        with self._lock:
            self._size += len(made) - len(self._held.pop(key, b""))
            self._held[key] = made
            while self._size > self._most:
                self._size -= len(self._held.popitem(last=False)[1])
        return made
