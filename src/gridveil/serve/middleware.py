"""What surrounds every endpoint: the guard of requests, the headers of responses, and errors as sentences."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gridveil.model.errors import GridveilError, InputError
from gridveil.serve.execution import BusyError, TooLongError
from gridveil.serve.requests import JSON, describe_fault

LOG = logging.getLogger("gridveil.serve")
MAX_BODY = 8 * 2**20
MAX_SENTENCE = 300  # characters: a sentence may repeat what was sent

HEADERS = {
    # Styles are set by scripts of the page, which this allows, but not by attributes of its text.
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}

WRONG_HOST = "This server is not known by that name; ask for it as localhost or by its number."
TOO_LARGE = f"The body is larger than {MAX_BODY // 2**20} MiB: ask in smaller pieces."
UNREADABLE = (
    "This release cannot be read any more: its files were changed, removed or damaged. "
    "Whoever runs the server can help."
)
FAILED = "The server failed to answer this. Details are in the server log."
BUSY = "The server is busy with other large questions; ask again in a few seconds."
TOO_LONG = "This took too long and was given up: ask in smaller pieces, or when the server is less busy."
NO_FILE = "The server cannot read or write a file that this needs. Details are in the server log."
UNKNOWN = "There is no release of this id; /api/releases lists those there are."
HTTP_SENTENCES = {
    404: "There is nothing at this address; /api/openapi.json says what there is.",
    405: "This address is only read, or only asked by POST: /api/openapi.json says which.",
}


class ErrorResponse(BaseModel):
    """Why a request was refused."""

    detail: str = Field(examples=["x range 3:1 is empty; x goes from 0 to 32, and the end is not included"])
    code: str = Field(description="Stable, unlike the sentence", examples=["range-outside"])


ERROR_RESPONSES: dict[int | str, dict[str, Any]] = {
    404: {"model": ErrorResponse, "description": "There is no release of this id"},
    413: {"model": ErrorResponse, "description": "The body is too large"},
    422: {"model": ErrorResponse, "description": "A mistake in the question, and what to do about it"},
    503: {"model": ErrorResponse, "description": "Too busy, or the release's file was changed or damaged"},
}


class UnknownReleaseError(Exception):
    """No release has this id."""


class NotModifiedError(Exception):
    """The client has the answer already."""


def add_error_handlers(app: FastAPI) -> None:
    """Answer every error with a sentence and a code, never with a traceback."""
    handlers: dict[type[Exception], Any] = {
        RequestValidationError: lambda error: _error(422, "request-invalid", describe_fault(error.errors())),
        GridveilError: _answer_gridveil_error,
        HTTPException: _answer_http_error,
        UnknownReleaseError: lambda _: _error(404, "release-unknown", UNKNOWN),
        NotModifiedError: lambda _: Response(status_code=304),
        BusyError: lambda _: _error(503, "server-busy", BUSY, {"Retry-After": "5"}),
        TooLongError: lambda _: _error(503, "took-too-long", TOO_LONG),
        ClientDisconnect: lambda _: _error(400, "body-ended-early", "The body ended early."),
        OSError: _answer_os_error,
        Exception: lambda _: _error(500, "server-failed", FAILED),
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, _make_async(handler))


def _make_async(handler: Any) -> Any:  # noqa: ANN401 - Starlette's handlers take any exception
    """Return a handler that is not sent to a thread."""

    async def handle(_: Request, error: Exception) -> Response:
        response: Response = handler(error)
        return response

    return handle


def _error(status: int, code: str, sentence: str, headers: dict[str, str] | None = None) -> Response:
    """Return an error. JSON in ASCII: a sentence may repeat any letters that were sent."""
    short = sentence if len(sentence) <= MAX_SENTENCE else f"{sentence[:MAX_SENTENCE]}..."
    return Response(json.dumps({"detail": short, "code": code}), status, headers, JSON)


def _answer_gridveil_error(error: GridveilError) -> Response:
    if isinstance(error, InputError):
        LOG.error("%s", error)  # it names the file, which only the operator may see
        return _error(503, "release-unreadable", UNREADABLE)
    return _error(422, error.code, str(error))


def _answer_os_error(error: OSError) -> Response:
    LOG.error("%s", error)
    return _error(503, "file-unreadable", NO_FILE)


def _answer_http_error(error: HTTPException) -> Response:
    status = error.status_code
    code = "body-too-large" if status == 413 else "address-wrong"  # noqa: PLR2004 - an HTTP status
    headers = dict(error.headers) if error.headers else None
    return _error(status, code, HTTP_SENTENCES.get(status, error.detail), headers)


class Guard:
    """Refuses foreign hosts and large bodies, answers HEAD as GET without its body, and adds the headers."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str] = ()) -> None:
        self._app = app
        self._hosts = {"localhost", *(host.lower() for host in hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope.setdefault("state", {})  # shared with the endpoint, so that a tag that it sets is seen here
        headers = Headers(scope=scope)
        head = scope["method"] == "HEAD"
        answer = _add_headers(scope, send, head=head)
        if not self._is_own_host(headers.get("host", "")):
            await _error(400, "host-wrong", WRONG_HOST)(scope, receive, answer)
        elif int(headers.get("content-length", "0")) > MAX_BODY:  # a number, or the server refused it before
            await _error(413, "body-too-large", TOO_LARGE, {"Connection": "close"})(scope, receive, answer)
        else:
            await self._app({**scope, "method": "GET"} if head else scope, _limit_body(receive), answer)

    def _is_own_host(self, host: str) -> bool:
        """Return whether a host is this server: a foreign page that calls itself by its own name does not get in."""
        name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
        if name.lower() in self._hosts:
            return True
        try:
            ip_address(name.removeprefix("[").removesuffix("]"))
        except ValueError:
            return False
        return True


def _limit_body(receive: Receive) -> Receive:
    """Return a body that is refused where it gets too long, whatever length it announced."""
    size = 0

    async def receive_counted() -> Message:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > MAX_BODY:
            raise HTTPException(413, TOO_LARGE)
        return message

    return receive_counted


def _add_headers(scope: Scope, send: Send, *, head: bool) -> Send:
    """Return a `send` that adds the headers of every response, and the tag that the endpoint set for this one."""

    async def send_with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            del headers["Last-Modified"]  # no times of files leave the server
            if headers.get("Content-Encoding") == "identity":  # only for the middleware that compresses
                del headers["Content-Encoding"]
            etag = scope.get("state", {}).get("etag")
            if etag is not None and message["status"] in {200, 206, 304}:
                headers["ETag"] = etag
        elif head and message["type"] == "http.response.body":
            message = {**message, "body": b""}
        await send(message)

    return send_with_headers
