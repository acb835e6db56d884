"""What the API refuses, how it says so, and what every answer carries."""

from __future__ import annotations

import json
import re
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
import pytest
import uvicorn
from fastapi import FastAPI
from fastapi.testclient import TestClient
from tests.serve.conftest import BASE, SPRING, write

from gridveil.cube import Grid
from gridveil.release.open import Release, open_release
from gridveil.serve import downloads, guard, page, questions, regions
from gridveil.serve.app import create_app
from gridveil.serve.cache import Cache
from gridveil.serve.first import warm_up
from gridveil.serve.heavy import Heavy
from gridveil.serve.served import open_all

TOWN = "/api/releases/town"


def refused(client: TestClient, url: str, body: object = None, status: int = 422) -> str:
    response = client.get(url) if body is None else client.post(url, json=body)
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    told = response.json()
    assert list(told) == ["detail"]
    assert len(told["detail"]) <= 303
    return str(told["detail"])


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("query?x=3:1", "x range 3:1 is empty; x goes from 0 to 8, and the end is not included"),
        ("query?x=0:9", "x range 0:9 reaches outside; x goes from 0 to 8, and the end is not included"),
        ("query?x=a:b", "x is not understood; write x=0:10"),
        ("query?x=", "x is not understood; write x=0:10"),
        ("query?time=yesterday", "time is not understood; write time=0:24, or FROM/TO, e.g."),
        (
            "query?time=2013-02-04T00:30/2013-02-05",
            "time 2013-02-04T00:30 is inside a step; the nearest boundaries are",
        ),
        ("query?time=now/then", "time now: give an ISO time such as 2013-02-04T00:00"),
        ("query?tme=0:24", "tme: there is no such parameter."),
        ("query?bbox=1,2,3", "bbox is not understood; write bbox=west,south,east,north"),
        ("query?bbox=nan,51.3,-0.2,51.4", "west nan: give a coordinate, a finite number"),
        ("query?bbox=10,51.3,11,51.4", "the area covers nothing of the map, which goes from -0.5,51.25 to -0.1,51.5"),
        ("query?x=0:1&bbox=-0.5,51.3,-0.2,51.4", "give a region by x and y, or by bbox, or by polygon: one of these"),
        ("query?polygon={", "polygon is not JSON; write a GeoJSON Polygon or MultiPolygon"),
        ("query?polygon=[]", "polygon is not a GeoJSON object; write a Polygon or MultiPolygon"),
        ("query?polygon={}", ""),
        ("series?every=0", "every: input should be greater than or equal to 1."),
        ("slice?format=png", "format: input should be 'json' or 'float32'."),
        ("profile?timezone=Mars/Olympus", "timezone: not known; give a name such as Europe/London, or UTC"),
        ("profile?timezone=../../etc/passwd", "timezone: not known; give a name such as Europe/London, or UTC"),
        ("profile?time=0:24", "time: there is no such parameter."),
        ("highest?count=ten", "count: input should be a valid integer"),
        ("download/doc", "format: input should be 'netcdf', 'label', 'csv',"),
    ],
)
def test_mistakes_are_told_in_a_sentence(client: TestClient, url: str, sentence: str) -> None:
    assert refused(client, f"{TOWN}/{url}").startswith(sentence)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"x": [0]}, 'x.1: field required; write e.g. "x": [0, 10].'),
        ({"x": [0, 2**70]}, "x.1: input should be less than or equal to 2147483647"),
        ({"time": "today"}, 'time: input should be a valid tuple; write e.g. "time": [0, 24] or "time": ["2013-'),
        ({"time": [0, "2013-02-04"]}, "time.1: input should be a valid integer"),
        ({"time": [0, 1000]}, "time range 0:1000 reaches outside"),
        ({"polygon": {"type": "Point", "coordinates": [0, 0]}}, ""),
        ({"region": 1}, "region: there is no such parameter."),
        ([], "The body: "),
    ],
)
def test_mistakes_in_a_body_as_well(client: TestClient, body: object, sentence: str) -> None:
    assert refused(client, f"{TOWN}/query", body).startswith(sentence)


@pytest.mark.parametrize(
    "content",
    [b"{", b"[" * 100_000, b"\xff", b'{"x": [0, NaN]}', b'{"x": [0, ' + b"9" * 10_000 + b"]}", b'{"\\ud800": 1}'],
)
def test_a_body_that_is_not_json_is_a_mistake_too(client: TestClient, content: bytes) -> None:
    response = client.post(f"{TOWN}/query", content=content, headers={"content-type": "application/json"})
    assert response.status_code == 422
    assert response.json()["detail"]


SQUARE = [[-0.4, 51.3], [-0.2, 51.3], [-0.2, 51.4], [-0.4, 51.3]]


@pytest.mark.parametrize(
    "polygon",
    [
        {},
        {"type": "Polygon"},
        {"type": "Polygon", "coordinates": None},
        {"type": "Polygon", "coordinates": []},
        {"type": "Polygon", "coordinates": [[]]},
        {"type": "Polygon", "coordinates": [[[0, 0], [1, 1]]]},
        {"type": "Polygon", "coordinates": [[["a", "b"]] * 4]},
        {"type": "Polygon", "coordinates": [[[None, True]] * 4]},
        {"type": "Polygon", "coordinates": [[{}, "x", 1, []]]},
        {"type": "Polygon", "coordinates": [[[0, 0], [1e308, 0], [1e308, 1e308], [0, 0]]]},
        {"type": "Polygon", "coordinates": [[[0, 0], [10**400, 0], [10**400, 10**400], [0, 0]]]},
        {"type": "Polygon", "coordinates": [[[[-0.4, 51.3]] * 4] * 4]},
        {"type": "Polygon", "coordinates": "SQUARE"},
        {"type": "MultiPolygon", "coordinates": [SQUARE]},
        {"type": "MultiPolygon", "coordinates": {"0": [SQUARE]}},
        {"type": "Feature"},
        {"type": "Feature", "geometry": None},
        {"type": "Feature", "geometry": {"type": "Feature", "geometry": {}}},
        {"type": "FeatureCollection", "features": [None]},
        {"type": "GeometryCollection", "geometries": []},
        {"type": ["Polygon"], "coordinates": [SQUARE]},
        {"type": None, "coordinates": [SQUARE]},
    ],
    ids=lambda polygon: json.dumps(polygon)[:60],
)
def test_a_polygon_that_is_none_is_a_mistake(client: TestClient, polygon: object) -> None:
    assert refused(client, f"{TOWN}/query", {"polygon": polygon})
    if len(json.dumps(polygon)) < 500:
        assert refused(client, f"{TOWN}/profile?{urlencode({'polygon': json.dumps(polygon)})}")


def test_an_unknown_release_is_not_found_and_not_repeated(client: TestClient) -> None:
    sentence = refused(client, "/api/releases/%3Cscript%3E/query", status=404)
    assert sentence == "There is no release of this id; /api/releases lists those there are."
    assert "script" not in refused(client, "/nothing/%3Cscript%3E", status=404)


def test_the_api_only_reads(client: TestClient) -> None:
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        assert client.request(method, f"{TOWN}/query").status_code == 405
    assert client.post(f"{TOWN}/slice").status_code == 405


def test_a_body_has_a_limit_whether_it_says_its_length_or_not(client: TestClient) -> None:
    large = b" " * (guard.MOST_BODY + 1)
    json_type = {"content-type": "application/json"}

    def pieces() -> Iterator[bytes]:
        for start in range(0, len(large), 2**20):
            yield large[start : start + 2**20]

    for content in (large, pieces()):
        response = client.post(f"{TOWN}/query", content=content, headers=json_type)
        assert response.status_code == 413
        assert response.json() == {"detail": "The body is larger than 8 MiB: ask in smaller pieces."}


def test_batches_polygons_points_and_slices_have_limits(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    row = [0, 1, 0, 1, 0, 1]
    too_many = refused(client, f"{TOWN}/query/batch", {"ranges": [row] * (regions.MOST_RANGES + 1)})
    assert too_many.startswith("ranges: list should have at most 100000 items")
    assert refused(client, f"{TOWN}/query/batch", {"ranges": []}).startswith("ranges: list should have at least 1 item")
    assert "(row 1) is empty" in refused(client, f"{TOWN}/query/batch", {"ranges": [row, [1, 1, 0, 1, 0, 1]]})
    circle = [[-0.3 + 0.1 * np.cos(a), 51.4 + 0.05 * np.sin(a)] for a in np.linspace(0, 2 * np.pi, 10_001)]
    circle[-1] = circle[0]
    polygon = {"polygon": {"type": "Polygon", "coordinates": [circle]}}
    assert refused(client, f"{TOWN}/query", polygon) == "a polygon may have 10,000 points; simplify it"
    monkeypatch.setattr(questions, "MOST_POINTS", 10)
    assert refused(client, f"{TOWN}/series?every=2") == "15 points; up to 10 are answered: ask for every=3"
    monkeypatch.setattr(questions, "MOST_CELLS_JSON", 39)
    sentence = "a slice of 40 cells is answered as format=float32; as JSON up to 39 are"
    assert refused(client, f"{TOWN}/slice") == sentence
    assert client.get(f"{TOWN}/slice?format=float32").status_code == 200


def test_a_series_is_at_most_2000_points_unless_asked(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "USUAL_POINTS", 7)
    told = client.get(f"{TOWN}/series").json()
    assert told["every"] == 5
    assert len(told["value"]) == 6


def test_the_largest_batch_is_answered(client: TestClient) -> None:
    response = client.post(
        "/api/releases/spring/query/batch?format=float32", json={"ranges": [[0, 1, 0, 1, 0, 1]] * regions.MOST_RANGES}
    )
    assert response.status_code == 200
    assert len(response.content) == 16 * regions.MOST_RANGES


def test_a_known_answer_is_not_sent_again(client: TestClient) -> None:
    urls = ["/", "/api/releases", TOWN, f"{TOWN}/slice?time=0:1", f"{TOWN}/query?x=0:1", f"{TOWN}/download/label"]
    for url in urls:
        first = client.get(url)
        assert first.status_code == 200, url
        assert first.headers["cache-control"] == "no-cache"
        again = client.get(url, headers={"if-none-match": f'"other", {first.headers["etag"]}'})
        assert (again.status_code, again.content) == (304, b""), url
        assert again.headers["etag"] == first.headers["etag"]
        assert client.get(url, headers={"if-none-match": '"other"'}).status_code == 200
    tags = {
        client.get(url).headers["etag"] for url in [*urls, f"{TOWN}/query?x=0:2", "/api/releases/spring/slice?time=0:1"]
    }
    assert len(tags) == len(urls) + 2
    assert "etag" not in client.get(f"{TOWN}/query?x=9:1").headers


def test_a_changed_release_has_other_tags(folders: list[Path], tmp_path: Path) -> None:
    copy = shutil.copytree(folders[0], tmp_path / "town")

    def etag() -> str:
        with TestClient(create_app(open_all([copy])), base_url=BASE) as client:
            return client.get(f"{TOWN}/query").headers["etag"]

    before = etag()
    assert etag() == before
    time.sleep(0.01)
    (copy / "consumption.nc").touch()
    assert etag() != before


def test_a_slice_is_made_once(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[int, int]] = []
    cells = Release.cells

    def counted(self: Release, start: int, stop: int) -> object:
        made.append((start, stop))
        return cells(self, start, stop)

    monkeypatch.setattr(Release, "cells", counted)
    for _ in range(3):
        client.get(f"{TOWN}/slice?time=0:2")
        client.get(f"{TOWN}/slice?time=0:2&format=float32")
    client.get(f"{TOWN}/slice?time=0:3")
    assert made == [(0, 2), (0, 3)]


def test_a_cache_keeps_what_was_asked_for_lately() -> None:
    cache = Cache(most=10)
    made: list[str] = []

    def ask(key: str) -> bytes:
        return cache.get(key, lambda: made.append(key) or key.encode() * 4)  # type: ignore[func-returns-value] # None

    assert [ask(key) for key in "abacab"] == [key.encode() * 4 for key in "abacab"]
    assert "".join(made) == "abcb"
    assert len(cache) == 2
    assert cache.get("large", lambda: b"0" * 11) == b"0" * 11
    assert cache.get("large", lambda: b"1" * 11) == b"1" * 11


def test_of_those_who_ask_for_the_same_at_once_one_makes_it() -> None:
    cache, made = Cache(most=100), []

    def make() -> bytes:
        made.append(1)
        time.sleep(0.05)
        return b"once"

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: cache.get("key", make), range(8))) == {b"once"}
    assert len(made) == 1
    with pytest.raises(ZeroDivisionError):
        cache.get("other", lambda: bytes(1 // 0))
    assert cache.get("other", lambda: b"again") == b"again"


def test_large_answers_are_compressed(client: TestClient) -> None:
    plain = client.get(f"{TOWN}/slice", headers={"accept-encoding": "identity"})
    packed = client.get(f"{TOWN}/slice", headers={"accept-encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.json() == plain.json()
    assert "content-encoding" not in plain.headers
    for url in (f"{TOWN}/download/netcdf", f"{TOWN}/slice?format=float32"):
        assert "content-encoding" not in client.get(url).headers


def test_every_answer_has_its_headers(client: TestClient) -> None:
    for url in ("/", TOWN, f"{TOWN}/query?x=9:1", "/nothing"):
        headers = client.get(url).headers
        assert headers["content-security-policy"].startswith("default-src 'self';")
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


def test_head_is_get_without_its_body(client: TestClient) -> None:
    for url in ("/", f"{TOWN}/query", "/nothing"):
        get, head = client.get(url), client.head(url)
        assert head.content == b""
        assert head.status_code == get.status_code
        assert head.headers.get("etag") == get.headers.get("etag")


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8000", 200),
        ("127.0.0.1", 200),
        ("[::1]:8000", 200),
        ("[::1]", 200),
        ("192.168.1.7:80", 200),
        ("grid.example:443", 200),
        ("GRID.example", 200),
        ("evil.example:8000", 400),
        ("127.0.0.1.evil.example", 400),
        ("localhost.evil.example:8000", 400),
        ("", 400),
        ("[::1]evil.example", 400),
    ],
)
def test_only_its_own_names_are_answered(releases: dict[str, Release], host: str, status: int) -> None:
    with TestClient(create_app(releases, hosts=["grid.example"]), base_url=BASE) as client:
        assert client.get("/api/releases", headers={"host": host}).status_code == status


def test_the_page_comes_from_memory_with_its_types(client: TestClient) -> None:
    files = page.read_page()
    assert {"index.html", "vendor/uPlot.iife.min.js"} <= set(files)
    assert client.get("/").text == files["index.html"].body.decode()
    script = client.get("/page/vendor/uPlot.iife.min.js")
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    assert script.content == files["vendor/uPlot.iife.min.js"].body
    assert client.get("/page/vendor/uPlot.LICENSE").headers["content-type"].startswith("text/plain")


def test_the_page_asks_nobody_else(client: TestClient) -> None:
    ours = {name: file.body.decode() for name, file in page.read_page().items() if not name.startswith("vendor/")}
    for name, text in ours.items():
        assert not re.search(r"""(src|href)=["'](https?:)?//|@import|from ["']https?:""", text), name
    for name in re.findall(r'(?:src|href)="(/page/[^"]+)"', ours["index.html"]):
        assert client.get(name).status_code == 200, name


@contextmanager
def running(app: FastAPI) -> Iterator[int]:
    """Run an app on a port, as people do."""
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    try:
        while not server.started:
            time.sleep(0.01)
        yield bound.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()
        bound.close()


def test_no_path_reaches_the_file_system(app: FastAPI, folders: list[Path]) -> None:
    """Sent as raw bytes: clients tidy paths up before they send them."""
    tricks = [
        "/page/../app.py",
        "/page/%2e%2e/app.py",
        "/page/%2e%2e%2fapp.py",
        "/page/..%5capp.py",
        "/page//etc/passwd",
        "//etc/passwd",
        "/page/" + "../" * 12 + "etc/passwd",
        "/page/" + "%2e%2e/" * 12 + "etc/passwd",
        "/page/%00",
        "/page/.",
        "/page/",
        "/../../etc/passwd",
        f"/api/releases/{folders[0]}",
        "/api/releases/..%2f..%2fetc",
        "/api/releases/town/download/../label",
        "/api/releases/town/download/..%2f..%2fetc%2fpasswd",
        "/api/releases/town/download/%2fetc%2fpasswd",
    ]
    with running(app) as port:
        for trick in tricks:
            with socket.create_connection(("127.0.0.1", port), timeout=10) as sock:
                sock.sendall(f"GET {trick} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
                answer = b"".join(iter(lambda sock=sock: sock.recv(65536), b""))
            assert int(answer.split()[1]) in {404, 422}, (trick, answer[:200])
            assert b"root:" not in answer
            assert b"import" not in answer


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


def test_too_many_large_questions_are_told_to_wait(app: FastAPI, client: TestClient) -> None:
    app.state.desk.room = Heavy(at_once=1, waiting=0)
    with app.state.desk.room.turn():
        response = client.get(f"{TOWN}/slice")
        assert response.status_code == 503
        assert response.headers["retry-after"] == "5"
        assert "busy" in response.json()["detail"]
        assert client.get(f"{TOWN}/query").status_code == 200
    assert client.get(f"{TOWN}/slice").status_code == 200
    app.state.desk.room = Heavy(at_once=1, waiting=1, patience=0.01)
    with app.state.desk.room.turn():
        assert client.get(f"{TOWN}/slice").status_code == 200  # known by now: it needs no turn
        assert client.get(f"{TOWN}/slice?time=0:1").status_code == 503


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
    warm_up(app.state.desk, app.state.served.values())
    for method in ("cells", "over", "answers_of"):
        monkeypatch.setattr(Release, method, None)
    for url in ("", "/slice?time=0:30&format=float32", "/series?every=1", "/query?time=0:30"):
        assert client.get(TOWN + url).status_code == 200, url
    assert client.get(f"{TOWN}/query?time=0:29").status_code == 500


def test_a_fault_of_ours_is_told_without_a_traceback(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(questions, "query", lambda *_: 1 / 0)
    assert "division" not in refused(client, f"{TOWN}/query", status=500)


def test_releases_of_one_name_get_ids_of_their_own(tmp_path: Path, folders: list[Path]) -> None:
    paths = [shutil.copytree(folders[0], tmp_path / name) for name in ("a/town", "b/Town", "c/town-2", "d/東京")]
    assert list(open_all(paths)) == ["town", "town-2", "town-2-2", "release"]


def test_downloads_are_the_releases_own_files(client: TestClient, folders: list[Path]) -> None:
    for form, name in (("netcdf", "consumption.nc"), ("label", "label.yaml")):
        response = client.get(f"{TOWN}/download/{form}")
        assert response.content == (folders[0] / name).read_bytes()
    assert response.headers["content-disposition"] == 'attachment; filename="town.yaml"'
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
    monkeypatch.setattr(downloads, "export", None)
    assert client.get(f"{TOWN}/download/{form}").content == first.content
    if form == "csv":
        lines = first.text.splitlines()
        assert len([line for line in lines if not line.startswith("#")]) == 1 + town.grid.cells * town.window.steps


def test_large_files_are_left_to_the_command(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(downloads, "MOST_ROWS", 1000)
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
        assert operation["responses"]["422"]["content"]["application/json"]["schema"]["$ref"].endswith("/Refusal")
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


def test_browsers_find_the_icon_where_it_has_always_been(client: TestClient) -> None:
    answer = client.get("/favicon.ico")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("image/svg")
