"""A release in the file formats that recipients work with: the values of every cell and step with their error bars."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gridveil.model.errors import UsageError
from gridveil.model.registry import Registry
from gridveil.model.running import Progress, silent

if TYPE_CHECKING:
    from gridveil.release.query.open import Release

__all__ = ["EXPORTERS", "Exporter", "export", "refusal"]


@dataclass(frozen=True)
class Exporter:
    """A file format, and how a release is written in it.

    suffix: of the file's name.
    media_type: of a download; a folder is downloaded as a zip archive.
    description: what the page calls it, in a few words.
    write: writes to a path where nothing is yet, whole or not at all, and returns what it wrote.
    max_rows: how many cells times steps it can hold; `None` is any number.
    folder: whether it is a folder, not a file.
    """

    suffix: str
    media_type: str
    description: str
    write: Callable[[Release, Path, Progress], list[Path]]
    max_rows: int | None = None
    folder: bool = False


EXPORTERS = Registry[Exporter](
    "format",
    "gridveil.exporters",
    {
        "csv": "gridveil.release.export.as_csv:EXPORTER",
        "parquet": "gridveil.release.export.as_parquet:EXPORTER",
        "geojson": "gridveil.release.export.as_geojson:EXPORTER",
        "geoparquet": "gridveil.release.export.as_parquet:GEO_EXPORTER",
        "xlsx": "gridveil.release.export.as_xlsx:EXPORTER",
        "zarr": "gridveil.release.export.as_zarr:EXPORTER",
    },
)
"""By name. A third party adds one through the entry-point group `gridveil.exporters`."""


def export(release: Release, path: Path | str, format: str, progress: Progress = silent) -> list[Path]:  # noqa: A002 - its plain name
    """Write a release to a new file (for `zarr` a folder) in one of `EXPORTERS`, and return what was written.

    It is written aside and gets its name when every byte is on disk; on a failure nothing is left. `csv` has the
    privacy label next to it, at `path` with `.label.json` behind it; all others have it inside.
    """
    why = refusal(release, format)
    if why is not None:
        raise UsageError(why, code="export-refused")
    if os.path.lexists(path):  # refused before anything is computed
        msg = f"{path}: already there, and never overwritten; give another --out"
        raise UsageError(msg, code="out-exists")
    return EXPORTERS.load(format).write(release, Path(path), progress)


def refusal(release: Release, format: str) -> str | None:  # noqa: A002 - as above
    """Return why a release is too large for a format, or nothing if it is not."""
    rows, largest = release.grid.cells * release.window.steps, EXPORTERS.load(format).max_rows
    if largest is None or rows <= largest:
        return None
    instead = ", ".join(name for name in EXPORTERS.names() if EXPORTERS.load(name).max_rows is None)
    return f"{format} holds up to {largest:,} cells times steps, and this release has {rows:,}: give one of {instead}"
