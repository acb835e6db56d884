"""A real PostgreSQL for the tests of the engine."""

from collections.abc import Callable
from typing import Any

import numpy as np
import psycopg
import pytest
from tests.trusted.conftest import WINDOW
from tests.trusted.ledger.conftest import database, new_postgres

from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.trusted.budget import Bound
from gridveil.trusted.engines.base.engine import EngineSettings
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable
from gridveil.trusted.source.ingest import ingest
from gridveil.trusted.source.report import Report

__all__ = ["database", "new_postgres"]  # the ledger's fixtures are ours, too

SQUARE = Grid(0, 0, 2, 2, 2, 2)
HOMES = (
    "CREATE TABLE households (household text, x float8, y float8);"
    "INSERT INTO households VALUES ('a', 0.5, 0.5), ('b', 1.5, 1.5);"
)


@pytest.fixture
def empty(database: str) -> str:
    """The URL of a database whose schema `public` is empty."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(
            "SET client_min_messages = warning; SET lock_timeout = '10s';"  # a test that failed may hold on to it
            "DROP SCHEMA IF EXISTS public CASCADE; CREATE SCHEMA public"
        )
    return database


Ask = Callable[..., tuple[dict[tuple[int, ...], int], Report]]


@pytest.fixture
def ask_postgres(empty: str) -> Ask:
    """Run statements that make tables, and ingest `readings` and `households`: Wh by (x, y, step), and the report."""

    def run(
        statements: str,
        *,
        homes: str = HOMES,
        window: Window = WINDOW,
        grid: Grid = SQUARE,
        url: str = "",
        **options: Any,
    ) -> tuple[dict[tuple[int, ...], int], Report]:
        with psycopg.connect(empty, autocommit=True) as connection:
            connection.execute((homes + statements).encode())
        tables = ReadingsTable("readings", **options), HouseholdsTable("households")
        source, report = ingest(*tables, grid, window, EngineSettings("postgres", database=url or empty))
        cube = source.bounded_cube(window, Bound(10**6, 10**9))
        source.engine.close()
        return {tuple(int(i) for i in where): int(cube[tuple(where)]) for where in np.argwhere(cube)}, report

    return run
