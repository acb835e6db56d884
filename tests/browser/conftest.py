"""Releases worth looking at, `gridveil serve` on them, and a real Chromium whose every complaint fails the test."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Error,
    Page,
    Request,
    Response,
    expect,
    sync_playwright,
)
from tests.browser import chromium

from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.publishing.run import run
from gridveil.publishing.spec import make_spec
from gridveil.release.query.open import Release, open_release
from gridveil.simulate.sources import SeededLaplace
from gridveil.simulate.town import DEMO_GRID, DEMO_WINDOW, make_town

SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"
FLAGS = (
    "--no-sandbox",  # as root in a container
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--no-first-run",
)
STEADY = {"locale": "en-GB", "timezone_id": "UTC", "reduced_motion": "reduce"}
LONDON = Grid(-0.5, 51.395, -0.25, 51.5, nx=32, ny=32, crs="EPSG:4326")
WEEK = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 168)
SMALL = Grid(0, 0, 800, 500, nx=8, ny=5)
TWO_DAYS = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 48)
START_SECONDS = 60
"""How long a server may take to answer, on a busy machine ..."""

PATIENCE = 20_000
"""... and the page, milliseconds."""

expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="session")
def executable() -> str:
    """The system's Chromium; without one all that needs it skips loudly, and fails where tests must run."""
    found = chromium.find()
    if found is None:
        (pytest.fail if chromium.must_run() else pytest.skip)(chromium.MISSING)
    return found


@pytest.fixture(scope="session")
def release_folder(executable: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of releases: `town` (a local grid, four weekdays and more), `west-london` (longitude and latitude, a
    week), `high-epsilon` (10) and `not-private` (test noise).
    """
    del executable  # asked for first: releases that no browser can look at are not made
    folder = tmp_path_factory.mktemp("releases")
    publish(folder / "town", DEMO_GRID, DEMO_WINDOW, title="Invented town")
    publish(folder / "west-london", LONDON, WEEK, title="An invented town over London, February 2013")
    publish(folder / "high-epsilon", SMALL, TWO_DAYS, title="A street at epsilon 10", epsilon=10, mechanism="identity")
    publish(folder / "not-private", SMALL, TWO_DAYS, title="A rehearsal", noise=SeededLaplace(0))
    return folder


def publish(
    out: Path,
    grid: Grid,
    window: Window,
    *,
    title: str,
    epsilon: float = 3,
    mechanism: str = "mosaic",
    noise: SeededLaplace | None = None,
) -> None:
    """Publish a town of 5,000 invented households (200 on a small grid) at `out`."""
    town = make_town(5000 if grid.cells > SMALL.cells else 200, grid=grid, window=window)
    readings, households = town.write(out.with_name(f"{out.name}-readings"))
    settings: dict[str, Any] = {
        "readings": readings,
        "households": households,
        "extent": (grid.x0, grid.y0, grid.x1, grid.y1),
        "grid": (grid.nx, grid.ny),
        "crs": None if grid.crs == "local" else grid.crs,
        "start": window.start,
        "steps": window.steps,
        "epsilon": epsilon,
        "mechanism": mechanism,
        "title": title,
        "publisher": "Example Grid Company",
        "choices": "before the town was made",
        "no_ledger": True,
        "out": out,
    }
    run(make_spec(settings), noise=noise, today=date(2026, 11, 16))


@pytest.fixture(scope="session")
def town(release_folder: Path) -> Release:
    """What the page's numbers are compared with: the Python API on the first release."""
    return open_release(release_folder / "town")


@pytest.fixture(scope="session")
def london(release_folder: Path) -> Release:
    """The Python API on the release with longitude and latitude."""
    return open_release(release_folder / "west-london")


@contextmanager
def serving(*releases: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Run `gridveil serve`; give its address and its process once it answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    start = [sys.executable, "-c", "from gridveil.cli.main import main; main()", "serve"]
    server = subprocess.Popen([*start, *map(str, releases), "--port", str(port)], stdout=subprocess.DEVNULL)
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_for(f"{url}/api/releases", server)
        yield url, server
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and server.poll() is None:
        with suppress(URLError, ConnectionError), urllib.request.urlopen(url, timeout=5):  # noqa: S310  # our own server
            return
        time.sleep(0.05)
    msg = f"gridveil serve did not answer at {url} (exit code {server.poll()}); its complaint is above"
    raise RuntimeError(msg)


@pytest.fixture(scope="session")
def server_url(release_folder: Path) -> Iterator[str]:
    """Where all the releases are served."""
    names = ("town", "west-london", "high-epsilon", "not-private")
    with serving(*(release_folder / name for name in names)) as (url, _):
        yield url


# Not for the whole session: while Playwright's synchronous interface is open, its event loop counts as running in this
# thread, and tests elsewhere that start one of their own would fail.
@pytest.fixture(scope="module")
def browser(executable: str) -> Iterator[Browser]:
    """A Chromium for the tests of one file."""
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=executable, args=list(FLAGS))
        yield opened
        opened.close()


Open = Callable[..., Page]


@pytest.fixture
def faults() -> list[str]:
    """What a browser complained about; a test that provokes a complaint looks at it and clears it."""
    return []


Listeners = dict[Any, Callable[..., None]]
KEPT = "[...Object.keys(localStorage), ...Object.keys(sessionStorage), ...document.cookie.split(';').filter(Boolean)]"


@pytest.fixture(scope="module")
def tabs(browser: Browser) -> dict[str, list[Page]]:
    """Tabs that were left and can be used again, by their settings: a new one costs Chromium three visits."""
    del browser  # they end with it
    return {}


@pytest.fixture
def new_page(browser: Browser, tabs: dict[str, list[Page]], server_url: str, faults: list[str]) -> Iterator[Open]:
    """Open pages, each in a context of its own with the settings given (`viewport`, `color_scheme`, `has_touch`)."""
    opened: list[tuple[str, Page, Listeners]] = []

    def open_page(path: str = "", *, base_url: str = server_url, **settings: Any) -> Page:
        key = repr((base_url, settings))
        free = tabs.setdefault(key, [])
        page = free.pop() if free else _tab(browser, base_url, settings)
        listeners = complaints(faults, base_url)
        opened.append((key, page, listeners))
        for event, listener in listeners.items():
            page.on(event, listener)
        page.goto(f"/{path}")
        return page

    yield open_page
    for key, page, listeners in opened:
        if page.is_closed() or len(page.context.pages) > 1:
            page.context.close()
        else:
            faults += [f"the page keeps {name} in the browser" for name in page.evaluate(KEPT)]
            leave(page, listeners)
            tabs[key].append(page)
    assert not faults, "the browser complained:\n" + "\n".join(faults)


def _tab(browser: Browser, base_url: str, settings: dict[str, Any]) -> Page:
    context = browser.new_context(
        base_url=base_url, **({"viewport": {"width": 1280, "height": 860}, **STEADY} | settings)
    )
    context.set_default_timeout(PATIENCE)
    return context.new_page()


def leave(page: Page, listeners: Listeners) -> None:
    """Leave a tab as if it were new."""
    page.mouse.up()
    page.mouse.move(0, 0)
    page.goto("about:blank")
    page.unroute_all(behavior="ignoreErrors")
    page.emulate_media(media="null", color_scheme="null")
    for event, heard in listeners.items():
        page.remove_listener(event, heard)


def complaints(faults: list[str], base_url: str) -> Listeners:
    """Note console errors and warnings, uncaught exceptions, requests that failed, and any that leave the server."""

    def console(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            faults.append(f"console {message.type}: {message.text} ({message.location})")

    def uncaught(error: Error) -> None:
        faults.append(f"uncaught: {error}")

    def requested(request: Request) -> None:
        if not request.url.startswith((base_url, "blob:", "data:", "about:")):
            faults.append(f"a request to somebody else: {request.url}")

    def failed(request: Request) -> None:
        # A request that the page no longer needs is aborted by itself; so is the one that becomes a download.
        if request.failure != "net::ERR_ABORTED":
            faults.append(f"request failed: {request.url}: {request.failure}")

    def responded(response: Response) -> None:
        if response.status >= 400:
            faults.append(f"{response.status}: {response.request.method} {response.url}")

    heard = {"console": console, "pageerror": uncaught, "request": requested, "requestfailed": failed}
    return {**heard, "response": responded}  # type: ignore[dict-item]  # lists of either


@pytest.fixture
def page(new_page: Open) -> Page:
    """The first release on a desk's screen."""
    return new_page()


@pytest.fixture
def screenshot(request: pytest.FixtureRequest) -> Callable[..., Path]:
    """Save what a page looks like under build/screenshots, by the test's name."""

    def save(page: Page, name: str = "", **settings: Any) -> Path:
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        test = request.node.name.removeprefix("test_").replace("[", "-").replace("]", "")
        path = SCREENSHOTS / f"{test}{'-' if name else ''}{name}.png"
        page.screenshot(path=path, **settings)
        return path

    return save
