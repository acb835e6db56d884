"""A new folder or file that is there whole, or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gridveil.errors import UsageError


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Give a folder to write to; it gets its name when all is on disk, and on a failure nothing is left.

    It is readable by its owner only, unless it is opened to others before it is done.
    """
    _refuse_existing(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=".gridveil-", dir=path.parent))
    try:
        yield aside
        for file in (*aside.rglob("*"), aside):
            _sync(file)
        aside.rename(path)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    _sync(path.parent)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Give a file to write to; it gets its name when all is on disk, and on a failure nothing is left.

    It is readable by its owner only, unless it is opened to others before it is done.
    """
    _refuse_existing(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".gridveil-", dir=path.parent)
    os.close(handle)
    aside = Path(name)
    try:
        yield aside
        _sync(aside)
        _refuse_existing(path)  # unlike a folder, a file would be replaced by the renaming
        aside.rename(path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    _sync(path.parent)


def _refuse_existing(path: Path) -> None:
    if os.path.lexists(path):
        msg = f"{path}: already there, and never overwritten; give another --out"
        raise UsageError(msg)


def _sync(path: Path) -> None:
    """Wait until a file or folder is on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
