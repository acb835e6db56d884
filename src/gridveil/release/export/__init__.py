"""A release in the file formats that recipients work with: the values of every cell and step with their error bars."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from gridveil.model.errors import UsageError
from gridveil.release.export.slabs import Progress, silent
from gridveil.release.query.open import Release

__all__ = ["FORMATS", "Format", "Progress", "export", "refusal"]


@dataclass(frozen=True)
class Format:
    """A kind of file. `most_rows`: how many cells times steps it can hold; `None` is any number."""

    suffix: str
    media_type: str
    description: str
    writer: str
    most_rows: int | None = None


FORMATS = {
    "parquet": Format(
        ".parquet",
        "application/vnd.apache.parquet",
        "a row for every cell and step; for DuckDB, pandas, R and data warehouses; of any size",
        "as_parquet",
    ),
    "csv": Format(
        ".csv",
        "text/csv",
        "the same rows as text, with the privacy label in a file beside it; of any size",
        "as_csv",
    ),
    "geojson": Format(
        ".geojson",
        "application/geo+json",
        "a polygon for every cell, with its total and its curve; for web maps and QGIS",
        "as_geojson",
        5_000_000,
    ),
    "geoparquet": Format(
        ".geo.parquet",
        "application/vnd.apache.parquet",
        "the rows of parquet, each with the polygon of its cell; for QGIS and geopandas; of any size",
        "as_geoparquet",
    ),
    "zarr": Format(
        ".zarr",
        "application/zip",
        "a folder of arrays (time, y, x), Zarr 3 with CF attributes; for xarray; of any size",
        "as_zarr",
    ),
    "xlsx": Format(
        ".xlsx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "the rows of csv as an Excel workbook, with the privacy label as a sheet",
        "as_xlsx",
        2**20 - 1,
    ),
}


def export(release: Release, path: Path | str, format: str, progress: Progress = silent) -> list[Path]:  # noqa: A002 - its plain name
    """Write a release to a new file (for `zarr` a folder) in one of `FORMATS`, and return what was written.

    It is written aside and gets its name when every byte is on disk; on a failure nothing is left. `csv` has the
    privacy label beside it, at `path` with `.label.yaml` behind it; all others have it inside.
    """
    why = refusal(release, format)
    if why is not None:
        raise UsageError(why)
    if os.path.lexists(path):  # said before anything is computed
        msg = f"{path}: already there, and never overwritten; give another --out"
        raise UsageError(msg)
    written: list[Path] = import_module(f"{__name__}.{FORMATS[format].writer}").write(release, Path(path), progress)
    return written


def refusal(release: Release, format: str) -> str | None:  # noqa: A002 - as above
    """Return why a release cannot be written in a format, or nothing if it can."""
    if format not in FORMATS:
        return f"format {format}: give one of {', '.join(FORMATS)}"
    rows, most = release.grid.cells * release.window.steps, FORMATS[format].most_rows
    if most is None or rows <= most:
        return None
    instead = "zarr or geoparquet" if format == "geojson" else "parquet or csv"
    return f"{format} holds up to {most:,} cells times steps, and this release has {rows:,}: give --to {instead}"
