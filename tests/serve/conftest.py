"""Two small releases, an app that serves them, and a client that asks it."""

from __future__ import annotations

import socket
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import uvicorn
from fastapi import FastAPI
from tests.release.conftest import make_estimate, make_label
from tests.work import wait_until

from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.release.format.netcdf import write_release
from gridveil.release.query.open import Release
from gridveil.serve.app import create_app
from gridveil.serve.releases import open_all

with warnings.catch_warnings():
    # Starlette 1.10 would rather have httpx2; httpx, which schemathesis brings anyway, still does.
    warnings.filterwarnings("ignore", message="Using `httpx`")
    from fastapi.testclient import TestClient

TOWN = (
    Grid(-0.5, 51.25, -0.1, 51.5, nx=8, ny=5, crs="EPSG:4326"),
    Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 30),
)
# Ten days, a Thursday to a Saturday, around the night of 31 March in which British clocks went an hour ahead.
SPRING = Grid(0, 0, 400, 300, nx=4, ny=3), Window(datetime(2013, 3, 28, tzinfo=UTC), timedelta(hours=1), 240)
BASE = "http://127.0.0.1:8000"


def write(folder: Path, where: tuple[Grid, Window], kind: str, **label: object) -> Path:
    grid, window = where
    estimate = make_estimate(kind, grid, window)
    write_release(folder, grid=grid, window=window, estimate=estimate, label=make_label(grid, window, **label))
    return folder


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    top = tmp_path_factory.mktemp("releases")
    return [
        write(top / "Town", TOWN, "parts"),
        write(top / "spring", SPRING, "replicates", private=False, title="A test"),
    ]


@pytest.fixture(scope="session")
def releases(folders: list[Path]) -> dict[str, Release]:
    return open_all(folders)


@pytest.fixture(scope="session")
def town(releases: dict[str, Release]) -> Release:
    return releases["town"]


@pytest.fixture(scope="session")
def spring(releases: dict[str, Release]) -> Release:
    return releases["spring"]


@pytest.fixture
def app(releases: dict[str, Release]) -> FastAPI:
    return create_app(releases)


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    with TestClient(app, base_url=BASE, raise_server_exceptions=False) as client:
        yield client


def refused(client: TestClient, url: str, body: object = None, status: int = 422) -> str:
    """Return the sentence of a refusal."""
    response = client.get(url) if body is None else client.post(url, json=body)
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    told = response.json()
    assert list(told) == ["detail", "code"]
    assert len(told["detail"]) <= 303
    return str(told["detail"])


@contextmanager
def running(app: FastAPI) -> Iterator[int]:
    """Run an app on a port, as people do."""
    bound = socket.socket()
    bound.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]})
    thread.start()
    try:
        wait_until(lambda: server.started)
        yield bound.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()
        bound.close()
