"""Reading exports with other people's libraries. Cubes have the axes (time, y, x)."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import openpyxl
import pyarrow.parquet as pq
import shapely
import xarray

from gridveil.release.query.open import Release

MEASURES = ("kwh", "standard_error_kwh", "kwh_low", "kwh_high")


class Read(NamedTuple):
    cubes: dict[str, np.ndarray]
    label: dict[str, Any]
    words: str  # all that is said beside numbers


def read(form: str, path: Path, release: Release) -> Read:
    return READERS[form](path, release)


def place(rows: Iterable[dict[str, Any]], release: Release) -> dict[str, np.ndarray]:
    """Put every row where its time and cell say it belongs, exactly once."""
    window, grid = release.window, release.grid
    cubes = {name: np.full((window.steps, grid.ny, grid.nx), np.nan) for name in MEASURES}
    for row in rows:
        step, rest = divmod(row["interval_start"] - window.start, window.step)
        assert not rest
        at = (step, int(row["y"]), int(row["x"]))
        for name, cube in cubes.items():
            assert np.isnan(cube[at])
            cube[at] = float(row[name])
    assert not any(np.isnan(cube).any() for cube in cubes.values())
    return cubes


def _parquet(path: Path, release: Release) -> Read:
    table = pq.read_table(path)
    metadata = {key.decode(): value.decode() for key, value in pq.read_metadata(path).metadata.items()}
    return Read(place(table.to_pylist(), release), json.loads(metadata["privacy_label"]), str(metadata))


def _geoparquet(path: Path, release: Release) -> Read:
    """Cells by what their polygons cover, not by their indices."""
    table = pq.read_table(path)
    grid, rows = release.grid, table.to_pylist()
    for row, shape in zip(rows, shapely.from_wkb(table["geometry"].to_numpy(zero_copy_only=False)), strict=True):
        row["x"] = int((shape.centroid.x - grid.x0) // grid.cell_width)
        row["y"] = int((shape.centroid.y - grid.y0) // grid.cell_height)
    metadata = {key.decode(): value.decode() for key, value in pq.read_metadata(path).metadata.items()}
    return Read(place(rows, release), json.loads(metadata["privacy_label"]), str(metadata))


def _csv(path: Path, release: Release) -> Read:
    with path.open(newline="", encoding="utf-8") as file:
        rows: list[dict[str, Any]] = list(csv.DictReader(file))
    for row in rows:
        row["interval_start"] = datetime.strptime(row["interval_start"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    text = Path(f"{path}.label.json").read_text(encoding="utf-8")
    return Read(place(rows, release), json.loads(text)["privacy_label"], text)


def _geojson(path: Path, release: Release) -> Read:
    content = json.loads(path.read_text(encoding="utf-8"))
    known = content["gridveil"]
    starts = [datetime.fromisoformat(start) for start in known["interval_start"]]
    rows = (
        {"x": at["x"], "y": at["y"], "interval_start": start, **{name: at[name][step] for name in MEASURES}}
        for at in (feature["properties"] for feature in content["features"])
        for step, start in enumerate(starts)
    )
    return Read(place(rows, release), known["privacy_label"], json.dumps(known))


def _zarr(path: Path, release: Release) -> Read:
    names = ("consumption", "consumption_se", "consumption_low", "consumption_high")
    with xarray.open_zarr(path, consolidated=False) as data:
        assert data.time.values.tolist() == [
            np.datetime64(start.replace(tzinfo=None), "ns").item() for start in release.window.times()
        ]
        cubes = {ours: data[name].values.astype(float) for ours, name in zip(MEASURES, names, strict=True)}
        return Read(cubes, data.attrs["privacy_label"], str(data.attrs))


def _xlsx(path: Path, release: Release) -> Read:
    book = openpyxl.load_workbook(path, read_only=True)
    header, *rows = book["consumption"].iter_rows(values_only=True)
    dicts = [dict(zip(header, row, strict=True)) for row in rows]
    for row in dicts:
        row["interval_start"] = row["interval_start"].replace(tzinfo=UTC)
    label = dict(list(book["label"].iter_rows(values_only=True))[1:])
    words = "\n".join(str(cell) for row in book["read me"].iter_rows(values_only=True) for cell in row if cell)
    book.close()
    return Read(place(dicts, release), label, words)


READERS = {
    "parquet": _parquet,
    "geoparquet": _geoparquet,
    "csv": _csv,
    "geojson": _geojson,
    "zarr": _zarr,
    "xlsx": _xlsx,
}
