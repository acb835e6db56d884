"""Starting the server: a port, a line on where it is, and perhaps a browser."""

from __future__ import annotations

import errno
import socket
import webbrowser
from collections.abc import Callable, Mapping
from contextlib import suppress
from threading import Thread

import uvicorn

from gridveil.model.errors import UsageError
from gridveil.release.query.open import Release
from gridveil.serve.app import create_app
from gridveil.serve.first import warm_up

EVERYWHERE = {"0.0.0.0", "::"}  # noqa: S104 - only recognised here


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

    def started() -> None:
        say(f"Serving {count} at {address} (Ctrl-C ends it)")
        Thread(target=warm_up, args=(app.state.desk, app.state.served.values()), daemon=True).start()
        if browse:
            Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    with bound, suppress(KeyboardInterrupt):
        _Server(config, started).run(sockets=[bound])


class _Server(uvicorn.Server):
    """A server that tells when it answers."""

    def __init__(self, config: uvicorn.Config, tell: Callable[[], None]) -> None:
        super().__init__(config)
        self._tell = tell

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then tell."""
        await super().startup(sockets)
        if self.started:
            self._tell()


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
