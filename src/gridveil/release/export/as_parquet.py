"""Parquet and GeoParquet 1.1: the long table in row groups of about a million rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gridveil.geography.grid import Grid
from gridveil.model.files import new_file
from gridveil.model.running import Progress
from gridveil.release.export import Exporter
from gridveil.release.export.table import MEASURES, PUBLIC, SLAB, LongTable, about, outlines, slabs
from gridveil.release.query.open import Release

MAX_DICTIONARY_BYTES = 2**25  # bytes; the outlines of 256 x 256 cells take 6 MB


def write(release: Release, path: Path, progress: Progress) -> list[Path]:
    """Write the long table, with the label in the file's metadata."""
    return write_table(release, path, progress, LongTable(release))


EXPORTER = Exporter(".parquet", "application/vnd.apache.parquet", "Parquet table", write)


def write_table(
    release: Release, path: Path, progress: Progress, table: LongTable, metadata: dict[str, Any] | None = None
) -> list[Path]:
    """Write a long table slab by slab; metadata that is not text becomes JSON."""
    known = {**about(release), "columns": table.columns, **(metadata or {})}
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in known.items()}
    with new_file(path) as aside:
        with _writer(aside, table.schema) as writer:
            for slab in slabs(release, progress):
                writer.write_table(table.of(slab), row_group_size=SLAB)
            writer.add_key_value_metadata(texts)
        aside.chmod(PUBLIC)
    return [path]


def _writer(path: Path, schema: pa.Schema) -> Any:  # noqa: ANN401 - pyarrow has no types
    return pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        use_dictionary=[name for name in schema.names if name not in MEASURES],
        dictionary_pagesize_limit=MAX_DICTIONARY_BYTES,
        # Dictionaries are a way to store columns here; nobody should have to read categories or encoded geometries.
        store_schema=False,
    )


# GeoParquet: the long table with the polygon of its cell in every row.
#
# One row for every cell and step is what operators publish and what tools can filter: QGIS' temporal controller steps
# through `interval_start`, and geopandas, DuckDB and GDAL read only the steps asked for. Polygons repeat as a
# dictionary, so they take little space. (A row for every cell, with its curve as a list, is what `geojson` has.)

GEOPARQUET = "1.1.0"
POLYGON = 3  # in well-known binary
_WKB = np.dtype([("order", "u1"), ("kind", "<u4"), ("rings", "<u4"), ("points", "<u4"), ("ring", "<f8", (5, 2))])


def write_geo(release: Release, path: Path, progress: Progress) -> list[Path]:
    """Write the table; geometries are in the grid's own coordinate system, where cells are exact rectangles."""
    table = LongTable(release, {"geometry": _encode_polygons(release.grid)})
    return write_table(release, path, progress, table, {"geo": _describe_geometry(release.grid)})


GEO_EXPORTER = Exporter(".geo.parquet", "application/vnd.apache.parquet", "GeoParquet map", write_geo)


def _encode_polygons(grid: Grid) -> pa.Array:
    """Return the outline of every cell as well-known binary."""
    shapes = np.zeros(grid.cells, _WKB)
    shapes["order"], shapes["kind"], shapes["rings"], shapes["points"] = 1, POLYGON, 1, 5
    shapes["ring"] = outlines(grid)
    return pa.array([shape.tobytes() for shape in shapes], pa.binary())


def _describe_geometry(grid: Grid) -> dict[str, Any]:
    """Return GeoParquet's metadata. A coordinate system of null is one that is not known."""
    column = {
        "encoding": "WKB",
        "geometry_types": ["Polygon"],
        "crs": _projjson(grid.crs),
        "orientation": "counterclockwise",
        "edges": "planar",
        "bbox": [grid.x0, grid.y0, grid.x1, grid.y1],
    }
    return {"version": GEOPARQUET, "primary_column": "geometry", "columns": {"geometry": column}}


def _projjson(crs: str) -> dict[str, Any] | None:
    if crs == "local":
        return None
    from pyproj import CRS

    return CRS.from_user_input(crs).to_json_dict()
