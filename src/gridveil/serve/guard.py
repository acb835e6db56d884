"""What every request passes: whose host it asks for, how much it sends; and the headers of every answer."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address

from fastapi import HTTPException
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gridveil.serve.refusals import BAD, LARGE, refusal

MOST_BODY = 8 * 2**20
TOO_LARGE = f"The body is larger than {MOST_BODY // 2**20} MiB: ask in smaller pieces."
WRONG_HOST = "This server is not known by that name; ask for it as localhost or by its number."
HEADERS = {
    # Styles are set by scripts of the page, which this allows, but not by attributes of its text.
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data: blob:; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


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
        scope.setdefault("state", {})  # shared with what is handed on, so that a tag noted there is seen here
        headers = Headers(scope=scope)
        head = scope["method"] == "HEAD"
        telling = _telling(scope, send, head=head)
        if not self._ours(headers.get("host", "")):
            await refusal(BAD, "host-wrong", WRONG_HOST)(scope, receive, telling)
        elif int(headers.get("content-length", "0")) > MOST_BODY:  # a number, or the server refused it before
            await refusal(LARGE, "body-too-large", TOO_LARGE, Connection="close")(scope, receive, telling)
        else:
            asked = {**scope, "method": "GET"} if head else scope
            await self._app(asked, _counted(receive), telling)

    def _ours(self, host: str) -> bool:
        """Return whether a host is this server: a foreign page that calls itself by its own name does not get in."""
        name = host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host
        if name.lower() in self._hosts:
            return True
        try:
            ip_address(name.removeprefix("[").removesuffix("]"))
        except ValueError:
            return False
        return True


def _counted(receive: Receive) -> Receive:
    """Return a body that ends with a refusal where it gets too long, whatever length it announced."""
    seen = 0

    async def counting() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > MOST_BODY:
            raise HTTPException(LARGE, TOO_LARGE)
        return message

    return counting


def _telling(scope: Scope, send: Send, *, head: bool) -> Send:
    """Return a way to answer with the headers of every answer, and the tag that was found for this one."""

    async def tell(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            del headers["Last-Modified"]  # no times of files leave the server
            etag = scope.get("state", {}).get("etag")
            if etag is not None and message["status"] in {200, 206, 304}:
                headers["ETag"] = etag
        elif head and message["type"] == "http.response.body":
            message = {**message, "body": b""}
        await send(message)

    return tell
