"""The endpoints of the API: each reads its request, executes a query, and sends the encoded answer."""
# ruff: noqa: FAST003 - `find_release` takes the id of every address

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.responses import FileResponse
from pydantic import BaseModel

from gridveil.model.errors import InputError, UsageError
from gridveil.serve import answers, facts, requests, slices
from gridveil.serve.execution import QueryExecutor
from gridveil.serve.middleware import ERROR_RESPONSES, NotModifiedError, UnknownReleaseError
from gridveil.serve.releases import Downloads, ServedRelease, list_formats, make_etag
from gridveil.serve.requests import JSON, RequestModel, describe_body, describe_parameters

MAX_PARAMETERS = 20
OCTETS = "application/octet-stream"
PLANES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "JSON, or planes of little-endian float32: value, standard_error, low, high",
        "content": {OCTETS: {"schema": {"type": "string", "format": "binary"}}},
    }
}
IN_BODY = "Answer the same with the question in the body, where polygons have room."

Endpoint = Callable[..., Response]
FormatName = Annotated[str, Path(alias="format", json_schema_extra=lambda schema: schema.update(enum=list_formats()))]

router = APIRouter(prefix="/api/releases", responses=ERROR_RESPONSES)


async def find_release(
    request: Request,
    release: Annotated[str, Path(alias="id", description="A release's id", examples=["town"], max_length=80)],
) -> ServedRelease:
    """Return the release of an address, if its files are still those that were opened."""
    served: ServedRelease | None = request.app.state.releases.get(release)
    if served is None:
        raise UnknownReleaseError
    names = [name for name, _ in request.query_params.multi_items()]
    if len(names) > len(set(names)):
        msg = f"{next(name for name in names if names.count(name) > 1)[:60]} is given more than once; give it once"
        raise UsageError(msg, code="parameter-twice")
    if len(names) > MAX_PARAMETERS:
        msg = f"{len(names)} parameters are more than any question has; /api/openapi.json says what there is"
        raise UsageError(msg, code="too-many-parameters")
    if not served.unchanged:
        msg = f"{served.release.path.parent}: changed or removed while it was served; start gridveil serve again"
        raise InputError(msg, code="release-changed")
    return served


@dataclass(frozen=True)
class Call:
    """A request to a release, as it was sent: a body, or the parameters of an address."""

    served: ServedRelease
    executor: QueryExecutor
    parameters: Mapping[str, str]
    body: bytes | None

    def read(self, model: type[RequestModel]) -> RequestModel:
        """Return what is asked for. Called in a thread: a large body takes long to parse."""
        if self.body is None:
            return requests.read_parameters(model, self.parameters)
        with self.executor.parsing_slot(self.body):
            return requests.read_body(model, self.body)


async def receive_call(request: Request, served: Annotated[ServedRelease, Depends(find_release)]) -> Call:
    """Return a request to a release, unless the client has this answer already."""
    body = None
    if request.method == "GET":
        check_etag(request, make_etag(served.fingerprint, request.url.path, request.url.query))
    else:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
            msg = f"The body is not said to be JSON: send the header Content-Type: {JSON}."
            raise UsageError(msg, code="body-not-json-type")
        body = await request.body()
    return Call(served, request.app.state.executor, request.query_params, body)


def check_etag(request: Request, etag: str) -> None:
    """Set the tag of the answer, and stop if the client has it."""
    request.state.etag = etag
    known = (one.strip().removeprefix("W/") for one in request.headers.get("if-none-match", "").split(","))
    if etag.removeprefix("W/") in known:
        raise NotModifiedError


Received = Annotated[Call, Depends(receive_call)]


def send_json(body: bytes) -> Response:
    """Return an encoded answer."""
    return Response(body, media_type=JSON)


def send_planes(body: bytes, *shape: int) -> Response:
    """Return an answer as planes of numbers."""
    headers = {"X-Gridveil-Shape": ",".join(map(str, shape)), "X-Gridveil-Planes": ",".join(answers.PARTS)}
    return Response(body, headers=headers, media_type=OCTETS)


def region_route(
    path: str, summary: str, request: type[BaseModel], response: type[BaseModel]
) -> Callable[[Endpoint], Endpoint]:
    """Register an endpoint for GET, with the request in the address, and for POST, with the request in the body."""

    def register(endpoint: Endpoint) -> Endpoint:
        router.get(path, summary=summary, response_model=response, openapi_extra=describe_parameters(request))(endpoint)
        router.post(
            path, summary=summary, response_model=response, openapi_extra=describe_body(request), description=IN_BODY
        )(endpoint)
        return endpoint

    return register


@router.get("", summary="All releases", response_model=facts.ReleaseListResponse)
async def list_releases(request: Request) -> Response:
    """List the releases that are served, with their size and privacy, and what they are together."""
    every = [served for served in request.app.state.releases.values() if served.unchanged]
    check_etag(request, make_etag(*(served.fingerprint for served in every)))
    response = send_json(facts.list_releases(every).encode())
    response.headers["Link"] = '</api/openapi.json>; rel="service-desc"'
    return response


@router.get("/{id}", summary="One release", response_model=facts.ReleaseResponse)
def describe_release(call: Received) -> Response:
    """Say everything about a release but its values: axes, units, privacy label, files."""
    return send_json(call.executor.run(facts.FactsQuery(call.served)))


@region_route("/{id}/query", "A region over a period", requests.QueryRequest, answers.QueryResponse)
def answer_query(call: Received) -> Response:
    """Sum a region over a period, with standard error and 95 % interval."""
    request = call.read(requests.QueryRequest)
    steps = request.steps(call.served.release.window)
    return send_json(call.executor.run(answers.TotalQuery(call.served, request, steps)))


@region_route("/{id}/series", "A region over time", requests.SeriesRequest, answers.SeriesResponse)
def answer_series(call: Received) -> Response:
    """Sum a region over each step, or over each run of `every` steps, with error bars."""
    request = call.read(requests.SeriesRequest)
    steps = request.steps(call.served.release.window)
    return send_json(call.executor.run(answers.SeriesQuery(call.served, request, steps, request.every)))


@region_route("/{id}/profile", "A typical day and week", requests.ProfileRequest, answers.ProfileResponse)
def answer_profile(call: Received) -> Response:
    """Average a region over the days and weeks of the window, by the clock on the wall of a time zone."""
    request = call.read(requests.ProfileRequest)
    return send_json(call.executor.run(answers.ProfileQuery(call.served, request, request.timezone)))


@router.post(
    "/{id}/query/batch",
    summary="Many ranges",
    response_model=answers.AnswersResponse,
    responses=PLANES,
    openapi_extra=describe_body(requests.BatchRequest),
)
def answer_batch(call: Received, encoding: Annotated[requests.Encoding, Query(alias="format")] = "json") -> Response:
    """Answer up to 100,000 ranges of cells and steps."""
    table = call.read(requests.BatchRequest).table()
    body = call.executor.run(answers.BatchQuery(call.served, table, encoding))
    return send_json(body) if encoding == "json" else send_planes(body, len(table))


@router.get(
    "/{id}/slice",
    summary="Every cell over a period",
    response_model=slices.SliceResponse,
    responses=PLANES,
    openapi_extra=describe_parameters(requests.SliceRequest),
)
def answer_slice(call: Received) -> Response:
    """Sum every cell over a period. Rows go from south to north, and cells in them from west to east."""
    request = call.read(requests.SliceRequest)
    steps, grid = request.steps(call.served.release.window), call.served.release.grid
    if request.format == "json":
        return send_json(call.executor.run(slices.SliceRowsQuery(call.served, steps, call.executor.cache)))
    return send_planes(call.executor.run(slices.SliceQuery(call.served, steps)), grid.ny, grid.nx)


@router.get(
    "/{id}/highest",
    summary="The highest cells",
    response_model=slices.HighestResponse,
    openapi_extra=describe_parameters(requests.HighestRequest),
)
def answer_highest(call: Received) -> Response:
    """Rank cells over a period, with the places that their 95 % intervals allow."""
    request = call.read(requests.HighestRequest)
    steps = request.steps(call.served.release.window)
    return send_json(call.executor.run(slices.HighestQuery(call.served, steps, request.count)))


@router.get("/{id}/download/{format}", summary="A file", response_class=FileResponse)
def send_download(
    served: Annotated[ServedRelease, Depends(find_release)], request: Request, form: FormatName
) -> FileResponse:
    """Send the release in a format. All but `netcdf` and `label` are made when first asked for."""
    downloads: Downloads = request.app.state.downloads
    file = downloads.get(served, form)
    etag = f'"{file.sha256}"'
    check_etag(request, etag)
    # The tag of a part is that of the whole, so that a client that was cut off goes on with the same file.
    # Files are not compressed, so that a part of one can be asked for. Starlette would accept the date of the file in
    # `If-Range`, and so reveal it. The guard removes both headers.
    headers = {"ETag": etag, "Content-Encoding": "identity", "Last-Modified": ""}
    return FileResponse(file.path, headers=headers, media_type=file.type, filename=file.name)
