"""A series is served as one release with a long time axis."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from tests.release.conftest import GRID, WINDOW, make_estimate, make_series
from tests.serve.conftest import BASE, TestClient, refused

from gridveil.model.window import Window
from gridveil.release.query.open import open_release
from gridveil.release.series.catalogue import read_catalogue, write_catalogue
from gridveil.serve.app import create_app
from gridveil.serve.releases import open_all

LAST = "2013-02-06T12"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_series(tmp_path / "Town", [make_estimate("parts", seed=n) for n in range(3)])


@pytest.fixture
def client(folder: Path) -> Iterator[TestClient]:
    app = create_app(open_all([folder]))
    with TestClient(app, base_url=BASE, raise_server_exceptions=False) as client:
        yield client


def test_it_is_one_release(client: TestClient, folder: Path) -> None:
    (brief,) = client.get("/api/releases").json()["releases"]
    assert (brief["id"], brief["title"], brief["steps"], brief["epsilon"]) == ("town", "A series", 90, 3.0)
    facts = client.get("/api/releases/town").json()
    assert facts["axes"]["time"]["steps"] == 90
    assert [part["epsilon"] for part in facts["label"]["parts"]] == [1.0] * 3
    assert {file["format"] for file in facts["downloads"]} == {
        "csv",
        "parquet",
        "geojson",
        "geoparquet",
        "xlsx",
        "zarr",
    }
    own = [open_release(folder / listed.path).query().value for listed in read_catalogue(folder).releases]
    assert client.get("/api/releases/town/query").json()["value"] == pytest.approx(sum(own))
    points = client.get("/api/releases/town/series?every=30").json()
    assert points["value"] == pytest.approx(own)
    for question in ("slice?time=20:70", "profile", "highest?time=20:70", "slice?time=30:31"):
        assert client.get(f"/api/releases/town/{question}").status_code == 200


def test_files_are_its_releases(client: TestClient) -> None:
    assert "each of its releases has one" in refused(client, "/api/releases/town/download/netcdf")
    assert "each of its releases has one" in refused(client, "/api/releases/town/download/label")
    assert len(client.get("/api/releases/town/download/csv").text.splitlines()) > GRID.cells * 90


def test_one_that_is_added_is_there_at_the_next_start(client: TestClient, folder: Path, tmp_path: Path) -> None:
    catalogue = read_catalogue(folder)
    start = WINDOW.start + 90 * timedelta(hours=1)
    make_series(tmp_path / "next", [make_estimate("parts")], start=start)
    (listed,) = read_catalogue(tmp_path / "next").releases
    (tmp_path / "next" / listed.path).rename(folder / listed.path)
    write_catalogue(folder, catalogue.model_copy(update={"releases": (*catalogue.releases, listed)}))
    assert client.get("/api/releases/town/query").status_code == 200
    assert client.get("/api/releases").json()["releases"][0]["steps"] == 90
    assert open_all([folder])["town"].window == Window(WINDOW.start, WINDOW.step, 120)


def test_one_that_is_removed_is_noticed(client: TestClient, folder: Path) -> None:
    shutil.rmtree(folder / LAST)
    assert client.get("/api/releases").json()["releases"] == []
    assert client.get("/api/releases/town/query").status_code >= 400


def test_runs_between_gaps_are_releases_of_their_own(folder: Path) -> None:
    catalogue = read_catalogue(folder)
    first, _, last = catalogue.releases
    write_catalogue(folder, catalogue.model_copy(update={"releases": (first, last)}))
    with TestClient(create_app(open_all([folder])), base_url=BASE) as client:
        briefs = client.get("/api/releases").json()["releases"]
    assert [(brief["id"], brief["steps"]) for brief in briefs] == [("town", 30), ("town-2", 30)]
