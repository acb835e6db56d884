"""What others see: xarray, and GDAL as in QGIS."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyproj
import pytest
import rasterio
import xarray
from rasterio.crs import CRS
from rasterio.warp import transform
from tests.release.conftest import GRID, WINDOW

from gridveil.geography.grid import Grid
from gridveil.release.query.open import open_release

Publish = Callable[..., Path]
BRITISH = Grid(530000, 180000, 534000, 182500, nx=8, ny=5, crs="EPSG:27700")
LOCAL = Grid(0, 0, 8, 5, nx=8, ny=5)


def test_xarray_sees_coordinates_times_and_units(publish: Publish) -> None:
    path = publish()
    with xarray.open_dataset(path / "consumption.nc", engine="h5netcdf") as data:
        assert data.consumption.dims == ("time", "y", "x")
        assert data.consumption.attrs["units"] == "kW h"
        assert data.attrs["Conventions"] == "CF-1.11"
        assert data.attrs["gridveil_format"] == 1
        assert "do not simply combine" in data.attrs["comment"]
        assert data.time.values[0] == np.datetime64("2013-02-04T00")
        assert data.time.values[-1] == np.datetime64("2013-02-05T05")
        assert data.time_bnds.values[3].tolist() == np.array(["2013-02-04T03", "2013-02-04T04"], "M8[ns]").tolist()
        np.testing.assert_allclose(data.x, GRID.x0 + (np.arange(8) + 0.5) * 0.05)
        assert (data.y.diff("y") > 0).all()
        assert data.x_bnds.values[0, 0] == GRID.x0
        assert data.y_bnds.values[-1, 1] == GRID.y1
        assert (data.x.attrs["standard_name"], data.x.attrs["units"]) == ("longitude", "degrees_east")
        assert (data.y.attrs["standard_name"], data.y.attrs["units"]) == ("latitude", "degrees_north")
        assert data.crs.attrs["grid_mapping_name"] == "latitude_longitude"
        part = data.consumption.isel(x=slice(2, 5), y=slice(1, 4)).sel(time="2013-02-04")
        answer = open_release(path).query(x=(2, 5), y=(1, 4), time=("2013-02-04", "2013-02-05"))
        assert part.sum(dtype=float).item() == pytest.approx(answer.value, rel=1e-12)
        cell = data.consumption_se.isel(x=2, y=1, time=7).item()
        assert cell == pytest.approx(open_release(path).query((2, 3), (1, 2), (7, 8)).standard_error, rel=1e-6)


def test_projected_and_local_axes(publish: Publish) -> None:
    with xarray.open_dataset(publish(grid=BRITISH) / "consumption.nc", engine="h5netcdf") as data:
        assert (data.x.attrs["standard_name"], data.x.attrs["units"]) == ("projection_x_coordinate", "metre")
        assert data.crs.attrs["grid_mapping_name"] == "transverse_mercator"
    with xarray.open_dataset(publish(grid=LOCAL, name="local") / "consumption.nc", engine="h5netcdf") as data:
        assert "standard_name" not in data.x.attrs
        assert "crs" not in data
        assert "grid_mapping" not in data.consumption.attrs


@pytest.mark.parametrize("grid", [GRID, BRITISH], ids=["EPSG:4326", "EPSG:27700"])
def test_gdal_places_the_map(publish: Publish, grid: Grid) -> None:
    path = publish(grid=grid)
    opened = open_release(path)
    with rasterio.open(f"netcdf:{path / 'consumption.nc'}:consumption") as raster:
        assert raster.crs == CRS.from_string(grid.crs)
        assert (raster.count, raster.width, raster.height) == (WINDOW.steps, grid.nx, grid.ny)
        bounds = raster.bounds
        assert (bounds.left, bounds.bottom, bounds.right, bounds.top) == pytest.approx(
            (grid.x0, grid.y0, grid.x1, grid.y1)
        )
        north_up = raster.read(4)
        np.testing.assert_array_equal(north_up, opened.values()[3, ::-1])
        south_west = (grid.x0 + grid.cell_width / 2, grid.y0 + grid.cell_height / 2)
        assert next(raster.sample([south_west], indexes=4))[0] == opened.values()[3, 0, 0]


@pytest.mark.parametrize("variable", ["consumption", "consumption_se"])
@pytest.mark.parametrize("grid", [GRID, BRITISH], ids=["EPSG:4326", "EPSG:27700"])
def test_gdal_finds_every_cell_by_its_coordinates(publish: Publish, grid: Grid, variable: str) -> None:
    path = publish(grid=grid)
    column, row = (index.ravel() for index in np.indices((grid.nx, grid.ny)))
    places = np.stack([grid.x0 + (column + 0.5) * grid.cell_width, grid.y0 + (row + 0.5) * grid.cell_height], axis=1)
    cells = np.stack([column, column + 1, row, row + 1, np.full(40, 6), np.full(40, 7)], axis=1)
    answers = open_release(path).answers_of(cells)
    with rasterio.open(f"netcdf:{path / 'consumption.nc'}:{variable}") as raster:
        sampled = [float(value[0]) for value in raster.sample(places, indexes=7)]
        assert raster.crs == CRS.from_string(grid.crs)
        assert set(raster.units) == {"kW h"}
        # A band is a step, which GDAL names by its start.
        starts = [int(raster.tags(band)["NETCDF_DIM_time"]) for band in raster.indexes]
    assert starts == [round(start.timestamp()) for start in WINDOW.times()]
    expected = answers.value if variable == "consumption" else answers.standard_error
    np.testing.assert_allclose(sampled, expected, rtol=2e-6, atol=1e-6)


def test_the_national_grid_is_where_the_ordnance_survey_says(publish: Publish) -> None:
    """A worked example of the Ordnance Survey's guide to coordinate systems, and not of the code under test."""
    path = publish(grid=Grid(651_000, 313_000, 655_000, 315_500, nx=8, ny=5, crs="EPSG:27700"))
    longitude, latitude = 1 + 43 / 60 + 4.5177 / 3600, 52 + 39 / 60 + 27.2531 / 3600  # of OSGB36
    with rasterio.open(f"netcdf:{path / 'consumption.nc'}:consumption") as raster:
        (east,), (north,) = transform("EPSG:4277", raster.crs, [longitude], [latitude])
        assert (east, north) == pytest.approx((651_409.903, 313_177.270), abs=0.002)
        assert raster.index(east, north) == (4, 0)  # rows count from the north
    with xarray.open_dataset(path / "consumption.nc", engine="h5netcdf") as data:
        assert pyproj.CRS.from_cf(data.crs.attrs) == pyproj.CRS("EPSG:27700")
        cell = data.consumption.isel(time=3).sel(x=east, y=north, method="nearest")
        assert (cell.x.item(), cell.y.item()) == (651_250, 313_250)
        assert cell.item() == open_release(path).values()[3, 0, 0]
        assert data.x_bnds.values[0].tolist() == [651_000, 651_500]
        assert data.y_bnds.values[-1].tolist() == [315_000, 315_500]


def test_gdal_places_a_local_grid(publish: Publish) -> None:
    path = publish(grid=LOCAL)
    with rasterio.open(f"netcdf:{path / 'consumption.nc'}:consumption") as raster:
        assert raster.crs is None
        assert tuple(raster.bounds) == pytest.approx((0, 0, 8, 5))
