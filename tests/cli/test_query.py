"""`gridveil query` of files with several polygons, of limits in other units, and of days."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.codes import has_code
from tests.release.conftest import GRID, WINDOW, make_estimate, make_label
from typer.testing import CliRunner

import gridveil
from gridveil.cli.main import app
from gridveil.geography.grid import Grid
from gridveil.model.errors import UsageError
from gridveil.release.format.netcdf import write_release

METRES = Grid(530_000, 180_000, 534_000, 182_500, nx=8, ny=5, crs="EPSG:27700")


def square(west: float, south: float, size: float = 0.05) -> dict[str, Any]:
    east, north = west + size, south + size
    ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
    return {"type": "Polygon", "coordinates": [ring]}


def feature(geometry: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "Feature", "geometry": geometry, **more}


def collection(*features: dict[str, Any]) -> str:
    return json.dumps({"type": "FeatureCollection", "features": features})


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, grid in (("release", GRID), ("metres", METRES)):
        label = make_label(grid)
        write_release(tmp_path / name, grid=grid, window=WINDOW, estimate=make_estimate("parts"), label=label)
    return tmp_path


def ask(*words: str) -> str:
    done = CliRunner().invoke(app, ["query", *words], env={"COLUMNS": "120"})
    if done.exception is not None:
        raise done.exception
    return done.stdout


FEEDERS = collection(
    feature(square(-0.5, 51.25), properties={"NAME": "North [bold]"}),
    feature(square(-0.3, 51.3), properties={"id": 12}),
    feature(square(7.0, 50.0), id="far"),
    feature(square(-0.3, 51.3, 0.1), properties=None),
)


def test_polygons_of_a_file_are_counted_or_told_apart(work: Path) -> None:
    (work / "feeders.geojson").write_text(FEEDERS)
    assert "4 polygons taken together" in ask("release", "--area", "feeders.geojson")
    rows = json.loads(ask("release", "--area", "feeders.geojson", "--each", "--json", "--time", "0:24"))
    assert [row["name"] for row in rows] == ["North [bold]", "12", "far", "4"]
    release = gridveil.open(work / "release")
    for row, (x, y) in zip(
        [rows[0], rows[1], rows[3]], [((0, 1), (0, 1)), ((4, 5), (1, 2)), ((4, 6), (1, 3))], strict=True
    ):
        same = release.query(x=x, y=y, time=(0, 24))
        assert (row["value"], row["low"], row["high"]) == pytest.approx((same.value, same.low, same.high), rel=1e-6)
    assert rows[0]["area"]["cells"] == pytest.approx(1)
    assert "covers nothing of the map" in rows[2]["error"]
    table = ask("release", "--area", "feeders.geojson", "--each", "--time", "0:24")
    assert "North [bold]" in table
    assert f"{rows[0]['value']:,.1f}" in table
    assert f"{rows[1]['low']:,.1f} to {rows[1]['high']:,.1f}" in table
    assert "the area covers nothing of the map" in table
    assert "A 95 % interval covers" in table


def test_one_polygon_is_not_said_to_be_several(work: Path) -> None:
    (work / "one.geojson").write_text(collection(feature(square(-0.5, 51.25))))
    assert "taken together" not in ask("release", "--area", "one.geojson")


@pytest.mark.parametrize(
    ("words", "output"),
    [
        (("release", "--each"), ("each-without-area", "--area")),
        (("release", "--area", "far.geojson", "--each"), ("area-outside-map",)),
        (("release", "--area", "metres.geojson"), ("polygon-not-lonlat", "ogr2ogr -t_srs EPSG:4326")),
        (("release", "--area", "metres.geojson", "--each"), ("polygon-not-lonlat", "ogr2ogr -t_srs EPSG:4326")),
        (
            ("metres", "--bbox", "-0.2,51.4,-0.1,51.5"),
            ("area-outside-map", "EPSG:27700", "metre", "longitude and latitude", "530000,180000 to 534000,182500"),
        ),
        (("release", "--bbox", "530000,180000,531000,181000"), ("area-outside-map", "EPSG:4326", "degree", "-0.5,")),
    ],
)
def test_what_does_not_fit_the_map(work: Path, words: tuple[str, ...], output: tuple[str, ...]) -> None:
    (work / "far.geojson").write_text(collection(feature(square(7.0, 50.0)), feature(square(8.0, 50.0))))
    (work / "metres.geojson").write_text(collection(feature(square(530_000, 180_000, 1000))))
    with pytest.raises(UsageError, check=has_code(*output)):
        ask(*words)


def test_a_day(work: Path) -> None:
    day = f"{WINDOW.start:%Y-%m-%d}"
    assert WINDOW.start == datetime.fromisoformat(day).replace(tzinfo=UTC)
    found = json.loads(ask("release", "--time", day, "--json"))
    assert found["value"] == pytest.approx(gridveil.open(work / "release").query(time=(0, 24)).value)
    with pytest.raises(UsageError, check=has_code("time-outside", "1999-01-01")):
        ask("release", "--time", "1999-01-01")
    with pytest.raises(UsageError, check=has_code("time-syntax", "2013-02-31")):
        ask("release", "--time", "2013-02-31")


def test_an_answer_says_which_period_it_is_of(work: Path) -> None:
    """A week is not taken for its Monday."""
    whole = f"{WINDOW.start:%Y-%m-%d %H:%M} to {WINDOW.end:%Y-%m-%d %H:%M} UTC"
    assert whole in ask("release")
    assert "2013-02-04 03:00 to 2013-02-04 05:00 UTC" in ask("release", "--time", "3:5")
    (work / "feeders.geojson").write_text(FEEDERS)
    day = "2013-02-04 00:00 to 2013-02-05 00:00 UTC"
    assert day in ask("release", "--area", "feeders.geojson", "--each", "--time", "2013-02-04")
    with pytest.raises(UsageError, check=has_code("time-syntax", "2013-W06")):
        ask("release", "--time", "2013-W06")
