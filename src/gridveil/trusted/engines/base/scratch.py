"""Private folders. One for what outlasts a process: results of parts, so that an interrupted run goes on where it was.

What is in it is as private as the readings. One run at a time uses it. And one for what does not: `Temporary`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from gridveil.model.errors import UsageError
from gridveil.trusted.engines.base.engine import COUNTS_SUFFIX
from gridveil.trusted.engines.base.schema import SCRATCH

ASIDE_PREFIX = "aside-"

TEMPORARY_PREFIX = "gridveil-run-"
"""How folders for one run begin. They are in the system's folder for temporary files, unless another is given."""

LOCK_FILE = "lock"


class Scratch:
    """The folder, locked until `close` or the end of the process, however it ends."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / SCRATCH
        self._run: str | None = None
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self.folder.is_symlink() or self.folder.stat().st_uid != os.getuid():
                msg = f"{self.folder}: it is a link, or another user's; give another --scratch"
                raise UsageError(msg, code="scratch-not-private")
            self.folder.chmod(0o700)
            self._lock = self._lock_folder()
        except OSError as error:
            msg = f"{folder}: no private folder can be made there ({error.strerror}); give another --scratch"
            raise UsageError(msg, code="scratch-not-writable") from error
        for left in self.folder.glob(f"{ASIDE_PREFIX}*"):  # of a run that was killed
            shutil.rmtree(left) if left.is_dir() else left.unlink()

    def make_folder(self) -> Path:
        """Return a new folder for what does not outlast this run."""
        return Path(tempfile.mkdtemp(prefix=ASIDE_PREFIX, dir=self.folder))

    def file(self, key: str) -> Path:
        """Return where the result with that key, `RUN-PART`, is or will be. Those of other runs are taken away."""
        run = key.partition("-")[0]
        if run != self._run:  # once: there may be thousands of files
            for other in self.folder.glob("*.parquet"):
                if not other.name.startswith(f"{run}-"):
                    other.unlink()
            self._run = run
        return self.folder / f"{key}.parquet"

    def forget_counts(self, key: str) -> None:
        """Take away what was derived from a result that is about to be computed anew, and may come out otherwise."""
        self.file(f"{key}{COUNTS_SUFFIX}").unlink(missing_ok=True)

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

    def _lock_folder(self) -> int | None:
        import fcntl

        lock = os.open(self.folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            in_use = not os.path.samestat(os.fstat(lock), (self.folder / LOCK_FILE).stat())  # but another takes it away
        except (BlockingIOError, FileNotFoundError):
            in_use = True
        if in_use:
            os.close(lock)
            msg = f"{self.folder}: another run is using it; give each its own --scratch"
            raise UsageError(msg, code="scratch-in-use")
        return lock


class Temporary:
    """A folder for what does not outlast a run, locked until `close` or the end of the process, however it ends.

    A run that is killed leaves its folder behind; the next run takes it away. Only folders of this user are touched, in
    which there is a lock that nobody holds. A new one is never taken for one of those: its lock is held before it gets
    its name.
    """

    def __init__(self, within: Path | None = None) -> None:
        import fcntl

        within = within or Path(tempfile.gettempdir())
        for left in within.glob(f"{TEMPORARY_PREFIX}*"):
            _remove_leftover(left)
        self.folder = Path(tempfile.mkdtemp(prefix=TEMPORARY_PREFIX, dir=within))
        unnamed = self.folder / f"{LOCK_FILE}.new"
        self._lock = os.open(unnamed, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        unnamed.rename(self.folder / LOCK_FILE)

    def close(self) -> None:
        """Take the folder away."""
        shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._lock)


def _remove_leftover(left: Path) -> None:
    """Take away a folder of a run that was killed; leave any other as it is."""
    import fcntl

    with suppress(OSError):  # another's, in use, without a lock, or taken away by another run at this moment
        if left.is_symlink() or left.stat().st_uid != os.getuid():
            return
        lock = os.open(left / LOCK_FILE, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left, ignore_errors=True)
        finally:
            os.close(lock)
