"""GeoJSON and Zarr: what maps and arrays are made of."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import shapely
import xarray
import zarr
from pyproj import Transformer
from tests.release.conftest import GRID, WINDOW
from tests.release.export.conftest import BRITISH, LOCAL, Publish

from gridveil.geography.grid import Grid
from gridveil.release.export import export


def features(path: Path) -> dict[str, dict[str, object]]:
    content = json.loads(path.read_text())
    assert content["type"] == "FeatureCollection"
    return {feature["id"]: feature for feature in content["features"]}


def test_a_feature_for_every_cell_whose_polygons_tile_the_map(release_of: Publish, tmp_path: Path) -> None:
    export(release_of(), tmp_path / "town.geojson", "geojson")
    cells = features(tmp_path / "town.geojson")
    assert len(cells) == GRID.cells
    shapes = {name: shapely.from_geojson(json.dumps(cell["geometry"])) for name, cell in cells.items()}
    assert all(shape.is_valid and shape.exterior.is_ccw for shape in shapes.values())
    assert shapely.union_all(list(shapes.values())).equals(shapely.box(GRID.x0, GRID.y0, GRID.x1, GRID.y1))
    third = shapes["x002_y001"].bounds
    assert third == pytest.approx((GRID.x0 + 2 * 0.05, GRID.y0 + 0.05, GRID.x0 + 3 * 0.05, GRID.y0 + 0.1), abs=1e-7)
    assert json.loads((tmp_path / "town.geojson").read_text())["bbox"] == [GRID.x0, GRID.y0, GRID.x1, GRID.y1]


@pytest.mark.parametrize("kind", ["posterior", "parts", "linear"])
def test_totals_have_the_interval_of_the_whole_window(release_of: Publish, tmp_path: Path, kind: str) -> None:
    release = release_of(kind)
    export(release, tmp_path / "town.geojson", "geojson")
    for cell in list(features(tmp_path / "town.geojson").values())[::7]:
        known = cell["properties"]
        answer = release.query((known["x"], known["x"] + 1), (known["y"], known["y"] + 1))
        assert known["total_kwh"] == pytest.approx(answer.value, rel=1e-6)
        assert known["total_standard_error_kwh"] == pytest.approx(answer.standard_error, rel=1e-6)
        near = 5e-4 * (answer.high - answer.low)  # see `of_cells` of the error models
        assert known["total_kwh_low"] == pytest.approx(answer.low, abs=near)
        assert known["total_kwh_high"] == pytest.approx(answer.high, abs=near)
        assert sum(known["kwh"]) == pytest.approx(answer.value, rel=1e-6)


def test_projected_grids_become_longitude_and_latitude(release_of: Publish, tmp_path: Path) -> None:
    export(release_of(grid=BRITISH), tmp_path / "town.geojson", "geojson")
    ring = features(tmp_path / "town.geojson")["x001_y002"]["geometry"]["coordinates"][0]
    back = Transformer.from_crs("EPSG:4326", "EPSG:27700", always_xy=True)
    expected = [(530_500, 181_000), (531_000, 181_000), (531_000, 181_500), (530_500, 181_500), (530_500, 181_000)]
    for point, corner in zip(ring, expected, strict=True):
        assert back.transform(*point) == pytest.approx(corner, abs=0.02)
    assert "WGS 84" in json.loads((tmp_path / "town.geojson").read_text())["gridveil"]["coordinates"]


def test_local_grids_keep_their_units_and_say_so(release_of: Publish, tmp_path: Path) -> None:
    export(release_of(grid=LOCAL), tmp_path / "town.geojson", "geojson")
    content = json.loads((tmp_path / "town.geojson").read_text())
    assert content["bbox"] == [0, 0, 8, 5]
    assert "no coordinate system" in content["gridveil"]["coordinates"]


@pytest.mark.parametrize("grid", [GRID, BRITISH, LOCAL], ids=lambda grid: grid.crs)
def test_zarr_is_like_the_netcdf(release_of: Publish, tmp_path: Path, grid: Grid) -> None:
    export(release_of(grid=grid), tmp_path / "town.zarr", "zarr")
    with (
        xarray.open_dataset(tmp_path / "release/consumption.nc", engine="h5netcdf") as netcdf,
        xarray.open_zarr(tmp_path / "town.zarr", consolidated=False) as ours,
    ):
        assert set(netcdf.variables) | {"consumption_low", "consumption_high"} == set(ours.variables)
        for name in ("time", "y", "x", "time_bnds", "y_bnds", "x_bnds", "consumption", "consumption_se"):
            np.testing.assert_array_equal(ours[name].values, netcdf[name].values, err_msg=name)
            assert ours[name].dims == netcdf[name].dims
            assert ours[name].attrs.get("units") == netcdf[name].attrs.get("units")
            assert ours[name].attrs.get("standard_name") == netcdf[name].attrs.get("standard_name")
        if grid is LOCAL:
            assert "crs" not in ours
        else:
            assert ours.crs.attrs["crs_wkt"] == netcdf.crs.attrs["crs_wkt"]
            assert ours.consumption.attrs["grid_mapping"] == "crs"
        assert ours.attrs["Conventions"] == netcdf.attrs["Conventions"]
        assert ours.attrs["title"] == netcdf.attrs["title"]
    group = zarr.open_group(tmp_path / "town.zarr", mode="r", use_consolidated=False)
    assert group.metadata.zarr_format == 3
    assert group["consumption"].chunks == (WINDOW.steps, grid.ny, grid.nx)


@pytest.mark.parametrize("private", [True, False])
def test_every_feature_of_test_noise_says_so(release_of: Publish, tmp_path: Path, *, private: bool) -> None:
    export(release_of(private=private), tmp_path / "town", "geojson")
    features = json.loads((tmp_path / "town").read_text(encoding="utf-8"))["features"]
    found = {feature["properties"].get("warning") for feature in features}
    assert found == ({None} if private else {"NOT PRIVATE (TEST NOISE)"})
