"""What the API refuses, and how it says so."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import urlencode

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from tests.serve.conftest import refused

from gridveil.serve import answers, middleware, requests, slices
from gridveil.serve.execution import ConcurrencyLimit

TOWN = "/api/releases/town"


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
        ("download/doc", "format: give one of netcdf, label, csv,"),
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
    large = b" " * (middleware.MAX_BODY + 1)
    json_type = {"content-type": "application/json"}

    def pieces() -> Iterator[bytes]:
        for start in range(0, len(large), 2**20):
            yield large[start : start + 2**20]

    for content in (large, pieces()):
        response = client.post(f"{TOWN}/query", content=content, headers=json_type)
        assert response.status_code == 413
        assert response.json()["code"] == "body-too-large"


def test_batches_polygons_points_and_slices_have_limits(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    row = [0, 1, 0, 1, 0, 1]
    too_many = refused(client, f"{TOWN}/query/batch", {"ranges": [row] * (requests.MAX_RANGES + 1)})
    assert too_many.startswith("ranges: list should have at most 100000 items")
    assert refused(client, f"{TOWN}/query/batch", {"ranges": []}).startswith("ranges: list should have at least 1 item")
    assert "(row 1) is empty" in refused(client, f"{TOWN}/query/batch", {"ranges": [row, [1, 1, 0, 1, 0, 1]]})
    circle = [[-0.3 + 0.1 * np.cos(a), 51.4 + 0.05 * np.sin(a)] for a in np.linspace(0, 2 * np.pi, 10_001)]
    circle[-1] = circle[0]
    polygon = {"polygon": {"type": "Polygon", "coordinates": [circle]}}
    assert refused(client, f"{TOWN}/query", polygon) == "a polygon may have 10,000 points; simplify it"
    del circle[5]
    assert client.post(f"{TOWN}/query", json=polygon).status_code == 200
    nested = {"polygon": {"type": "Polygon", "coordinates": [[]] * 20_000}}
    assert client.post(f"{TOWN}/query", json=nested).status_code == 422
    monkeypatch.setattr(answers, "MAX_POINTS", 10)
    assert refused(client, f"{TOWN}/series?every=2") == "15 points; up to 10 are answered: ask for every=3"
    monkeypatch.setattr(slices, "MAX_JSON_CELLS", 39)
    sentence = "a slice of 40 cells is answered as format=float32; as JSON up to 39 are"
    assert refused(client, f"{TOWN}/slice") == sentence
    assert client.get(f"{TOWN}/slice?format=float32").status_code == 200


def test_a_series_is_at_most_2000_points_unless_asked(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "USUAL_POINTS", 7)
    told = client.get(f"{TOWN}/series").json()
    assert told["every"] == 5
    assert len(told["value"]) == 6


def test_the_largest_batch_is_answered(client: TestClient) -> None:
    response = client.post(
        "/api/releases/spring/query/batch?format=float32", json={"ranges": [[0, 1, 0, 1, 0, 1]] * requests.MAX_RANGES}
    )
    assert response.status_code == 200
    assert len(response.content) == 16 * requests.MAX_RANGES


def test_too_many_large_questions_are_told_to_wait(app: FastAPI, client: TestClient) -> None:
    app.state.executor.heavy = ConcurrencyLimit(running=1, waiting=0)
    with app.state.executor.heavy.slot():
        response = client.get(f"{TOWN}/slice")
        assert response.status_code == 503
        assert response.headers["retry-after"] == "5"
        assert "busy" in response.json()["detail"]
        assert client.get(f"{TOWN}/query").status_code == 200
    assert client.get(f"{TOWN}/slice").status_code == 200
    app.state.executor.heavy = ConcurrencyLimit(running=1, waiting=1, patience=0.01)
    with app.state.executor.heavy.slot():
        assert client.get(f"{TOWN}/slice").status_code == 200  # known by now: it needs no turn
        assert client.get(f"{TOWN}/slice?time=0:1").status_code == 503
