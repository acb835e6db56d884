"""The addresses of the API. Nothing is computed here."""
# ruff: noqa: FAST003 - `served` takes the id of every address

from __future__ import annotations

import json
from contextlib import nullcontext
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.responses import FileResponse

from gridveil.serve import models, questions, regions
from gridveil.serve.cache import Cache
from gridveil.serve.downloads import Downloads, Format
from gridveil.serve.facts import brief, known_facts
from gridveil.serve.heavy import Heavy
from gridveil.serve.refusals import RESPONSES, NotModifiedError, UnknownReleaseError
from gridveil.serve.served import Served, tag
from gridveil.serve.zones import known_zone

JSON, OCTETS = "application/json", "application/octet-stream"
PLANES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "JSON, or planes of little-endian float32: value, standard_error, low, high",
        "content": {OCTETS: {"schema": {"type": "string", "format": "binary"}}},
    }
}

router = APIRouter(prefix="/api/releases", responses=RESPONSES)


async def served(
    request: Request,
    release: Annotated[str, Path(alias="id", description="A release's id", examples=["town"], max_length=80)],
) -> Served:
    """Return the release asked for, unless the asker has this answer already."""
    found: Served | None = request.app.state.served.get(release)
    if found is None:
        raise UnknownReleaseError
    if request.method == "GET":
        check_tag(request, found.etag(request.url.path, request.url.query))
    return found


def check_tag(request: Request, etag: str) -> None:
    """Note the tag of an answer, and stop if the asker has it."""
    request.state.etag = etag
    if etag in (known.strip() for known in request.headers.get("if-none-match", "").split(",")):
        raise NotModifiedError


async def heavy(request: Request) -> Heavy:
    """Return the room for large questions."""
    room: Heavy = request.app.state.heavy
    return room


Asked = Annotated[Served, Depends(served)]
Room = Annotated[Heavy, Depends(heavy)]


def told(content: Any) -> Response:  # noqa: ANN401 - whatever JSON can say
    """Return an answer as JSON."""
    return Response(json.dumps(content, allow_nan=False, separators=(",", ":")), media_type=JSON)


def octets(body: bytes, *shape: int) -> Response:
    """Return an answer as planes of numbers."""
    headers = {
        "X-Gridveil-Shape": ",".join(map(str, shape)),
        "X-Gridveil-Planes": ",".join(questions.PARTS),
    }
    return Response(body, headers=headers, media_type=OCTETS)


@router.get("", summary="All releases", response_model=models.Briefs)
async def releases(request: Request) -> Response:
    """List the releases that are served, with their size and privacy."""
    every: dict[str, Served] = request.app.state.served
    check_tag(request, tag(*(one.fingerprint for one in every.values())))
    response = told({"releases": [brief(one) for one in every.values()]})
    response.headers["Link"] = '</api/openapi.json>; rel="service-desc"'
    return response


@router.get("/{id}", summary="One release", response_model=models.FactsModel)
def release(asked: Asked, room: Room, request: Request) -> Response:
    """Say everything about a release but its values: axes, units, privacy label, files."""
    known: Cache = request.app.state.cache
    with room.turn():
        return Response(known_facts(asked, known), media_type=JSON)


@router.get("/{id}/slice", summary="Every cell over a period", response_model=models.SliceModel, responses=PLANES)
def slices(asked: Asked, room: Room, request: Request, what: Annotated[regions.AskedSlice, Query()]) -> Response:
    """Sum every cell over a period. Rows go from south to north, and cells in them from west to east."""
    first, last = what.steps(asked.release.window)
    known: Cache = request.app.state.cache
    with room.turn():
        if what.format == "json":
            return told(questions.rows(asked, first, last, known))
        return octets(questions.planes(asked, first, last, known), asked.release.grid.ny, asked.release.grid.nx)


@router.get("/{id}/series", summary="A region over time", response_model=models.SeriesModel)
def series(asked: Asked, room: Room, what: Annotated[regions.AskedSeries, Query()]) -> Response:
    """Sum a region over each step, or over each run of `every` steps, with error bars."""
    with room.turn():
        return told(questions.series(asked.release, what, what.every))


@router.post("/{id}/series", summary="A region over time", response_model=models.SeriesModel)
def series_given(asked: Asked, room: Room, what: regions.GivenSeries) -> Response:
    """Answer the same with the question in the body, where polygons have room."""
    with room.turn():
        return told(questions.series(asked.release, what, what.every))


@router.get("/{id}/query", summary="A region over a period", response_model=models.QueryModel)
def query(asked: Asked, room: Room, what: Annotated[regions.AskedRegion, Query()]) -> Response:
    """Sum a region over a period, with standard error and 95 % interval."""
    with nullcontext() if what.polygon is None else room.turn():
        return told(questions.query(asked, what))


@router.post("/{id}/query", summary="A region over a period", response_model=models.QueryModel)
def query_given(asked: Asked, room: Room, what: regions.GivenRegion) -> Response:
    """Answer the same with the question in the body, where polygons have room."""
    with nullcontext() if what.polygon is None else room.turn():
        return told(questions.query(asked, what))


@router.post("/{id}/query/batch", summary="Many ranges", response_model=models.AnswersModel, responses=PLANES)
def batch(
    asked: Asked, room: Room, what: regions.GivenRanges, form: Annotated[regions.Form, Query(alias="format")] = "json"
) -> Response:
    """Answer up to 100,000 ranges of cells and steps."""
    with room.turn():
        answers = questions.batch(asked.release, what.ranges)
    if form == "json":
        return told(dict(zip(questions.PARTS, answers.tolist(), strict=True)))
    return octets(answers.astype("<f4").tobytes(), answers.shape[1])


@router.get("/{id}/profile", summary="A typical day and week", response_model=models.ProfileModel)
def profile(asked: Asked, room: Room, what: Annotated[regions.AskedProfile, Query()]) -> Response:
    """Average a region over the days and weeks of the window, by the clock on the wall of a time zone."""
    with room.turn():
        return told(questions.profile(asked.release, what, known_zone(what.timezone)))


@router.post("/{id}/profile", summary="A typical day and week", response_model=models.ProfileModel)
def profile_given(asked: Asked, room: Room, what: regions.GivenProfile) -> Response:
    """Answer the same with the question in the body, where polygons have room."""
    with room.turn():
        return told(questions.profile(asked.release, what, known_zone(what.timezone)))


@router.get("/{id}/highest", summary="The highest cells", response_model=models.HighestModel)
def highest(asked: Asked, room: Room, what: Annotated[regions.AskedHighest, Query()]) -> Response:
    """Rank cells over a period, with the places that their 95 % intervals allow."""
    first, last = what.steps(asked.release.window)
    with room.turn():
        return told(questions.highest(asked.release, first, last, what.count))


@router.get("/{id}/download/{format}", summary="A file", response_class=FileResponse)
def download(asked: Asked, request: Request, form: Annotated[Format, Path(alias="format")]) -> FileResponse:
    """Hand out the release in a format. All but `netcdf` and `label` are made when first asked for."""
    shelf: Downloads = request.app.state.downloads
    file = shelf.get(asked, form)
    return FileResponse(file.path, media_type=file.type, filename=file.name)
