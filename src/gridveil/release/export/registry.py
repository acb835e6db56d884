"""Exporters by name. A third party adds one through the entry-point group `gridveil.exporters`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gridveil.model.progress import Progress
from gridveil.model.registry import Registry

if TYPE_CHECKING:
    from gridveil.release.query.open import Release


@dataclass(frozen=True)
class Exporter:
    """A file format, and how a release is written in it.

    suffix: of the file's name.
    media_type: of a download; a folder is downloaded as a zip archive.
    description: what the page calls it, in a few words.
    write: writes to a path where nothing is yet, whole or not at all, and returns what it wrote.
    most_rows: how many cells times steps it can hold; `None` is any number.
    folder: whether it is a folder, not a file.
    """

    suffix: str
    media_type: str
    description: str
    write: Callable[[Release, Path, Progress], list[Path]]
    most_rows: int | None = None
    folder: bool = False


EXPORTERS = Registry[Exporter](
    "format",
    "gridveil.exporters",
    {
        "csv": "gridveil.release.export.as_csv:EXPORTER",
        "parquet": "gridveil.release.export.as_parquet:EXPORTER",
        "geojson": "gridveil.release.export.as_geojson:EXPORTER",
        "geoparquet": "gridveil.release.export.as_geoparquet:EXPORTER",
        "xlsx": "gridveil.release.export.as_xlsx:EXPORTER",
        "zarr": "gridveil.release.export.as_zarr:EXPORTER",
    },
)
