"""GeoParquet 1.1: the long table with the polygon of its cell in every row.

One row for every cell and step is what operators publish and what tools can filter: QGIS' temporal controller steps
through `interval_start`, and geopandas, DuckDB and GDAL read only the steps asked for. Polygons repeat as a dictionary,
so they take little room. (A row for every cell, with its curve as a list, is what `geojson` has.)
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from gridveil.geography.grid import Grid
from gridveil.model.progress import Progress
from gridveil.release.export.as_parquet import write_table
from gridveil.release.export.registry import Exporter
from gridveil.release.export.table import LongTable, outlines
from gridveil.release.query.open import Release

VERSION = "1.1.0"
POLYGON = 3  # in well-known binary
_WKB = np.dtype([("order", "u1"), ("kind", "<u4"), ("rings", "<u4"), ("points", "<u4"), ("ring", "<f8", (5, 2))])


def write(release: Release, path: Path, progress: Progress) -> list[Path]:
    """Write the table; geometries are in the grid's own coordinate system, where cells are exact rectangles."""
    table = LongTable(release, {"geometry": polygons(release.grid)})
    return write_table(release, path, progress, table, {"geo": geo(release.grid)})


EXPORTER = Exporter(".geo.parquet", "application/vnd.apache.parquet", "GeoParquet map", write)


def polygons(grid: Grid) -> pa.Array:
    """Return the outline of every cell as well-known binary."""
    shapes = np.zeros(grid.cells, _WKB)
    shapes["order"], shapes["kind"], shapes["rings"], shapes["points"] = 1, POLYGON, 1, 5
    shapes["ring"] = outlines(grid)
    return pa.array([shape.tobytes() for shape in shapes], pa.binary())


def geo(grid: Grid) -> dict[str, Any]:
    """Return GeoParquet's metadata. A coordinate system of null is one that is not known."""
    column = {
        "encoding": "WKB",
        "geometry_types": ["Polygon"],
        "crs": _projjson(grid.crs),
        "orientation": "counterclockwise",
        "edges": "planar",
        "bbox": [grid.x0, grid.y0, grid.x1, grid.y1],
    }
    return {"version": VERSION, "primary_column": "geometry", "columns": {"geometry": column}}


def _projjson(crs: str) -> dict[str, Any] | None:
    if crs == "local":
        return None
    from pyproj import CRS

    return CRS.from_user_input(crs).to_json_dict()
