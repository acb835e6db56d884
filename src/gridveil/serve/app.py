"""The server: an app of the API and the page, and how it is started."""

from __future__ import annotations

import errno
import hashlib
import socket
import webbrowser
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from threading import Thread

import uvicorn
from fastapi import FastAPI, HTTPException, Request, Response
from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipMiddleware

import gridveil
from gridveil.model.errors import GridveilError, UsageError
from gridveil.release.query.open import Release
from gridveil.serve.answers import SeriesQuery, TotalQuery
from gridveil.serve.execution import Query, QueryExecutor
from gridveil.serve.facts import FactsQuery
from gridveil.serve.middleware import Guard, add_error_handlers
from gridveil.serve.releases import Downloads, ServedRelease, serve_all
from gridveil.serve.requests import RegionRequest
from gridveil.serve.routes import OCTETS, check_etag, router
from gridveil.serve.slices import SliceQuery

ABOUT = """Consumption of households over space and time, published under differential privacy.

Every number comes with a standard error and a 95 % interval. Ranges are half-open; cells are counted from 0 in the
south-west, steps from 0 at the start. Mistakes are answered with status 422 and a sentence in `detail`."""

MEDIA_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "png": "image/png",
    "LICENSE": "text/plain; charset=utf-8",
}
EVERYWHERE = {"0.0.0.0", "::"}  # noqa: S104 - only recognised here

# As in static/points.js.
MAX_CURVE_POINTS = 1_000
POINT_LENGTHS = (1800, 3600, 3 * 3600, 6 * 3600, 86_400, 7 * 86_400)


def create_app(releases: Mapping[str, Release], hosts: Iterable[str] = ()) -> FastAPI:
    """Return an app that serves releases, by id, to those who call it localhost, by its number or one of `hosts`."""
    app = FastAPI(
        title="gridveil",
        version=gridveil.__version__,
        description=ABOUT,
        openapi_url="/api/openapi.json",
        docs_url=None,  # FastAPI's pages of documentation load their scripts from elsewhere
        redoc_url=None,
        lifespan=_lifespan,
    )
    app.state.releases = serve_all(releases)
    app.state.executor = QueryExecutor()
    app.state.downloads = Downloads()
    app.state.page = read_page()
    add_error_handlers(app)
    app.include_router(router)
    app.add_api_route("/", _send_page_file, include_in_schema=False)
    app.add_api_route("/favicon.ico", _send_icon, include_in_schema=False)
    app.add_api_route("/page/{name:path}", _send_page_file, include_in_schema=False)
    # Planes of numbers shrink by a third, which takes longer than all the rest of a large slice.
    uncompressed = (*DEFAULT_EXCLUDED_CONTENT_TYPES, OCTETS)
    app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=1, exclude_content_types=uncompressed)
    app.add_middleware(Guard, hosts=hosts)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Leave no files behind."""
    yield
    app.state.downloads.close()


@dataclass(frozen=True)
class PageFile:
    """A file of the page, read once from the package, so that no address ever reaches the file system."""

    body: bytes
    type: str
    etag: str


def read_page() -> dict[str, PageFile]:
    """Return the page's files by name, with `/` between folders."""
    return dict(_read_folder(files("gridveil.serve") / "static", ""))


def _read_folder(folder: Traversable, prefix: str) -> Iterator[tuple[str, PageFile]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _read_folder(entry, f"{prefix}{entry.name}/")
        elif (suffix := entry.name.rpartition(".")[2]) in MEDIA_TYPES:
            body = entry.read_bytes()
            etag = f'W/"{hashlib.sha256(body).hexdigest()[:32]}"'
            yield prefix + entry.name, PageFile(body, MEDIA_TYPES[suffix], etag)


async def _send_page_file(request: Request, name: str = "index.html") -> Response:
    page: dict[str, PageFile] = request.app.state.page
    if name not in page:
        raise HTTPException(404)
    check_etag(request, page[name].etag)
    return Response(page[name].body, media_type=page[name].type)


async def _send_icon(request: Request) -> Response:
    """Send the icon to browsers that ask for it where it has always been."""
    return await _send_page_file(request, "icon.svg")


def warm_up(executor: QueryExecutor, releases: Iterable[ServedRelease]) -> None:
    """Cache the answers to the page's first requests to each release."""
    for served in releases:
        for query in first_queries(served):
            with suppress(GridveilError, OSError):  # reported when it is asked for
                executor.warm(query)


def first_queries(served: ServedRelease) -> Iterator[Query]:
    """Return facts, number, map and curve of a release, in the order in which the page needs them."""
    window, everything = served.release.window, RegionRequest()
    steps = 0, window.steps
    yield FactsQuery(served)
    yield TotalQuery(served, everything, steps)
    yield SliceQuery(served, steps)
    every = steps_per_point(window.steps, served.release.label.window.step_seconds)
    yield SeriesQuery(served, everything, steps, every)


def steps_per_point(steps: int, seconds: int) -> int:
    """Return how many steps the page sums into a point of its curve.

    >>> steps_per_point(720, 3600), steps_per_point(8760, 3600)
    (1, 24)
    """
    natural = (length // seconds for length in POINT_LENGTHS if length > seconds and length % seconds == 0)
    enough = (every for every in (1, *natural) if -(-steps // every) <= MAX_CURVE_POINTS)
    return next(enough, -(-steps // MAX_CURVE_POINTS))


def serve(
    releases: Mapping[str, Release], *, host: str, port: int, say: Callable[[str], None], browse: bool = False
) -> None:
    """Serve releases until Ctrl-C."""
    bound = _bind(host, port)
    address = _address(host, bound.getsockname()[1])
    names = [socket.gethostname(), socket.getfqdn()] if host in EVERYWHERE else [host]
    app = create_app(releases, names)
    config = uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=3,
    )
    count = f"{len(releases)} release" + ("s" if len(releases) > 1 else "")

    def announce() -> None:
        say(f"Serving {count} at {address} (Ctrl-C ends it)")
        Thread(target=warm_up, args=(app.state.executor, app.state.releases.values()), daemon=True).start()
        if browse:
            Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    with bound, suppress(KeyboardInterrupt):
        _AnnouncingServer(config, announce).run(sockets=[bound])


class _AnnouncingServer(uvicorn.Server):
    """A server that calls `announce` once it answers."""

    def __init__(self, config: uvicorn.Config, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then announce."""
        await super().startup(sockets)
        if self.started:
            self._announce()


def _bind(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        if error.errno == errno.EADDRINUSE:
            msg = f"port {port} is taken, perhaps by another gridveil serve: end that, or give --port 0 for a free one"
            raise UsageError(msg, code="port-taken") from error
        msg = f"{host} port {port} cannot be served at ({error.strerror}); give another --host or --port"
        raise UsageError(msg, code="port-refused") from error
    return bound


def _address(host: str, port: int) -> str:
    """Return where to point a browser.

    >>> _address("::1", 8000), _address("0.0.0.0", 80)
    ('http://[::1]:8000', 'http://127.0.0.1:80')
    """
    name = "127.0.0.1" if host in EVERYWHERE else host
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"
