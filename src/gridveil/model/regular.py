"""Reading whole small files that somebody named: ordinary ones only, and no more of them than was expected."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def read_regular(path: Path, most: int) -> bytes:
    """Return a file's bytes; one more than `most`, at the most.

    Devices and pipes are refused, and never waited for: `OSError` or `ValueError`.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as file:
        check_regular(os.fstat(handle))
        return file.read(most + 1)


def read_small(path: Path, most: int) -> str:
    """Return a file's text, without byte-order mark; `ValueError` if it is longer than `most` bytes, or not UTF-8."""
    raw = read_regular(path, most)
    if len(raw) > most:
        msg = f"it is larger than {most:,} bytes"
        raise ValueError(msg)
    return raw.decode("utf-8-sig")


def check_regular(status: os.stat_result) -> None:
    """Refuse what is not an ordinary file."""
    if not stat.S_ISREG(status.st_mode):
        msg = "it is not a regular file"
        raise ValueError(msg)
