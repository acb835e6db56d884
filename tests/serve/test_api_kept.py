"""What is sent once and made once: tags, the cache, compression."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fastapi.testclient import TestClient
from tests.serve.conftest import BASE
from tests.work import wait_until

from gridveil.release.query.open import Release
from gridveil.serve.app import create_app
from gridveil.serve.execution import AnswerCache
from gridveil.serve.releases import open_all

TOWN = "/api/releases/town"


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
    os.utime(copy / "consumption.nc", (1, 1))  # as a copy has it: its content is the same
    assert etag() == before
    shutil.rmtree(copy)
    shutil.copytree(folders[1], copy)
    changed = etag()
    assert changed != before
    (copy / "SHA256SUMS").unlink()
    assert etag() == changed


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
    cache = AnswerCache(max_bytes=10)
    made: list[str] = []

    def ask(key: str) -> bytes:
        return cache.get(key, lambda: made.append(key) or key.encode() * 4)  # type: ignore[func-returns-value] # None

    assert [ask(key) for key in "abacab"] == [key.encode() * 4 for key in "abacab"]
    assert "".join(made) == "abcb"
    assert len(cache) == 2
    assert cache.get("large", lambda: b"0" * 11) == b"0" * 11
    assert cache.get("large", lambda: b"1" * 11) == b"1" * 11


def test_of_those_who_ask_for_the_same_at_once_one_makes_it() -> None:
    cache, made, asking = AnswerCache(max_bytes=100), [], []  # type: ignore[var-annotated]  # of any type

    def make() -> bytes:
        made.append(1)
        wait_until(lambda: len(asking) == 8)
        return b"once"

    def ask(number: int) -> bytes:
        asking.append(number)
        return cache.get("key", make)

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(ask, range(8))) == {b"once"}
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
