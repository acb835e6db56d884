"""The long table as Parquet, CSV and xlsx: columns, order, and what other programs make of it."""

from __future__ import annotations

import csv
import json
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from pyproj import CRS, Transformer
from tests.codes import has_code
from tests.release.conftest import GRID, WINDOW
from tests.release.export.conftest import BRITISH, LOCAL, Publish

from gridveil.geography.grid import Grid
from gridveil.model.errors import InputError, UsageError
from gridveil.release.export import export, refusal
from gridveil.release.export.table import area_ids, to_lonlat
from gridveil.release.format.label import Label

COLUMNS = "area_id,x,y,lon,lat,interval_start,kwh,standard_error_kwh,kwh_low,kwh_high"


def test_parquet_has_plain_types_in_the_documented_order(release_of: Publish, tmp_path: Path) -> None:
    export(release_of(), tmp_path / "town.parquet", "parquet")
    schema = pq.read_schema(tmp_path / "town.parquet")
    assert schema.names == COLUMNS.split(",")
    assert schema.field("area_id").type == pa.string()
    assert {schema.field(name).type for name in ("x", "y")} == {pa.int32()}
    assert {schema.field(name).type for name in ("lon", "lat")} == {pa.float64()}
    assert schema.field("interval_start").type == pa.timestamp("ms", "UTC")
    assert {schema.field(name).type for name in schema.names[6:]} == {pa.float32()}


def test_rows_are_ordered_by_time_then_y_then_x(release_of: Publish, tmp_path: Path) -> None:
    export(release_of(), tmp_path / "town.parquet", "parquet")
    rows = [(row["interval_start"], row["y"], row["x"]) for row in pq.read_table(tmp_path / "town.parquet").to_pylist()]
    assert rows == sorted(rows)
    assert (rows[0][0], rows[-1][0]) == (WINDOW.start, WINDOW.end - WINDOW.step)


def test_csv_as_text(release_of: Publish, tmp_path: Path) -> None:
    release = release_of()
    export(release, tmp_path / "town.csv", "csv")
    header, first, second, *_ = (tmp_path / "town.csv").read_text().splitlines()
    assert header == COLUMNS
    assert first.startswith("x000_y000,0,0,-0.475,51.275,2013-02-04T00:00:00Z,")
    assert second.startswith("x001_y000,1,0,-0.425,51.275,2013-02-04T00:00:00Z,")
    # The fewest digits that give the published float32 back.
    published = release.values()[0, 0, 1]
    assert np.float32(second.split(",")[6]) == published
    assert len(second.split(",")[6]) <= 12
    beside = json.loads((tmp_path / "town.csv.label.json").read_text())
    assert Label.model_validate(beside["privacy_label"]) == release.label
    assert list(beside["columns"]) == header.split(",")


def test_a_table_of_test_noise_says_so_in_every_row(release_of: Publish, tmp_path: Path) -> None:
    release = release_of(private=False)
    export(release, tmp_path / "town.csv", "csv")
    with (tmp_path / "town.csv").open(newline="") as file:
        assert {row["warning"] for row in csv.DictReader(file)} == {"NOT PRIVATE (TEST NOISE)"}
    export(release, tmp_path / "town.parquet", "parquet")
    assert set(pq.read_table(tmp_path / "town.parquet")["warning"].to_pylist()) == {"NOT PRIVATE (TEST NOISE)"}


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_duckdb_reads_it(release_of: Publish, tmp_path: Path, form: str) -> None:
    release = release_of("linear")
    path = tmp_path / f"town.{form}"
    export(release, path, form)
    with duckdb.connect() as db:
        db.execute("set timezone = 'UTC'")
        table = db.read_csv(str(path)) if form == "csv" else db.read_parquet(str(path))
        types = dict(zip(table.columns, map(str, table.types), strict=True))
        part = table.filter("x between 2 and 4 and y < 3 and interval_start >= '2013-02-04 05:00:00Z'")
        [(count, total)] = part.aggregate("count(*), sum(kwh::double)").fetchall()
    assert types["interval_start"] == "TIMESTAMP WITH TIME ZONE"
    assert count == 3 * 3 * 25
    assert total == pytest.approx(release.query((2, 5), (0, 3), (5, 30)).value, rel=1e-6)


def test_local_grids_have_their_own_coordinates(release_of: Publish, tmp_path: Path) -> None:
    export(release_of(grid=LOCAL), tmp_path / "town.csv", "csv")
    header, first, *_ = (tmp_path / "town.csv").read_text().splitlines()
    assert header == COLUMNS.replace("lon,lat", "x_centre,y_centre")
    assert first.startswith("x000_y000,0,0,0.5,0.5,2013-02-04T00:00:00Z,")


def test_projected_centres_are_longitude_and_latitude(release_of: Publish, tmp_path: Path) -> None:
    export(release_of(grid=BRITISH), tmp_path / "town.parquet", "parquet")
    row = pq.read_table(tmp_path / "town.parquet").slice(8 * 2 + 3, 1).to_pylist()[0]
    assert (row["area_id"], row["x"], row["y"]) == ("x003_y002", 3, 2)
    back = Transformer.from_crs("EPSG:4326", "EPSG:27700", always_xy=True).transform(row["lon"], row["lat"])
    assert back == pytest.approx((530_000 + 3.5 * 500, 180_000 + 2.5 * 500), abs=0.02)


def test_names_of_large_grids_sort_as_well() -> None:
    names = area_ids(Grid(0, 0, 1, 1, nx=1200, ny=1))
    assert (names[0], names[-1]) == ("x0000_y0000", "x1199_y0000")
    assert names == sorted(names)


def test_a_place_that_has_no_longitude_is_an_input_error() -> None:
    with pytest.raises(InputError, check=has_code("crs-no-lonlat", "EPSG:27700")):
        to_lonlat("EPSG:27700", np.array([1e30]), np.array([1e30]))
    with pytest.raises(InputError, check=has_code("crs-no-lonlat", "EPSG:0")):
        to_lonlat("EPSG:0", np.array([0.0]), np.array([0.0]))


@pytest.mark.parametrize("grid", [GRID, BRITISH, LOCAL], ids=lambda grid: grid.crs)
def test_geoparquet_metadata_and_shapes(release_of: Publish, tmp_path: Path, grid: Grid) -> None:
    export(release_of(grid=grid), tmp_path / "town.geo.parquet", "geoparquet")
    geo = json.loads(pq.read_metadata(tmp_path / "town.geo.parquet").metadata[b"geo"])
    assert (geo["version"], geo["primary_column"]) == ("1.1.0", "geometry")
    column = geo["columns"]["geometry"]
    assert (column["encoding"], column["geometry_types"]) == ("WKB", ["Polygon"])
    assert column["bbox"] == [grid.x0, grid.y0, grid.x1, grid.y1]
    assert column["crs"] is None if grid.crs == "local" else CRS.from_json_dict(column["crs"]) == CRS(grid.crs)
    table = pq.read_table(tmp_path / "town.geo.parquet")
    assert table.schema.field("geometry").type == pa.binary()
    assert table.schema.names == [
        *(COLUMNS if grid is not LOCAL else COLUMNS.replace("lon,lat", "x_centre,y_centre")).split(","),
        "geometry",
    ]
    shapes = shapely.from_wkb(table["geometry"].to_numpy(zero_copy_only=False)[: grid.cells])
    assert all(shape.is_valid and shape.exterior.is_ccw for shape in shapes)
    assert shapely.union_all(shapes).equals(shapely.box(grid.x0, grid.y0, grid.x1, grid.y1))
    assert sum(shape.area for shape in shapes) == pytest.approx((grid.x1 - grid.x0) * (grid.y1 - grid.y0))


def test_the_workbook_opens_on_the_table_and_explains_it(release_of: Publish, tmp_path: Path) -> None:
    export(release_of(title="=HYPERLINK(1)"), tmp_path / "town.xlsx", "xlsx")
    book = openpyxl.load_workbook(tmp_path / "town.xlsx")
    assert book.sheetnames == ["consumption", "label", "read me"]
    sheet = book["consumption"]
    assert sheet.freeze_panes == "A2"
    assert sheet.auto_filter.ref == f"A1:J{8 * 5 * 30 + 1}"
    assert sheet["F2"].value == datetime(2013, 2, 4, tzinfo=UTC).replace(tzinfo=None)
    assert (sheet["F2"].number_format, sheet["G2"].number_format) == ("yyyy-mm-dd hh:mm", "0.000")
    labelled = {row[0].value: row[1] for row in book["label"].iter_rows()}
    assert (labelled["title"].value, labelled["title"].data_type) == ("=HYPERLINK(1)", "s")  # text, and no formula
    assert labelled["private"].value is True
    words = [cell for row in book["read me"].iter_rows(values_only=True) for cell in row if cell]
    assert "start of the step, UTC" in words
    assert "Not covered" in words
    assert "Bounds" in words


def test_too_large_for_a_format_is_said_before_anything_is_written(
    release_of: Publish, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    release = release_of()
    large = type(release.window)(release.window.start, release.window.step, 2**20 // 40)
    monkeypatch.setattr(release, "window", large)  # 1,048,560 rows
    assert refusal(release, "xlsx") is None
    monkeypatch.setattr(release, "window", type(large)(large.start, large.step, large.steps + 1))
    with pytest.raises(UsageError, check=has_code("export-refused", "xlsx", "1,048,575", "1,048,600")):
        export(release, tmp_path / "town.xlsx", "xlsx")
    monkeypatch.setattr(release, "window", type(large)(large.start, large.step, 125_001))
    with pytest.raises(
        UsageError, check=has_code("export-refused", "geojson", "5,000,000", "csv, parquet, geoparquet, zarr")
    ):
        export(release, tmp_path / "town.geojson", "geojson")
    assert refusal(release, "parquet") is None
    with pytest.raises(
        UsageError, check=has_code("name-unknown", "'xls'", "csv, parquet, geojson, geoparquet, xlsx, zarr")
    ):
        export(release, tmp_path / "town.xls", "xls")
    assert [file.name for file in tmp_path.iterdir()] == ["release"]
