"""Safe files: new folders that are there whole or not at all, regular files only, addresses without passwords."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from gridveil.model.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    import psycopg


# Reading small files: regular files only, up to a stated size.


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


# A new folder or file that is there whole, or not at all.

ASIDE_PREFIX = ".gridveil-"
"""How names of what is not finished begin: a process that is killed leaves it."""

NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}  # on this kind of disk


@contextmanager
def new_folder(path: Path, day: date | None = None) -> Iterator[Path]:
    """Give a folder to write to; it gets its name when all is on disk, and on a failure nothing is left.

    It is readable by its owner only, unless it is opened to others before it is done. With a `day`, that is the time of
    the folder and of all that is in it.
    """
    _refuse_existing(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix=ASIDE_PREFIX, dir=path.parent))
    try:
        yield aside
        for file in (*aside.rglob("*"), aside):
            if day is not None:
                set_times(day, file)
            sync(file)
        aside.rename(path)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise
    sync(path.parent)


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Give a file to write to; it gets its name when all is on disk, and on a failure nothing is left.

    It is readable by its owner only, unless it is opened to others before it is done.
    """
    _refuse_existing(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=ASIDE_PREFIX, dir=path.parent)
    os.close(handle)
    aside = Path(name)
    try:
        yield aside
        sync(aside)
        _give_name(aside, path)
    finally:
        aside.unlink(missing_ok=True)
    sync(path.parent)


def replace_file(path: Path, text: str) -> None:
    """Write a file that everybody may read, in place of the one that is there: whoever reads finds either, whole."""
    handle, name = tempfile.mkstemp(prefix=ASIDE_PREFIX, dir=path.parent)
    aside = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        aside.chmod(0o644)
        sync(aside)
        aside.replace(path)
    finally:
        aside.unlink(missing_ok=True)
    sync(path.parent)


def set_times(day: date, *paths: Path) -> None:
    """Set the times of files and folders to midnight UTC of a public day: the end of a run depends on the data."""
    midnight = datetime.combine(day, time.min, UTC).timestamp()
    for path in paths:
        os.utime(path, (midnight, midnight))


def check_times(folder: Path) -> None:
    """Refuse a folder on a disk that keeps no times: those of a release would tell when a run ended."""
    with tempfile.NamedTemporaryFile(prefix=ASIDE_PREFIX, dir=folder) as file:
        try:
            os.utime(file.name, ns=(0, 0))
            kept = Path(file.name).stat().st_mtime_ns == 0
        except OSError:
            kept = False
    if not kept:
        msg = f"{folder}: times of files cannot be set there, and would tell when a run ended; give another --out"
        raise UsageError(msg, code="times-not-settable")


def _give_name(aside: Path, path: Path) -> None:
    """Give a file its name. Renaming would replace one that turned up meanwhile; linking fails then."""
    try:
        path.hardlink_to(aside)
    except FileExistsError as error:
        raise _make_exists_error(path) from error
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        _claim(path)
        aside.rename(path)


def _claim(path: Path) -> None:
    """Make an empty file that may be replaced: memory sticks know no links."""
    try:
        path.touch(exist_ok=False)
    except FileExistsError as error:
        raise _make_exists_error(path) from error


def _refuse_existing(path: Path) -> None:
    if os.path.lexists(path):
        raise _make_exists_error(path)


def _make_exists_error(path: Path) -> UsageError:
    return UsageError(f"{path}: already there, and never overwritten; give another --out", code="out-exists")


def sync(path: Path) -> None:
    """Wait until a file or folder is on disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def check_new(paths: Sequence[Path | None]) -> None:
    """Refuse to overwrite anything, before anything is read."""
    for path in paths:
        if path is not None and os.path.lexists(path):
            msg = f"{path}: already there, and never overwritten; give another name"
            raise UsageError(msg, code="out-exists")


def write_new(path: Path, content: bytes) -> None:
    """Write a file that is there whole or not at all."""
    check_new([path])
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, aside = tempfile.mkstemp(prefix=ASIDE_PREFIX, dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(aside).rename(path)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise


# The address of a PostgreSQL database. It may hold a password, which is never logged or displayed.

SECRETS = ("password", "sslpassword")


@dataclass(frozen=True)
class Address:
    """Where a server is, and how to get in. What it shows of itself is public."""

    parts: dict[str, Any] = field(repr=False)

    @classmethod
    def of(cls, url: str, what: str) -> Address:
        """Return the address; what does not parse is not repeated, it may hold a password.

        what: it is the address of, e.g. "the ledger".
        """
        try:
            import psycopg
        except ImportError as error:
            raise MissingExtraError(what, "postgres") from error
        try:
            parts = psycopg.conninfo.conninfo_to_dict(url)
        except psycopg.Error:
            parts = {"host": "@"}
        # An @ or / of a password that is not written as %40 or %2F puts the rest of it into host or database; and what
        # looks like an address in the place of a database's name is one for PostgreSQL.
        shown = [str(parts.get(name, "")) for name in ("host", "port", "dbname")]
        if any(sign in part for part in shown for sign in ("@", "=", "://")):
            msg = (
                f"the address of {what} is not one of PostgreSQL; write postgresql://USER@HOST/DATABASE, and an @, / "
                "or % in a password as %40, %2F or %25"
            )
            raise UsageError(msg, code="address-syntax")
        return cls({"connect_timeout": 10, "application_name": "gridveil", "client_encoding": "utf8", **parts})

    def __str__(self) -> str:
        """Return the server and database, without user and password."""
        host, port = self.parts.get("host", ""), self.parts.get("port")
        return f"postgresql://{host}{f':{port}' if port else ''}/{self.parts.get('dbname', '')}"

    def without_secrets(self, error: psycopg.Error) -> str:
        """Return the words of an error in one line, without the passwords of the address."""
        told = " ".join(str(error).split())
        for name in SECRETS:
            secret = self.parts.get(name)
            for written in {secret, quote(secret), quote(secret, safe="")} if secret else ():
                told = told.replace(written, "***")
        return told
