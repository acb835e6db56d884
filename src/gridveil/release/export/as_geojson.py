"""GeoJSON (RFC 7946): a polygon for every cell, with the total of the window and the curve over its steps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from gridveil.geography.grid import Grid
from gridveil.model.arrays import Floats
from gridveil.model.files import new_file
from gridveil.model.running import Progress
from gridveil.release.export import Exporter
from gridveil.release.export.table import MEASURES, PUBLIC, about, area_ids, outlines, slabs, to_lonlat
from gridveil.release.format import wording
from gridveil.release.query.open import Cells, Release

Numbers = NDArray[np.float32]
LONLAT = "longitude and latitude, degrees (WGS 84)"
LOCAL = (
    "in the grid's own units, not longitude and latitude as GeoJSON wants them: "
    "this grid has no coordinate system, and no map shows where it lies"
)
PROPERTIES = (
    "total_kwh: energy used in the cell in the whole window, with its standard error and 95 % interval; "
    "kwh, standard_error_kwh, kwh_low, kwh_high: the same for every step, in the order of interval_start"
)


def write(release: Release, path: Path, progress: Progress) -> list[Path]:
    """Write the cells, one a line, after what is to be known about all of them."""
    rings = _rings(release.grid)
    curves = {name: [] for name in MEASURES}  # type: dict[str, list[Numbers]]
    for slab in slabs(release, progress):
        for name, part in MEASURES.items():
            curves[name].append(getattr(slab, part))
    with new_file(path) as aside:
        with aside.open("w", encoding="utf-8") as file:
            bbox = [*rings.min(axis=(0, 1)).tolist(), *rings.max(axis=(0, 1)).tolist()]
            file.write('{"type": "FeatureCollection",\n')
            file.write(
                f'"bbox": {json.dumps(bbox)},\n"gridveil": {json.dumps(_properties(release), ensure_ascii=False)},\n'
            )
            file.write('"features": [\n')
            totals = release.cells(0, release.window.steps)
            file.write(",\n".join(_features(release, rings, totals, curves)))
            file.write("\n]}\n")
        aside.chmod(PUBLIC)
    return [path]


EXPORTER = Exporter(".geojson", "application/geo+json", "GeoJSON map", write, max_rows=5_000_000)


def _rings(grid: Grid) -> Floats:
    """Return the outlines of cells (cell, 5, 2) in longitude and latitude, if the grid has a coordinate system."""
    rings = outlines(grid)
    return rings if grid.crs == "local" else np.stack(to_lonlat(grid.crs, rings[..., 0], rings[..., 1]), axis=2)


def _properties(release: Release) -> dict[str, Any]:
    return {
        **about(release),
        "coordinates": LOCAL if release.grid.crs == "local" else LONLAT,
        "properties": PROPERTIES,
        "interval_start": [_iso(start) for start in release.window.times()],
    }


def _iso(instant: datetime) -> str:
    return f"{instant:%Y-%m-%dT%H:%M:%SZ}"


def _features(release: Release, rings: Floats, totals: Cells, curves: dict[str, list[Numbers]]) -> Iterator[str]:
    grid = release.grid
    # A feature is easily parted from the collection: one of test noise says so itself.
    warning = "" if release.label.private else f', "warning": {json.dumps(wording.NOT_PRIVATE)}'
    columns = {
        **{f"total_{name}": _texts(getattr(totals, part).ravel()) for name, part in MEASURES.items()},
        **{name: _curves(np.concatenate(parts)) for name, parts in curves.items()},
    }
    for cell, (name, ring) in enumerate(zip(area_ids(grid), rings.tolist(), strict=True)):
        y, x = divmod(cell, grid.nx)
        numbers = "".join(f', "{column}": {texts[cell]}' for column, texts in columns.items())
        geometry = f'{{"type": "Polygon", "coordinates": {json.dumps([ring])}}}'
        properties = f'{{"area_id": "{name}", "x": {x}, "y": {y}{numbers}{warning}}}'
        yield f'{{"type": "Feature", "id": "{name}", "geometry": {geometry}, "properties": {properties}}}'


def _curves(numbers: Numbers) -> list[str]:
    """Return the curve of each cell as JSON; axes (time, y, x)."""
    steps = len(numbers)
    texts = _texts(numbers.reshape(steps, -1).T.ravel())
    return [f"[{','.join(texts[first : first + steps])}]" for first in range(0, len(texts), steps)]


def _texts(numbers: Numbers) -> list[str]:
    """Return numbers in the fewest digits that tell them apart as float32, which is how they were published."""
    texts: list[str] = pa.array(numbers).cast(pa.string()).to_pylist()
    return texts
