"""A file for HDF5 to write: HDF5 crashes the process when a write fails, as it does on a full disk."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer


class Hdf5File(io.RawIOBase):
    """A new file whose writes never fail in HDF5's sight: what the disk does not take is kept in memory.

    Whoever writes looks at `check` after every part and at the end: it raises the first failure. So no more than a part
    is ever kept.
    """

    def __init__(self, path: Path) -> None:
        self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        self._at = self._end = 0
        self._kept: list[tuple[int, bytes]] = []
        self._failure: OSError | None = None

    def check(self) -> None:
        """Raise the first failure, if there was any."""
        if self._failure is not None:
            raise self._failure

    def readable(self) -> bool:
        """HDF5 reads what it wrote."""
        return True

    def writable(self) -> bool:
        """Of course."""
        return True

    def seekable(self) -> bool:
        """In any order."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place."""
        self._at = offset + (0, self._at, self._end)[whence]
        return self._at

    def truncate(self, size: int | None = None) -> int:
        """Set where the file ends."""
        self._end = self._at if size is None else size
        try:
            os.ftruncate(self._handle, self._end)
        except OSError as error:
            self._failure = self._failure or error
        return self._end

    def write(self, data: ReadableBuffer) -> int:
        """Write all of it, or keep it."""
        whole = memoryview(data).cast("B")
        done = 0
        try:
            while done < len(whole):
                done += os.pwrite(self._handle, whole[done:], self._at + done)
        except OSError as error:
            self._failure = self._failure or error
            self._kept.append((self._at, bytes(whole)))
        self._at += len(whole)
        self._end = max(self._end, self._at)
        return len(whole)

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read what was written, kept parts over those on disk."""
        whole = memoryview(buffer).cast("B")
        size = max(0, min(len(whole), self._end - self._at))
        found = os.pread(self._handle, size, self._at)
        whole[:size] = found + bytes(size - len(found))
        for start, part in self._kept:
            first, last = max(start, self._at), min(start + len(part), self._at + size)
            if first < last:
                whole[first - self._at : last - self._at] = part[first - start : last - start]
        self._at += size
        return size

    def close(self) -> None:
        """Close it."""
        if not self.closed:
            os.close(self._handle)
        super().close()
