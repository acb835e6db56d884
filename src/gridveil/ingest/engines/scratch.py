"""A private folder for what outlasts a process: results of parts, so that an interrupted run goes on where it was.

What is in it is as private as the readings. One run at a time uses it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

from gridveil.errors import UsageError

OURS = "gridveil-scratch"
"""The folder in the operator's: nothing beside it is touched."""

ASIDE = "aside-"


class Scratch:
    """The folder, locked until `close` or the end of the process, however it ends."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / OURS
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self.folder.is_symlink() or self.folder.stat().st_uid != os.getuid():
                msg = f"{self.folder}: it is a link, or another user's; give another --scratch"
                raise UsageError(msg)
            self.folder.chmod(0o700)
            self._lock = self._take()
        except OSError as error:
            msg = f"{folder}: no private folder can be made there ({error.strerror}); give another --scratch"
            raise UsageError(msg) from error
        for left in self.folder.glob(f"{ASIDE}*"):  # of a run that was killed
            shutil.rmtree(left) if left.is_dir() else left.unlink()

    def aside(self) -> Path:
        """Return a new folder for what does not outlast this run."""
        return Path(tempfile.mkdtemp(prefix=ASIDE, dir=self.folder))

    def file(self, key: str) -> Path:
        """Return where the result with that key, `RUN-PART`, is or will be. Those of other runs are taken away."""
        run = key.partition("-")[0]
        for other in self.folder.glob("*.parquet"):
            if not other.name.startswith(f"{run}-"):
                other.unlink()
        return self.folder / f"{key}.parquet"

    def clear(self) -> None:
        """Take away every result."""
        for file in self.folder.glob("*.parquet"):
            file.unlink()

    def close(self) -> None:
        """Let others use the folder; if nothing is left in it, it goes."""
        held, self._lock = self._lock, None
        if held is None:
            return
        if not any(self.folder.glob("*.parquet")):
            shutil.rmtree(self.folder, ignore_errors=True)
        os.close(held)

    def _take(self) -> int | None:
        import fcntl

        lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(lock)
            msg = f"{self.folder}: another run is using it; give each its own --scratch"
            raise UsageError(msg) from error
        return lock


def sync(path: Path) -> None:
    """Wait until a file or folder is on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
