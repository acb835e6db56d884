"""What every answer carries, whom the server answers, and that no path reaches its disk."""

from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from tests.serve.conftest import BASE, running

from gridveil.release.query.open import Release
from gridveil.serve.app import create_app, read_page

TOWN = "/api/releases/town"


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
    files = read_page()
    assert {"index.html", "vendor/uPlot.iife.min.js"} <= set(files)
    assert client.get("/").text == files["index.html"].body.decode()
    script = client.get("/page/vendor/uPlot.iife.min.js")
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    assert script.content == files["vendor/uPlot.iife.min.js"].body
    assert client.get("/page/vendor/uPlot.LICENSE").headers["content-type"].startswith("text/plain")


def test_the_page_asks_nobody_else(client: TestClient) -> None:
    ours = {name: file.body.decode() for name, file in read_page().items() if not name.startswith("vendor/")}
    for name, text in ours.items():
        assert not re.search(r"""(src|href)=["'](https?:)?//|@import|from ["']https?:""", text), name
    for name in re.findall(r'(?:src|href)="(/page/[^"]+)"', ours["index.html"]):
        assert client.get(name).status_code == 200, name


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
                answer = b"".join(iter(lambda sock=sock: sock.recv(65536), b""))  # type: ignore[misc]  # the type of a default is not inferred
            assert int(answer.split()[1]) in {404, 422}, (trick, answer[:200])
            assert b"root:" not in answer
            assert b"import" not in answer


def test_browsers_find_the_icon_where_it_has_always_been(client: TestClient) -> None:
    answer = client.get("/favicon.ico")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("image/svg")
