"""The operator's record of a publication: what was read, exactly. It never leaves the operator's house."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gridveil.model.errors import UsageError
from gridveil.model.folder import new_file
from gridveil.model.window import Window
from gridveil.trusted.engines.base.partitions import files_of
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable
from gridveil.trusted.engines.duckdb.unreadable import reading
from gridveil.trusted.source.report import Report

WARNING = (
    "For the operator only: exact digests and counts of private data tell for certain who is in it. "
    "Never publish this file."
)


def check_record(record: Path, out: Path) -> None:
    """Refuse, before anything is read or spent, a record that cannot be written, or that would be in the release."""
    if os.path.lexists(record):
        msg = f"{record}: already there, and never overwritten; give another --operator-record"
        raise UsageError(msg, code="record-exists")
    inside, release = Path(os.path.realpath(record)), Path(os.path.realpath(out))
    if inside.is_relative_to(release):
        msg = f"{record}: that is inside the release, and the record is for the operator only; keep it elsewhere"
        raise UsageError(msg, code="record-inside-release")
    folder = record.absolute().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        msg = f"{record}: its folder is not there, or not yours to write; give another --operator-record"
        raise UsageError(msg, code="record-folder")


def inputs(readings: ReadingsTable, households: HouseholdsTable, window: Window) -> list[dict[str, Any]]:
    """Return the files that a window is read from with their digests, to be taken before they are read.

    Of tables of a database, and files of a cluster, which are named alone, there are no digests.
    """
    away = [table for table in (readings, households) if table.path == table.table or "://" in table.path]
    tables = [{"table" if table.path == table.table else "path": table.path} for table in away]
    files = [
        file
        for table, within in ((readings, window), (households, None))
        if table not in away
        for file in files_of(table, within)
    ]
    return [*tables, *({"path": str(Path(file).absolute()), "sha256": _digest(file)} for file in files)]


def write_record(
    record: Path, *, files: list[dict[str, Any]], report: Report, release: Path, entry: str | None
) -> str | None:
    """Write the record to a new file that its owner alone may read, and return a warning if that fails."""
    content = {
        "warning": WARNING,
        "release": str(release.absolute()),
        "ledger_entry": entry,
        "inputs": files,
        "rows_of_readings": report.readings,
        "rows_counted": report.counted,
        "households_inside": report.households,
        "warnings": report.warnings,
        "faults": [asdict(fault) for fault in report.faults],
    }
    try:
        with new_file(record) as aside:
            aside.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    except (OSError, UsageError) as error:
        return f"WARNING: the release is valid, but the operator's record could not be written ({error})"
    return None


def _digest(file: str) -> str:
    with reading(file), Path(file).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
