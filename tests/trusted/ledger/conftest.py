"""Ledgers in both stores."""

from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from tests.trusted.ledger.postgres import server


@pytest.fixture(scope="session")
def new_postgres() -> Iterator[Callable[[], str]]:
    """A function that returns the URL of a new, empty database on a real server."""
    with server() as new:
        yield new


@pytest.fixture(scope="session")
def database(new_postgres: Callable[[], str]) -> str:
    """The URL of one database on it."""
    return new_postgres()


@pytest.fixture
def postgres(database: str) -> str:
    """The URL of a database without a ledger."""
    with psycopg.connect(database) as connection:  # a new database for each test would take ten times longer
        connection.execute("SET client_min_messages = warning; DROP SCHEMA IF EXISTS gridveil_ledger CASCADE")
    return database


@pytest.fixture
def sqlite(tmp_path: Path) -> str:
    """A path without a ledger."""
    return str(tmp_path / "ledger.db")


@pytest.fixture(params=["sqlite", "postgres"])
def where(request: pytest.FixtureRequest) -> str:
    """Where a ledger can be made, in each kind of store."""
    return str(request.getfixturevalue(request.param))
