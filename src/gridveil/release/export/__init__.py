"""A release in the file formats that recipients work with: the values of every cell and step with their error bars."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from gridveil.model.errors import UsageError
from gridveil.model.progress import Progress, silent
from gridveil.release.export.registry import EXPORTERS, Exporter

if TYPE_CHECKING:
    from gridveil.release.query.open import Release

__all__ = ["EXPORTERS", "Exporter", "export", "refusal"]


def export(release: Release, path: Path | str, format: str, progress: Progress = silent) -> list[Path]:  # noqa: A002 - its plain name
    """Write a release to a new file (for `zarr` a folder) in one of `EXPORTERS`, and return what was written.

    It is written aside and gets its name when every byte is on disk; on a failure nothing is left. `csv` has the
    privacy label beside it, at `path` with `.label.json` behind it; all others have it inside.
    """
    why = refusal(release, format)
    if why is not None:
        raise UsageError(why, code="export-refused")
    if os.path.lexists(path):  # said before anything is computed
        msg = f"{path}: already there, and never overwritten; give another --out"
        raise UsageError(msg, code="out-exists")
    return EXPORTERS.load(format).write(release, Path(path), progress)


def refusal(release: Release, format: str) -> str | None:  # noqa: A002 - as above
    """Return why a release is too large for a format, or nothing if it is not."""
    rows, most = release.grid.cells * release.window.steps, EXPORTERS.load(format).most_rows
    if most is None or rows <= most:
        return None
    instead = ", ".join(name for name in EXPORTERS.names() if EXPORTERS.load(name).most_rows is None)
    return f"{format} holds up to {most:,} cells times steps, and this release has {rows:,}: give one of {instead}"
