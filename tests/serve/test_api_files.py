"""Releases and their files as served: downloads, damage, several at once, and the document of the API."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from tests.serve.conftest import BASE, SPRING, refused, write

from gridveil.geography.grid import Grid
from gridveil.release.query.open import Release, open_release
from gridveil.serve import answers, releases
from gridveil.serve.app import create_app, warm_up
from gridveil.serve.releases import open_all

TOWN = "/api/releases/town"


def test_many_at_once_get_the_same_answers(folders: list[Path]) -> None:
    """On releases just opened: everything that is made when first needed is made by several at once."""
    urls = [
        f"/api/releases/{name}/{what}"
        for name in ("town", "spring")
        for what in (
            "query?x=1:3",
            "query?time=3:9",
            "slice?time=2:9",
            "series?y=1",
            "profile?x=0:2",
            "highest?count=3",
        )
    ]
    with TestClient(create_app(open_all(folders)), base_url=BASE) as alone:
        expected = {url: alone.get(url).json() for url in urls}
    with TestClient(create_app(open_all(folders)), base_url=BASE) as together, ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(together.get, urls * 4))
    assert all(answer.status_code == 200 for answer in answers)
    assert [answer.json() for answer in answers] == [expected[url] for url in urls * 4]


def test_a_file_damaged_while_it_is_served_is_told_without_a_traceback(
    folders: list[Path], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folder = shutil.copytree(folders[0], tmp_path / "town")
    with TestClient(create_app(open_all([folder])), base_url=BASE) as client:
        content = (folder / "consumption.nc").read_bytes()
        with (folder / "consumption.nc").open("r+b") as file:
            file.write(b"\0" * len(content))
        sentence = refused(client, f"{TOWN}/query", status=503)
    assert sentence.startswith("This release cannot be read any more")
    assert str(folder) not in sentence
    assert str(folder) in caplog.text


def test_what_is_asked_for_first_is_known_before(
    app: FastAPI, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    warm_up(app.state.executor, app.state.releases.values())
    for method in ("cells", "over", "answers_of"):
        monkeypatch.setattr(Release, method, None)
    for url in ("", "/slice?time=0:30&format=float32", "/series?every=1", "/query?time=0:30"):
        assert client.get(TOWN + url).status_code == 200, url
    assert client.get(f"{TOWN}/query?time=0:29").status_code == 500


def test_a_fault_of_ours_is_told_without_a_traceback(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "TotalQuery", lambda *_: 1 / 0)
    assert "division" not in refused(client, f"{TOWN}/query", status=500)


def test_releases_of_one_name_get_ids_of_their_own(tmp_path: Path, folders: list[Path]) -> None:
    paths = [shutil.copytree(folders[0], tmp_path / name) for name in ("a/town", "b/Town", "c/town-2", "d/東京")]
    assert list(open_all(paths)) == ["town", "town-2", "town-2-2", "release"]


def test_downloads_are_the_releases_own_files(client: TestClient, folders: list[Path]) -> None:
    for form, name in (("netcdf", "consumption.nc"), ("label", "label.json")):
        response = client.get(f"{TOWN}/download/{form}")
        assert response.content == (folders[0] / name).read_bytes()
    assert response.headers["content-disposition"] == 'attachment; filename="town.json"'
    assert client.get(f"{TOWN}/download/netcdf", headers={"range": "bytes=0-3"}).content == b"\x89HDF"


@pytest.mark.parametrize(
    ("form", "begins"),
    [("csv", b""), ("parquet", b"PAR1"), ("geojson", b"{"), ("geoparquet", b"PAR1"), ("xlsx", b"PK"), ("zarr", b"PK")],
)
def test_other_files_are_made_once(
    client: TestClient, form: str, begins: bytes, monkeypatch: pytest.MonkeyPatch, town: Release
) -> None:
    first = client.get(f"{TOWN}/download/{form}")
    assert first.status_code == 200, first.text
    assert first.content.startswith(begins)
    listed = {file["format"]: file["name"] for file in client.get(TOWN).json()["downloads"]}
    assert first.headers["content-disposition"] == f'attachment; filename="{listed[form]}"'
    monkeypatch.setattr(releases, "export", None)
    assert client.get(f"{TOWN}/download/{form}").content == first.content
    if form == "csv":
        lines = first.text.splitlines()
        assert len([line for line in lines if not line.startswith("#")]) == 1 + town.grid.cells * town.window.steps


def test_large_files_are_left_to_the_command(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releases, "MAX_ROWS", 1000)
    assert refused(client, f"{TOWN}/download/csv") == (
        "1,200 rows are more than the server writes while you wait (1,000); download the netcdf, or run: "
        "gridveil export RELEASE --to csv"
    )
    assert [file["format"] for file in client.get(TOWN).json()["downloads"]] == ["netcdf", "label"]


def test_the_document_is_complete(client: TestClient) -> None:
    document = client.get("/api/openapi.json").json()
    assert client.get("/docs").status_code == client.get("/redoc").status_code == 404
    operations = [op for path in document["paths"].values() for op in path.values()]
    assert len(operations) == 12
    for operation in operations:
        assert operation["summary"]
        assert operation["description"]
        assert operation["responses"]["422"]["content"]["application/json"]["schema"]["$ref"].endswith("/ErrorResponse")
        for parameter in operation.get("parameters", []):
            assert parameter.get("description") or parameter["name"] == "format", parameter
    assert '</api/openapi.json>; rel="service-desc"' in client.get("/api/releases").headers["link"]
    assert "https://" not in json.dumps(document)


def test_a_wide_grid_has_its_cell_in_metres(tmp_path: Path) -> None:
    grid = Grid(530000, 180000, 534000, 183000, nx=4, ny=3, crs="EPSG:27700")
    folder = write(tmp_path / "metres", (grid, SPRING[1]), "identity")
    with TestClient(create_app({"metres": open_release(folder)}), base_url=BASE) as client:
        told = client.get("/api/releases/metres").json()
    assert told["cell_metres"] == pytest.approx([1000, 1000], rel=1e-3)
    assert told["lonlat"][0][0] == pytest.approx([-0.128, 51.504], abs=0.01)
    assert told["axes"]["x"]["unit"] == "metre"
