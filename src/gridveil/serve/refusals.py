"""Mistakes and failures, told in a sentence and never with a traceback."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from gridveil.model.errors import GridveilError, InputError
from gridveil.serve.models import Refusal

LOG = logging.getLogger("gridveil.serve")
LONGEST = 300  # letters of a sentence, which may repeat what was asked
UNREADABLE = (
    "This release cannot be read any more: its files were changed, removed or damaged. "
    "Whoever runs the server can help."
)
FAILED = "The server failed to answer this. Details are in the server log."
BUSY = "The server is busy with other large questions; ask again in a few seconds."
TOO_LONG = "This took too long and was given up: ask in smaller pieces, or when the server is less busy."
NO_FILE = "The server cannot read or write a file that this needs. Details are in the server log."
UNKNOWN = "There is no release of this id; /api/releases lists those there are."

BAD, MISSING, NOT_SO, LARGE, UNPROCESSABLE, FAULT, OVERLOADED = 400, 404, 405, 413, 422, 500, 503
KNOWN = {
    MISSING: "There is nothing at this address; /api/openapi.json says what there is.",
    NOT_SO: "This address is only read, or only asked by POST: /api/openapi.json says which.",
}

EXAMPLES = {
    "x": '"x": [0, 10]',
    "y": '"y": [0, 10]',
    "bbox": '"bbox": [west, south, east, north]',
    "polygon": '"polygon": {"type": "Polygon", "coordinates": [[[0, 0], [2, 0], [0, 2], [0, 0]]]}',
    "time": '"time": [0, 24] or "time": ["2013-02-04T00:00", "2013-02-05T00:00"]',
    "ranges": '"ranges": [[x0, x1, y0, y1, t0, t1]]',
}

RESPONSES: dict[int | str, dict[str, Any]] = {
    MISSING: {"model": Refusal, "description": "There is no release of this id"},
    LARGE: {"model": Refusal, "description": "The body is too large"},
    UNPROCESSABLE: {"model": Refusal, "description": "A mistake in the question, and what to do about it"},
    OVERLOADED: {"model": Refusal, "description": "Too busy, or the release's file was changed or damaged"},
}


class UnknownReleaseError(Exception):
    """No release has this id."""


class NotModifiedError(Exception):
    """The asker has the answer already."""


class BusyError(Exception):
    """Too many large questions at once."""


class TooLongError(Exception):
    """A question took too long to answer."""


def refusal(status: int, code: str, sentence: str, **headers: str) -> Response:
    """Return a refusal. JSON in ASCII: a sentence may repeat any letters that were sent."""
    short = sentence if len(sentence) <= LONGEST else f"{sentence[:LONGEST]}..."
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(json.dumps({"detail": short, "code": code}), status, names, "application/json")


def install(app: FastAPI) -> None:
    """Teach an app to refuse in sentences."""
    handlers: dict[type[Exception], Any] = {
        RequestValidationError: lambda _, error: refusal(UNPROCESSABLE, "request-invalid", sentence(error.errors())),
        GridveilError: _gridveil,
        HTTPException: _http,
        UnknownReleaseError: lambda _, __: refusal(MISSING, "release-unknown", UNKNOWN),
        NotModifiedError: lambda _, __: Response(status_code=304),
        BusyError: lambda _, __: refusal(OVERLOADED, "server-busy", BUSY, Retry_After="5"),
        TooLongError: lambda _, __: refusal(OVERLOADED, "took-too-long", TOO_LONG),
        ClientDisconnect: lambda _, __: refusal(BAD, "body-ended-early", "The body ended early."),
        OSError: _os,
        Exception: lambda _, __: refusal(FAULT, "server-failed", FAILED),
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, _async(handler))


def _async(handler: Any) -> Any:  # noqa: ANN401 - Starlette's handlers take any exception
    """Return a handler that is not sent to a thread."""

    async def handle(request: Request, error: Exception) -> Response:
        response: Response = handler(request, error)
        return response

    return handle


def _gridveil(_: Request, error: GridveilError) -> Response:
    if isinstance(error, InputError):
        LOG.error("%s", error)  # it names the file, which is nobody else's business
        return refusal(OVERLOADED, "release-unreadable", UNREADABLE)
    return refusal(UNPROCESSABLE, error.code, str(error))


def _os(_: Request, error: OSError) -> Response:
    LOG.error("%s", error)
    return refusal(OVERLOADED, "file-unreadable", NO_FILE)


def _http(_: Request, error: HTTPException) -> Response:
    """Say in our words what FastAPI refuses."""
    headers = {name.replace("-", "_"): value for name, value in (error.headers or {}).items()}
    code = "body-too-large" if error.status_code == LARGE else "address-wrong"
    return refusal(error.status_code, code, KNOWN.get(error.status_code, error.detail), **headers)


def sentence(faults: Sequence[Any]) -> str:
    """Return what is wrong with a request, from the first fault that was found.

    >>> sentence([{"loc": ("query", "count"), "msg": "Input should be a valid integer", "type": "int_parsing"}])
    'count: input should be a valid integer.'
    >>> sentence([{"loc": ("query", "tme"), "msg": "Extra inputs are not permitted", "type": "extra_forbidden"}])
    'tme: there is no such parameter.'
    >>> sentence([{"loc": ("body", "x", 1), "msg": "Field required", "type": "missing"}])
    'x.1: field required; write e.g. "x": [0, 10].'
    """
    fault = faults[0]
    origin, *names = fault["loc"]
    # Behind a name come places in a list, and the names of types that nobody gave.
    where = ".".join(str(name) for i, name in enumerate(names) if i == 0 or isinstance(name, int))[:60]
    said = "there is no such parameter" if fault["type"] == "extra_forbidden" else str(fault["msg"])
    example = EXAMPLES.get(names[0]) if origin == "body" and names else None
    way_out = "" if example is None else f"; write e.g. {example}"
    return f"{where or 'The body'}: {said[:1].lower()}{said[1:]}{way_out}."
