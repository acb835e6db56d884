"""The addresses of the API. Nothing is computed here."""
# ruff: noqa: FAST003 - `served` takes the id of every address

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.responses import FileResponse

from gridveil.model.errors import UsageError
from gridveil.serve import models, questions, regions
from gridveil.serve.bodies import JSON, described, given
from gridveil.serve.desk import Desk, QueryTask
from gridveil.serve.downloads import Downloads, formats
from gridveil.serve.facts import all_facts, listed
from gridveil.serve.refusals import RESPONSES, NotModifiedError, UnknownReleaseError
from gridveil.serve.served import Served, tag
from gridveil.serve.zones import known_zone

OCTETS = "application/octet-stream"
PLANES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "JSON, or planes of little-endian float32: value, standard_error, low, high",
        "content": {OCTETS: {"schema": {"type": "string", "format": "binary"}}},
    }
}

MOST_PARAMETERS = 20

FormatName = Annotated[str, Path(alias="format", json_schema_extra=lambda schema: schema.update(enum=formats()))]

router = APIRouter(prefix="/api/releases", responses=RESPONSES)


async def served(
    request: Request,
    release: Annotated[str, Path(alias="id", description="A release's id", examples=["town"], max_length=80)],
) -> Served:
    """Return the release asked for, if its files are still those that were opened."""
    found: Served | None = request.app.state.served.get(release)
    if found is None:
        raise UnknownReleaseError
    names = [name for name, _ in request.query_params.multi_items()]
    if len(names) > len(set(names)):
        msg = f"{next(name for name in names if names.count(name) > 1)[:60]} is given more than once; give it once"
        raise UsageError(msg, code="parameter-twice")
    if len(names) > MOST_PARAMETERS:
        msg = f"{len(names)} parameters are more than any question has; /api/openapi.json says what there is"
        raise UsageError(msg, code="too-many-parameters")
    found.check()
    return found


async def asked_about(request: Request, found: Annotated[Served, Depends(served)]) -> Served:
    """Return the release asked for, unless the asker has this answer already."""
    if request.method == "GET":
        check_tag(request, found.etag(request.url.path, request.url.query))
    return found


def check_tag(request: Request, etag: str) -> None:
    """Note the tag of an answer, and stop if the asker has it."""
    request.state.etag = etag
    known = (one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(","))
    if etag.removeprefix("W/") in known:
        raise NotModifiedError


async def the_desk(request: Request) -> Desk:
    """Return where questions are answered."""
    desk: Desk = request.app.state.desk
    return desk


Found = Annotated[Served, Depends(served)]
Asked = Annotated[Served, Depends(asked_about)]
At = Annotated[Desk, Depends(the_desk)]


def told(desk: Desk, question: QueryTask) -> Response:
    """Return an answer as JSON."""
    return Response(desk.answer(question), media_type=JSON)


def octets(body: bytes, *shape: int) -> Response:
    """Return an answer as planes of numbers."""
    headers = {
        "X-Gridveil-Shape": ",".join(map(str, shape)),
        "X-Gridveil-Planes": ",".join(questions.PARTS),
    }
    return Response(body, headers=headers, media_type=OCTETS)


@router.get("", summary="All releases", response_model=models.Briefs)
async def releases(request: Request) -> Response:
    """List the releases that are served, with their size and privacy, and what they are together."""
    every = [one for one in request.app.state.served.values() if one.unchanged]
    check_tag(request, tag(*(one.fingerprint for one in every)))
    return Response(listed(every), headers={"Link": '</api/openapi.json>; rel="service-desc"'}, media_type=JSON)


@router.get("/{id}", summary="One release", response_model=models.ReleaseFactsModel)
def release(asked: Asked, desk: At) -> Response:
    """Say everything about a release but its values: axes, units, privacy label, files."""
    return told(desk, all_facts(asked))


@router.get("/{id}/slice", summary="Every cell over a period", response_model=models.SliceModel, responses=PLANES)
def slices(asked: Asked, desk: At, what: Annotated[regions.AskedSlice, Query()]) -> Response:
    """Sum every cell over a period. Rows go from south to north, and cells in them from west to east."""
    first, last = what.steps(asked.release.window)
    if what.format == "json":
        return told(desk, questions.rows(asked, first, last, desk.cache))
    grid = asked.release.grid
    return octets(desk.answer(questions.planes(asked, first, last)), grid.ny, grid.nx)


@router.get("/{id}/series", summary="A region over time", response_model=models.SeriesModel)
def series(asked: Asked, desk: At, what: Annotated[regions.AskedSeries, Query()]) -> Response:
    """Sum a region over each step, or over each run of `every` steps, with error bars."""
    return told(desk, questions.series(asked, what, what.every))


@router.post(
    "/{id}/series",
    summary="A region over time",
    response_model=models.SeriesModel,
    openapi_extra=described(regions.GivenSeries),
)
def series_given(
    asked: Asked, desk: At, what: Annotated[regions.GivenSeries, Depends(given(regions.GivenSeries))]
) -> Response:
    """Answer the same with the question in the body, where polygons have room."""
    return told(desk, questions.series(asked, what, what.every))


@router.get("/{id}/query", summary="A region over a period", response_model=models.QueryModel)
def query(asked: Asked, desk: At, what: Annotated[regions.AskedRegion, Query()]) -> Response:
    """Sum a region over a period, with standard error and 95 % interval."""
    return told(desk, questions.query(asked, what))


@router.post(
    "/{id}/query",
    summary="A region over a period",
    response_model=models.QueryModel,
    openapi_extra=described(regions.GivenRegion),
)
def query_given(
    asked: Asked, desk: At, what: Annotated[regions.GivenRegion, Depends(given(regions.GivenRegion))]
) -> Response:
    """Answer the same with the question in the body, where polygons have room."""
    return told(desk, questions.query(asked, what))


@router.post(
    "/{id}/query/batch",
    summary="Many ranges",
    response_model=models.AnswersModel,
    responses=PLANES,
    openapi_extra=described(regions.GivenRanges),
)
def batch(
    asked: Asked,
    desk: At,
    what: Annotated[regions.GivenRanges, Depends(given(regions.GivenRanges))],
    form: Annotated[regions.Form, Query(alias="format")] = "json",
) -> Response:
    """Answer up to 100,000 ranges of cells and steps."""
    table = what.table()
    question = questions.batch(asked, table, form)
    return told(desk, question) if form == "json" else octets(desk.answer(question), len(table))


@router.get("/{id}/profile", summary="A typical day and week", response_model=models.ProfileModel)
def profile(asked: Asked, desk: At, what: Annotated[regions.AskedProfile, Query()]) -> Response:
    """Average a region over the days and weeks of the window, by the clock on the wall of a time zone."""
    return told(desk, questions.profile(asked, what, known_zone(what.timezone)))


@router.post(
    "/{id}/profile",
    summary="A typical day and week",
    response_model=models.ProfileModel,
    openapi_extra=described(regions.GivenProfile),
)
def profile_given(
    asked: Asked, desk: At, what: Annotated[regions.GivenProfile, Depends(given(regions.GivenProfile))]
) -> Response:
    """Answer the same with the question in the body, where polygons have room."""
    return told(desk, questions.profile(asked, what, known_zone(what.timezone)))


@router.get("/{id}/highest", summary="The highest cells", response_model=models.HighestModel)
def highest(asked: Asked, desk: At, what: Annotated[regions.AskedHighest, Query()]) -> Response:
    """Rank cells over a period, with the places that their 95 % intervals allow."""
    first, last = what.steps(asked.release.window)
    return told(desk, questions.highest(asked, first, last, what.count))


@router.get("/{id}/download/{format}", summary="A file", response_class=FileResponse)
def download(found: Found, request: Request, form: FormatName) -> FileResponse:
    """Hand out the release in a format. All but `netcdf` and `label` are made when first asked for."""
    shelf: Downloads = request.app.state.downloads
    file = shelf.get(found, form)
    etag = f'"{file.sha256}"'
    check_tag(request, etag)
    # The tag of a part is that of the whole, so that whoever was cut off goes on with the same file.
    # Starlette would accept the date of the file in `If-Range`, and so reveal it. The guard removes the empty header.
    headers = {"ETag": etag, "Last-Modified": ""}
    return FileResponse(file.path, headers=headers, media_type=file.type, filename=file.name)
