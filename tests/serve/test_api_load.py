"""Questions that are too much, bodies that are hard to read, files that change: the API stays awake and says so."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from email.utils import formatdate
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from numpy.typing import ArrayLike
from tests.serve.conftest import BASE, TOWN, refused, running, write

from gridveil.release.query.open import QueryAnswers, Release, open_release
from gridveil.serve import answers, execution
from gridveil.serve.app import MAX_CURVE_POINTS, POINT_LENGTHS, create_app, read_page, steps_per_point, warm_up
from gridveil.serve.execution import ConcurrencyLimit
from gridveil.serve.releases import open_all

HOME = "/api/releases/town"
BATCH = f"{HOME}/query/batch"
ROW = [0, 8, 0, 5, 0, 30]


@contextmanager
def serving(*folders: Path) -> Iterator[TestClient]:
    with TestClient(create_app(open_all(folders)), base_url=BASE, raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def asked_rows(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many ranges each call of a release was asked for."""
    counts: list[int] = []
    answers_of = Release.answers_of

    def counted(self: Release, ranges: ArrayLike) -> QueryAnswers:
        counts.append(len(np.asarray(ranges)))
        return answers_of(self, ranges)

    monkeypatch.setattr(Release, "answers_of", counted)
    return counts


def test_equal_ranges_are_answered_once_and_in_their_places(
    client: TestClient, town: Release, asked_rows: list[int]
) -> None:
    other = [1, 3, 0, 2, 4, 9]
    told = client.post(BATCH, json={"ranges": [ROW, other, ROW, ROW, other]}).json()
    assert asked_rows == [2]
    expected = [town.query((x0, x1), (y0, y1), (t0, t1)) for x0, x1, y0, y1, t0, t1 in (ROW, other)]
    for name in answers.PARTS:
        big, small = (getattr(answer, name) for answer in expected)
        assert told[name] == pytest.approx([big, small, big, big, small])


def test_too_much_work_is_refused_before_it_is_begun(
    client: TestClient, town: Release, asked_rows: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Parts that differ everywhere: 1,200 labels and as many shares to read.
    assert town.cost_of([ROW]).tolist() == [2400]
    monkeypatch.setattr(execution, "MAX_WORK", execution.HEAVY_WORK + 2000 + answers.ROW_WORK)
    for url, body in ((BATCH, {"ranges": [ROW]}), (f"{HOME}/series", {}), (f"{HOME}/profile", {})):
        assert refused(client, url, body).endswith("ask in smaller pieces (fewer, smaller or shorter ones)")
    for url in ("slice", "highest", "series"):
        assert "ask in smaller pieces" in refused(client, f"{HOME}/{url}")
    assert asked_rows == []
    assert client.post(BATCH, json={"ranges": [[0, 1, 0, 1, 0, 1]]}).status_code == 200
    assert client.get(f"{HOME}/slice?time=0:1").status_code == 200
    monkeypatch.setattr(execution, "MAX_WORK", 2000)
    for url in ("query", "query?bbox=-0.5,51.25,-0.1,51.5"):
        assert "ask in smaller pieces" in refused(client, f"{HOME}/{url}")
    assert client.get(f"{HOME}/query?x=0:2").status_code == 200


def test_work_is_given_up_when_time_is_up(
    app: FastAPI, client: TestClient, asked_rows: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = Release.answers_of

    def slow(self: Release, ranges: ArrayLike) -> QueryAnswers:
        time.sleep(0.1)
        return counted(self, ranges)

    monkeypatch.setattr(Release, "answers_of", slow)
    monkeypatch.setattr(answers, "PIECE_ROWS", 1)
    app.state.executor.seconds = 0.3
    ranges = [[0, 8, 0, 5, t, t + 1] for t in range(30)]
    assert refused(client, BATCH, {"ranges": ranges}, status=503).startswith("This took too long and was given up")
    assert 1 <= len(asked_rows) <= 4


def test_a_series_in_pieces_is_the_series(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = client.get(f"{HOME}/series?x=1:4").json()
    monkeypatch.setattr(answers, "PIECE_WORK", 500)
    with TestClient(create_app({"town": open_release(client.app.state.releases["town"].release.path.parent)})) as other:
        pieces = other.get(f"{HOME}/series?x=1:4", headers={"host": "localhost"}).json()
    for name in answers.PARTS:
        assert pieces.pop(name) == pytest.approx(whole.pop(name), rel=1e-9)
    assert pieces == whole


def test_questions_take_a_turn_by_their_work(app: FastAPI, client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution, "HEAVY_WORK", 1000)
    app.state.executor.heavy = ConcurrencyLimit(running=1, waiting=0)
    with app.state.executor.heavy.slot():
        for method, url in ((client.get, "query"), (client.get, "query?bbox=-0.5,51.25,-0.1,51.5")):
            assert method(f"{HOME}/{url}").status_code == 503
        assert client.post(f"{HOME}/query", json={}).status_code == 503
        assert client.get(f"{HOME}/query?x=0:2").status_code == 200
    assert client.get(f"{HOME}/query").status_code == 200
    with app.state.executor.heavy.slot():
        assert client.get(f"{HOME}/query").status_code == 200  # known by now


def test_long_questions_have_a_room_of_their_own(
    app: FastAPI, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "LONG_WORK", execution.HEAVY_WORK + 5000)
    app.state.executor.long = ConcurrencyLimit(running=1, waiting=0)
    with app.state.executor.long.slot():
        assert refused(client, BATCH, {"ranges": [ROW, [0, 8, 0, 5, 0, 29]]}, status=503)
        assert client.get(f"{HOME}/slice?time=0:1").status_code == 200
        assert client.get(HOME).status_code == 200


@pytest.mark.parametrize(
    "row",
    [[-1] * 6, "aaaaaa", None, [0, 1, 0, 1, 0], [[]] * 6, *([0, end, 0, 1, 0, 1] for end in ("a", True, 0.5, 2**70))],
    ids=str,
)
def test_the_first_row_that_is_none_is_told(client: TestClient, row: object) -> None:
    told = refused(client, BATCH, {"ranges": [[0, 1, 0, 1, 0, 1]] * 3 + [row] * 5})
    assert told.startswith("ranges: row 3 is not 6 whole numbers from 0 up; write")


def test_whole_numbers_may_be_written_with_a_point(client: TestClient) -> None:
    response = client.post(BATCH, content='{"ranges": [[0.0, 8.0, 0, 5, 0, 3e1]]}', headers=JSON)
    assert response.json() == client.post(BATCH, json={"ranges": [ROW]}).json()


JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "The body is not JSON."),
        (b"[]", "The body: give an object"),
        (b"3", "The body: give an object"),
        (b'{"x": [0, Infinity]}', "The body is not JSON."),
        (b'{"tme": 1, "x": [0]}', "tme: there is no such parameter."),
    ],
)
def test_bodies_that_make_no_sense(client: TestClient, content: bytes, sentence: str) -> None:
    response = client.post(f"{HOME}/query", content=content, headers=JSON)
    assert (response.status_code, response.json()["detail"][: len(sentence)]) == (422, sentence)


def test_a_body_that_is_not_said_to_be_json_is_refused(client: TestClient) -> None:
    for kind in ("text/plain", "application/x-www-form-urlencoded", ""):
        response = client.post(f"{HOME}/query", content=b'{"x": [0, 1]}', headers={"content-type": kind})
        assert response.status_code == 422
        assert "Content-Type: application/json" in response.json()["detail"]
    response = client.post(f"{HOME}/query", content=b"{}", headers={"content-type": "application/json; charset=utf-8"})
    assert response.status_code == 200


BAD_BODIES = {
    "rows": lambda: json.dumps({"ranges": [[-1] * 6] * 100_000}),
    "keys": lambda: "{" + ",".join(f'"{number:x}":1' for number in range(750_000)) + "}",
    "features": lambda: '{"polygon":{"type":"FeatureCollection","features":[' + ",".join(['{"a":1}'] * 900_000) + "]}}",
}


@pytest.mark.parametrize("kind", BAD_BODIES)
def test_a_large_bad_body_keeps_nobody_waiting(app: FastAPI, kind: str) -> None:
    body = BAD_BODIES[kind]().encode()
    slowest, done = [0.0], threading.Event()

    def ask(port: int, method: str, url: str, body: bytes | None = None) -> int:
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
            connection.request(method, url, body, JSON)
            with connection.getresponse() as response:
                response.read()
                return response.status

    def others(port: int) -> None:
        while not done.wait(0.02):
            began = time.perf_counter()
            assert ask(port, "GET", f"{HOME}/query?x=0:1") == 200
            slowest[0] = max(slowest[0], time.perf_counter() - began)

    with running(app) as port, ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(others, port)
        try:
            began = time.process_time()
            assert ask(port, "POST", BATCH if kind == "rows" else f"{HOME}/query", body) == 422
            assert time.process_time() - began < 8  # processor time: 14 to 19 seconds if all mistakes are collected
        finally:
            done.set()
        waiting.result()
    assert slowest[0] < 4


def test_many_parameters_or_one_twice_are_refused(client: TestClient) -> None:
    assert refused(client, f"{HOME}/query?x=0:3&x=0:5") == "x is given more than once; give it once"
    many = "&".join(f"p{number}=1" for number in range(1000))
    assert refused(client, f"{HOME}/query?{many}").startswith("1000 parameters are more than any question has")


@pytest.mark.parametrize("zone", ["localtime", "posixrules", "Factory"])
def test_only_clocks_of_places_are_known(client: TestClient, zone: str) -> None:
    assert refused(client, f"{HOME}/profile?timezone={zone}").startswith("timezone: not known")


def removed(folder: Path) -> None:
    shutil.rmtree(folder)


def replaced(folder: Path) -> None:
    """By a file of the same size and age, as a copy would be."""
    values = folder / "consumption.nc"
    age = values.stat()
    shutil.copy(values, folder / "new")
    os.utime(folder / "new", ns=(age.st_atime_ns, age.st_mtime_ns))
    (folder / "new").rename(values)


def relabelled(folder: Path) -> None:
    with (folder / "label.json").open("a") as file:
        file.write("# changed\n")


@pytest.mark.parametrize("change", [removed, replaced, relabelled])
def test_a_release_that_changes_while_it_is_served_is_no_longer_answered_for(
    folders: list[Path], tmp_path: Path, change: Callable[[Path], None]
) -> None:
    town = shutil.copytree(folders[0], tmp_path / "town")
    with serving(town, folders[1]) as client:
        tags = {url: client.get(HOME + url).headers["etag"] for url in ("", "/query", "/download/label")}
        change(town)
        for url in ("", "/query", "/slice", "/download/netcdf", "/download/label", "/download/csv"):
            assert refused(client, HOME + url, status=503).startswith("This release cannot be read any more")
        for url, tag in tags.items():
            assert client.get(HOME + url, headers={"if-none-match": tag}).status_code == 503
        assert [each["id"] for each in client.get("/api/releases").json()["releases"]] == ["spring"]
        assert client.get("/api/releases/spring").status_code == 200


def test_a_label_that_json_cannot_say_is_that_releases_own_trouble(folders: list[Path], tmp_path: Path) -> None:
    releases = open_all([shutil.copytree(folders[0], tmp_path / "odd"), folders[1]])
    label = releases["odd"].label
    releases["odd"].label = label.model_copy(
        update={"privacy": label.privacy.model_copy(update={"epsilon": float("nan")})}
    )
    with TestClient(create_app(releases), base_url=BASE, raise_server_exceptions=False) as client:
        assert [each["id"] for each in client.get("/api/releases").json()["releases"]] == ["spring"]
        assert refused(client, "/api/releases/odd", status=503).startswith("This release cannot be read")
        assert client.get("/api/releases/odd/query").status_code == 200


def test_a_download_that_was_cut_off_goes_on(client: TestClient) -> None:
    for form in ("netcdf", "label", "csv"):
        url = f"{HOME}/download/{form}"
        whole = client.get(url)
        etag = whole.headers["etag"]
        assert not etag.startswith("W/")
        assert "content-encoding" not in whole.headers
        rest = client.get(url, headers={"range": "bytes=100-", "if-range": etag})
        assert (rest.status_code, rest.headers["etag"], rest.content) == (206, etag, whole.content[100:])
        other = client.get(url, headers={"range": "bytes=100-", "if-range": '"other"'})
        assert (other.status_code, other.content) == (200, whole.content)


def test_no_time_of_a_file_is_told(client: TestClient, town: Release) -> None:
    """Nor can it be found out by asking whether it is this one."""
    url, changed = f"{HOME}/download/netcdf", formatdate(town.path.stat().st_mtime, usegmt=True)
    assert "last-modified" not in client.get(url).headers
    assert client.get(url, headers={"range": "bytes=100-", "if-range": changed}).status_code == 200


@pytest.mark.parametrize("form", ["parquet", "xlsx", "zarr"])
def test_a_file_that_is_made_again_is_the_same(folders: list[Path], form: str) -> None:
    """So that tags hold when the server is started again."""
    answers = []
    for _ in range(2):
        with serving(folders[0]) as client:
            answers.append(client.get(f"{HOME}/download/{form}"))
    assert answers[0].content == answers[1].content
    assert answers[0].headers["etag"] == answers[1].headers["etag"] == f'"{sha256(answers[0].content).hexdigest()}"'


def test_several_releases_add_up(folders: list[Path], tmp_path: Path) -> None:
    other = write(tmp_path / "other", TOWN, "parts", epsilon=0.5)
    with serving(folders[0], other) as client:
        told = client.get("/api/releases").json()["together"]
        assert told == client.get(HOME).json()["together"]
        assert "epsilon 1 + 0.5 = 1.5." in told
        assert all(f" {rate} %" in told for rate in ("4.49", "20.1"))  # of membership, and of behaviour and place
        tag = client.get(HOME).headers["etag"]
    with serving(folders[0]) as client:
        assert client.get("/api/releases").json()["together"] is client.get(HOME).json()["together"] is None
        assert client.get(HOME, headers={"if-none-match": tag}).status_code == 200
    with serving(*folders) as client:
        assert client.get("/api/releases").json()["together"].startswith("Not all of these releases are private.")


def test_a_page_that_comes_early_waits_for_what_is_being_made(
    folders: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    begun = threading.Event()

    def slowly(name: str) -> None:
        method = getattr(Release, name)

        def slow(self: Release, *asked: object) -> object:
            made.append(f"{name} {asked}" if name == "cells" else name)
            begun.set()
            time.sleep(0.05)
            return method(self, *asked)

        monkeypatch.setattr(Release, name, slow)

    app = create_app(open_all(folders[:1]))
    for name in ("cells", "over"):
        slowly(name)
    served = app.state.releases.values()
    with TestClient(app, base_url=BASE) as client, ThreadPoolExecutor(5) as pool:
        warm = pool.submit(warm_up, app.state.executor, served)
        assert begun.wait(10)
        urls = ["", "/slice?time=0:30&format=float32", "/series?every=1", "/query?time=0:30"]
        assert [answer.status_code for answer in pool.map(client.get, [HOME + url for url in urls])] == [200] * 4
        warm.result()
    assert sorted(made) == ["cells (0, 30)", "over"]


def test_points_are_those_of_the_page() -> None:
    script = read_page()["points.js"].body.decode()
    most, lengths = (re.search(rf"const {name} = (.*);", script)[1] for name in ("MOST_POINTS", "LENGTHS"))
    assert int(most) == MAX_CURVE_POINTS
    assert eval(lengths) == list(POINT_LENGTHS)  # noqa: S307 - products of numbers, from our own file
    assert [steps_per_point(steps, 1800) for steps in (1, 1000, 1001, 2001, 10**6)] == [1, 1, 2, 6, 1000]
