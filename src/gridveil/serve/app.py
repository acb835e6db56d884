"""The server as an app: the API over some releases, and the page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager

from fastapi import FastAPI, HTTPException, Request, Response
from starlette.middleware.gzip import DEFAULT_EXCLUDED_CONTENT_TYPES, GZipMiddleware

import gridveil
from gridveil.release.query.open import Release
from gridveil.serve import refusals
from gridveil.serve.desk import Desk
from gridveil.serve.downloads import Downloads, file_kind, formats
from gridveil.serve.guard import Guard
from gridveil.serve.page import PageFile, read_page
from gridveil.serve.routes import OCTETS, check_tag, router
from gridveil.serve.served import Served, together

ABOUT = """Consumption of households over space and time, published under differential privacy.

Every number comes with a standard error and a 95 % interval. Ranges are half-open; cells are counted from 0 in the
south-west, steps from 0 at the start. Mistakes are answered with status 422 and a sentence in `detail`."""


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
    said = together(releases)
    app.state.served = {name: Served(name, release, said) for name, release in releases.items()}
    app.state.desk = Desk()
    app.state.downloads = Downloads()
    app.state.page = read_page()
    refusals.install(app)
    app.include_router(router)
    app.add_api_route("/", _page_file, include_in_schema=False)
    app.add_api_route("/favicon.ico", _icon, include_in_schema=False)
    app.add_api_route("/page/{name:path}", _page_file, include_in_schema=False)
    # Planes of numbers shrink by a third, which takes longer than all the rest of a large slice. Files are sent as they
    # are, compressed or not, so that a part of one can be asked for.
    as_they_are = (*DEFAULT_EXCLUDED_CONTENT_TYPES, *(file_kind(form).media_type for form in formats()), OCTETS)
    app.add_middleware(GZipMiddleware, minimum_size=1000, compresslevel=1, exclude_content_types=as_they_are)
    app.add_middleware(Guard, hosts=hosts)
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Leave no files behind."""
    yield
    app.state.downloads.close()


async def _page_file(request: Request, name: str = "index.html") -> Response:
    """Return a file of the page, from memory."""
    files: dict[str, PageFile] = request.app.state.page
    if name not in files:
        raise HTTPException(refusals.MISSING)
    check_tag(request, files[name].etag)
    return Response(files[name].body, media_type=files[name].type)


async def _icon(request: Request) -> Response:
    """Return the icon to browsers that ask for it where it has always been."""
    return await _page_file(request, "icon.svg")
