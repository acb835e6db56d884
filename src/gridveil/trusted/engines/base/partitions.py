"""Paths with fields for the day, such as `lake/%Y/%m/%d/*.parquet`: which of their files a window needs."""

from __future__ import annotations

import glob
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from gridveil.model.errors import InputError, UsageError
from gridveil.model.window import Window, timezone
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable

FIELDS: dict[str, Callable[[date], str]] = {
    "%": lambda _: "%",
    "Y": lambda day: f"{day.year:04}",
    "m": lambda day: f"{day.month:02}",
    "d": lambda day: f"{day.day:02}",
    "j": lambda day: f"{day.timetuple().tm_yday:03}",
    "G": lambda day: f"{day.isocalendar().year:04}",
    "V": lambda day: f"{day.isocalendar().week:02}",
}
"""As `strftime` has them, but none that depends on a language or the hour."""

VALID_FIELDS = ({"Y"}, {"Y", "m"}, {"Y", "m", "d"}, {"Y", "j"}, {"G", "V"})
"""What a path may name: a year, a month, a day, or a week; never one that comes again every year or month."""

SCRATCH = "gridveil-scratch"
"""The folder in the operator's `scratch`: nothing beside it is touched."""

FIELD = re.compile("%(.?)")
FIELDS_HELP = (
    "fields for the day are %Y %m %d (year, month, day), %Y %m, %Y, %Y %j (day of the year) or %G %V (ISO year and "
    "week); write %% for a plain %"
)


@dataclass(frozen=True)
class Partitions:
    """Paths or patterns of a window: `needed` for its own days, `beside` for the day before and the day after.

    Readings whose timestamps mark the end of an interval, or that were filed by another clock, may lie `beside`.
    """

    needed: tuple[str, ...]
    beside: tuple[str, ...] = ()


def has_fields(path: str) -> bool:
    """Whether a path has fields for the day. A file with just that name is what was meant, whatever it looks like."""
    return "%" in path and not Path(path).exists()


def find_partitions(path: str, window: Window, zone: str) -> Partitions:
    """Return the paths of a window's days, by the clock of `zone`.

    >>> from datetime import UTC, datetime
    >>> week = Window(datetime(2013, 2, 27, tzinfo=UTC), timedelta(days=1), 2)
    >>> find_partitions("lake/%Y-%m-%d.parquet", week, "UTC").needed
    ('lake/2013-02-27.parquet', 'lake/2013-02-28.parquet')
    >>> find_partitions("lake/month=%Y-%m/*.parquet", week, "UTC")
    Partitions(needed=('lake/month=2013-02/*.parquet',), beside=('lake/month=2013-03/*.parquet',))
    """
    _check_fields(path)
    clock, day = timezone(zone), timedelta(days=1)
    first = window.start.astimezone(clock).date()
    last = (window.end - timedelta(seconds=1)).astimezone(clock).date()
    days = [first + i * day for i in range((last - first).days + 1)]
    needed = dict.fromkeys(_format_path(path, day) for day in days)
    beside = dict.fromkeys(_format_path(path, day) for day in (first - day, last + day))
    return Partitions(tuple(needed), tuple(pattern for pattern in beside if pattern not in needed))


def find_files(pattern: str) -> list[str]:
    """Return the files of a path or pattern on this machine, without what gridveil keeps in a scratch folder."""
    if Path(pattern).exists():
        return [pattern]
    found = glob.glob(pattern, recursive=True)  # noqa: PTH207  # absolute ones
    return [file for file in found if SCRATCH not in Path(file).parts]


def list_window_files(path: str, window: Window, zone: str, find: Callable[[str], list[str]] = find_files) -> list[str]:
    """Return the files of a window's days, and of the days beside it as far as there are any. None is opened.

    find: lists the files of a pattern, where they are on another file system than this machine's.
    Every day of the window must have one: half a week is not a week. Which files there are is a fact of the whole
    table, so that a missing one may stop a publication.
    """
    wanted = find_partitions(path, window, zone)
    found = {pattern: find(pattern) for pattern in (*wanted.needed, *wanted.beside)}
    missing = [pattern for pattern in wanted.needed if not found[pattern]]
    if missing and len(missing) == len(wanted.needed) > 1:
        msg = (
            f"{path}: there is no file of any day of the window (the first would be {missing[0]}). Is the path right? "
            "If it is, wait until they are there"
        )
        raise InputError(msg, code="no-file-of-window")
    if missing:
        more = f" (nor {len(missing) - 1} more of this window)" if len(missing) > 1 else ""
        msg = (
            f"{missing[0]}: there is no such file{more}. Every day of a window needs one, so that no part of it is "
            "published as if nobody had used anything; wait until it is there"
        )
        raise InputError(msg, code="day-file-missing")
    return sorted({file for files in found.values() for file in files})


def _check_fields(path: str) -> None:
    """Refuse fields that name no day, or several."""
    named = FIELD.findall(path)
    unknown = [name for name in named if name not in FIELDS]
    if unknown:
        msg = f"{path}: %{unknown[0]} is no field for a day; {FIELDS_HELP}"
        raise UsageError(msg, code="path-field-unknown")
    if set(named) - {"%"} not in VALID_FIELDS:
        msg = f"{path}: its fields do not name one year, month, week or day; {FIELDS_HELP}"
        raise UsageError(msg, code="path-fields")


def _format_path(path: str, day: date) -> str:
    return FIELD.sub(lambda field: FIELDS[field[1]](day), path)


def list_files(at: ReadingsTable | HouseholdsTable, window: Window | None = None) -> list[str]:
    """Return the files of a path or pattern; where a path of readings has fields for the day, those of the window."""
    path = at.path
    if "://" in path:
        msg = f"{path}: DuckDB reads files of this machine; for those of a cluster give --engine spark"
        raise InputError(msg, code="path-not-local")
    if window is not None and isinstance(at, ReadingsTable) and has_fields(path):
        files = list_window_files(path, window, at.timezone)
    else:
        files = sorted(find_files(path))
    if not files:
        msg = f"{path}: there is no such file"
        raise InputError(msg, code="file-missing")
    folders = [file for file in files if Path(file).is_dir()]
    if folders:
        msg = f"{folders[0]}: it is a folder; give a file, or a pattern such as {folders[0].rstrip('/')}/**/*.parquet"
        raise InputError(msg, code="path-is-folder")
    special = [file for file in files if not Path(file).is_file()]
    if special:
        msg = f"{special[0]}: it is a pipe or a device; give a file, which is read more than once"
        raise InputError(msg, code="path-is-special")
    return files
