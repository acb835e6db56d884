"""One run at a time in a series' folder."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gridveil.model.errors import UsageError

LOCK = ".gridveil-next.lock"
"""A file in the series' folder that a run holds; the system lets go of it when the process ends, however it does.

The folder is published, and who can open a file can hold it: this one is its owner's alone."""

NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold the series, so that no other run publishes, and debits, the same window at the same time."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except PermissionError as error:
        msg = f"{folder / LOCK}: it cannot be opened; publish as the user who publishes this series"
        raise UsageError(msg, code="series-lock-unopened") from error
    try:
        if os.fstat(handle).st_mode & 0o077:
            os.fchmod(handle, 0o600)  # everybody could open that of an earlier gridveil
        _hold(handle, folder)
        _check_owner(folder)
        yield
    finally:
        os.close(handle)


def _check_owner(folder: Path) -> None:
    """Refuse, before anything is read, a folder whose time could not be set after the release is written."""
    now = folder.stat()
    try:
        os.utime(folder, ns=(now.st_atime_ns, now.st_mtime_ns))
    except PermissionError as error:
        msg = (
            f"{folder}: its time cannot be set, and would tell when a run ended, which depends on the data; publish as "
            "the user who owns this folder"
        )
        raise UsageError(msg, code="series-not-owned") from error


def _hold(handle: int, folder: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        msg = f"{folder}: another run is publishing into this series; let it finish, then give the command again"
        raise UsageError(msg, code="series-in-use") from error
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        msg = f"{folder}: this disk knows no locks, so that two runs at once could not be told apart; use a local one"
        raise UsageError(msg, code="series-no-locks") from error
