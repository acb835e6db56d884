"""What PostgreSQL is asked for: nothing is written, one snapshot is read, and no password or row is ever told."""

# ruff: noqa: S608  # statements of tests, with nothing of anyone's in them

from __future__ import annotations

import itertools
import sys
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import psycopg
import pytest
from tests.codes import has_code
from tests.trusted.conftest import WINDOW
from tests.trusted.engines.conftest import HOMES, SQUARE
from tests.work import wait_until

from gridveil.model.errors import GridveilError, InputError, MissingExtraError, UsageError
from gridveil.trusted.budget import Bound
from gridveil.trusted.engines.base.engine import EngineSettings
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable
from gridveil.trusted.engines.postgres.engine import PostgresEngine
from gridveil.trusted.engines.postgres.session import PostgresSession
from gridveil.trusted.source.ingest import ingest

READINGS = (
    "CREATE TABLE readings (household text, timestamp timestamp, kwh float8, name text);"
    "INSERT INTO readings VALUES ('a', '2013-02-04', 1, 'Ann'), ('b', '2013-02-04 01:00', 1, 'Bob');"
)
CUBE = {(0, 0, 0): 1000, (1, 1, 1): 1000}
SECRET = "s3" + "cret".lower()  # a traceback shows lines of this file
numbers = itertools.count()


@pytest.fixture
def role(empty: str) -> Callable[[str], str]:
    """Make the tables, and a role with the rights that statements give it; return its address."""

    def make(rights: str) -> str:
        name = f"reader{next(numbers)}"
        with psycopg.connect(empty, autocommit=True) as connection:
            database = connection.info.dbname
            connect = f"REVOKE ALL ON DATABASE {database} FROM PUBLIC; GRANT CONNECT ON DATABASE {database} TO {name};"
            rights = rights.replace("DB", database).replace("reader", name)
            connection.execute(f"CREATE ROLE {name} LOGIN; {connect} {HOMES} {READINGS} {rights}".encode())
        return empty.replace("postgres@", f"{name}@")

    return make


def settings(url: str) -> EngineSettings:
    return EngineSettings("postgres", database=url)


def run(url: str, readings: str = "readings") -> dict[tuple[int, ...], int]:
    source, _ = ingest(ReadingsTable(readings), HouseholdsTable("households"), SQUARE, WINDOW, settings(url))
    cube = source.bounded_cube(WINDOW, Bound(10**6, 10**9))
    source.engine.close()
    return {tuple(map(int, where)): int(cube[tuple(where)]) for where in zip(*cube.nonzero(), strict=True)}


SEES = "GRANT USAGE ON SCHEMA public TO reader; GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader;"
KEEPS = "GRANT TEMPORARY ON DATABASE DB TO reader;"


def test_engine_postgres_needs_no_more_than_select_and_temporary(role: Callable[[str], str]) -> None:
    assert run(role(SEES + KEEPS)) == CUBE


def test_engine_postgres_needs_only_the_columns_that_are_named(role: Callable[[str], str]) -> None:
    columns = "GRANT SELECT ON households TO reader; GRANT SELECT (household, timestamp, kwh) ON readings TO reader;"
    assert run(role("GRANT USAGE ON SCHEMA public TO reader;" + columns + KEEPS)) == CUBE


@pytest.mark.parametrize(
    ("rights", "told"),
    [
        (SEES, ("table-missing", "GRANT TEMPORARY ON DATABASE", "TO reader")),
        (
            "GRANT USAGE ON SCHEMA public TO reader;" + KEEPS,
            ("table-unreadable", "households: ", "GRANT SELECT ON public.households TO"),
        ),
        (
            SEES + "REVOKE SELECT ON readings FROM reader;" + KEEPS,
            ("table-unreadable", "readings: ", "GRANT SELECT ON public.readings TO"),
        ),
        (
            SEES + "REVOKE SELECT ON readings FROM reader; GRANT SELECT (household) ON readings TO reader;" + KEEPS,
            ("column-missing",),
        ),
        (KEEPS, ("table-unreadable", "households: ", "no such table")),
    ],
)
def test_engine_postgres_says_which_right_is_missing(
    role: Callable[[str], str], rights: str, told: tuple[str, ...]
) -> None:
    with pytest.raises(InputError, check=has_code(*told)):
        run(role(rights))


def test_engine_postgres_never_writes_though_it_could(empty: str) -> None:
    """A view of the publisher's that notes who reads it: the server refuses, and nothing is noted."""
    notes = (
        "CREATE TABLE notes (who text); CREATE FUNCTION note() RETURNS bool LANGUAGE sql AS "
        "'INSERT INTO public.notes VALUES (current_user) RETURNING true';"
    )
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute((HOMES + READINGS + notes).encode())
        connection.execute("CREATE VIEW noted AS SELECT * FROM readings WHERE note()")
        with pytest.raises(InputError, check=has_code("table-unreadable", "noted", "writes")):
            run(empty, "noted")
        assert connection.execute("SELECT FROM notes").fetchall() == []
        assert len(connection.execute("SELECT FROM noted").fetchall()) == 2  # which works elsewhere


def test_engine_postgres_leaves_nothing_behind(empty: str) -> None:
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute((HOMES + READINGS).encode())
        everything = "SELECT oid, relname FROM pg_class ORDER BY oid"
        before = connection.execute(everything).fetchall()
        assert run(empty) == CUBE
        assert connection.execute(everything).fetchall() == before
        ours = "SELECT FROM pg_stat_activity WHERE application_name = 'gridveil' AND datname = current_database()"
        # The server notices a little later that a session has ended.
        wait_until(lambda: not connection.execute(ours).fetchall(), seconds=10)
        assert connection.execute(ours).fetchall() == []


def test_engine_postgres_reads_one_snapshot(empty: str) -> None:
    """What others commit after households were read is not seen: neither more readings nor fewer."""
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute((HOMES + READINGS).encode())
        engine = PostgresEngine(settings(empty))
        homes = engine.open("households", HouseholdsTable("households"))
        assert rows(engine, homes.table) == 2
        connection.execute(
            "INSERT INTO readings SELECT r.* FROM readings r, generate_series(1, 3);"
            "DELETE FROM readings WHERE name = 'Bob'"
        )
        readings = engine.open("readings", ReadingsTable("readings"))
        assert rows(engine, readings.table) == 2
        assert rows(engine, engine.keep("kept", readings.table.select("kwh"))) == 2
        engine.close()


def rows(engine: PostgresEngine, table: Any) -> int:
    return int(next(engine.fetch_batches(table.agg(rows=table.count())))["rows"][0].as_py())


def test_engine_postgres_answers_come_in_batches(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gridveil.trusted.engines.postgres.engine.BATCH", 10)
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute("CREATE TABLE readings AS SELECT i AS kwh FROM generate_series(1, 25) i")
    engine = PostgresEngine(settings(empty))
    opened = engine.open("readings", ReadingsTable("readings"))
    assert [len(batch) for batch in engine.fetch_batches(opened.table)] == [10, 10, 5]
    assert next(engine.fetch_batches(opened.table)).num_rows == 10  # an answer that is not read to its end
    assert rows(engine, engine.keep("kept", opened.table)) == 25
    engine.close()


def complaint(work: Callable[[], Any]) -> str:
    """Return all that an error shows: its words, its traceback, and those of what it came from."""
    with pytest.raises(GridveilError) as error:
        work()
    return "".join(traceback.format_exception(error.value)) + str(error.value) + repr(error.value)


def test_engine_postgres_never_tells_a_password(empty: str) -> None:
    places = ("nosuchhost.invalid", "127.0.0.1:1")
    for url in (f"postgresql://me:{SECRET}%40word@{place}/town" for place in places):
        told = complaint(lambda: PostgresEngine(settings(url)))  # noqa: B023  # called at once
        assert "the database cannot be reached" in told
        assert SECRET not in told
        assert SECRET not in repr(settings(url))
    for url in (
        "postgresql://me:s3cret@word@host/town",
        "host=x password=s3cret x",
        "postgresql://h/postgresql://me:s3cret@h/d",
    ):
        told = complaint(lambda: PostgresEngine(settings(url)))  # noqa: B023  # called at once
        assert "is not one of PostgreSQL" in told
        assert SECRET not in told
    engine = PostgresEngine(settings(empty.replace("postgres@", f"postgres:{SECRET}%40word@")))
    assert SECRET not in f"{engine!r} {engine._session!r} {engine._session._address} {engine._session._address!r}"
    assert SECRET not in complaint(lambda: _refused(engine))
    engine.close()


def _refused(engine: PostgresEngine) -> None:
    with engine.translate_errors("readings"):
        engine.open("readings", ReadingsTable("nowhere.readings"))


def test_engine_postgres_never_tells_a_row(empty: str) -> None:
    """PostgreSQL's own words would be: invalid input syntax for type integer: "Ann"."""
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute((HOMES + READINGS).encode())
        connection.execute("CREATE VIEW broken AS SELECT household, timestamp, name::int AS kwh FROM readings")
        with pytest.raises(psycopg.Error, match="Ann"):
            connection.execute("SELECT * FROM broken")
    told = complaint(lambda: run(empty, "broken"))
    assert "InvalidTextRepresentation, code 22P02; its words may hold rows" in told
    assert "Ann" not in told


@pytest.mark.parametrize(
    "name", ["nowhere", "no.where", "lake/2013-*.parquet", "a.b.c.d", '"', "readings; SELECT 1", "readings_pkey"]
)
def test_engine_postgres_says_that_there_is_no_such_table(empty: str, name: str) -> None:
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute((HOMES + "CREATE TABLE readings (household text PRIMARY KEY)").encode())
    with pytest.raises(InputError, check=has_code("table-unreadable", "no such table")):
        run(empty, name)


def test_engine_postgres_names_tables_as_psql_does(empty: str) -> None:
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute(
            (HOMES + READINGS + 'CREATE SCHEMA "My ""Lake"; ALTER TABLE readings SET SCHEMA "My ""Lake"').encode()
        )
        connection.execute('ALTER TABLE "My ""Lake".readings RENAME TO "Read.ings"')
        connection.execute('ALTER TABLE "My ""Lake"."Read.ings" RENAME name TO "a ""%%s {0}"')
    assert run(empty, '"My ""Lake"."Read.ings"') == CUBE
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute('CREATE SCHEMA lake; ALTER TABLE "My ""Lake"."Read.ings" SET SCHEMA lake')
    assert run(f"{empty}&options=-c%20search_path%3Dlake%2Cpublic", '"Read.ings"') == CUBE
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute('SET client_min_messages = warning; DROP SCHEMA "My ""Lake", lake CASCADE')


def test_engine_postgres_functions_of_others_have_no_say(empty: str) -> None:
    """A function of the same name, earlier on the role's path, would be taken for PostgreSQL's own."""
    other = "CREATE FUNCTION public.floor(float8) RETURNS float8 LANGUAGE sql AS 'SELECT 0.0::float8';"
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute((HOMES + READINGS + other).encode())
    assert run(f"{empty}&options=-c%20search_path%3Dpublic%2Cpg_catalog") == CUBE


def test_engine_postgres_session_outlasts_a_long_mechanism(empty: str) -> None:
    limits = "statement_timeout", "idle_in_transaction_session_timeout", "transaction_timeout"
    engine = PostgresEngine(settings(empty + "&options=" + "".join(f"-c%20{limit}%3D60s%20" for limit in limits)))
    for limit in limits:
        assert engine._session.run(f"SHOW {limit}".encode()).fetchone() == ("0",)
    engine.close()


def test_engine_postgres_without_its_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, check=has_code("extra-missing", "gridveil[postgres]")):
        PostgresEngine(settings("postgresql://host/town"))
    with pytest.raises(UsageError, check=has_code("engine-needs-setting", "--database")):
        EngineSettings("postgres")


def test_engine_postgres_on_older_servers(empty: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "CREATE TABLE texts AS SELECT household, timestamp::text, kwh FROM readings"
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute((HOMES + READINGS + text).encode())
    monkeypatch.setattr(PostgresSession, "version", 150_004)
    assert run(empty) == CUBE
    with pytest.raises(InputError, check=has_code("table-unreadable", "texts", "PostgreSQL 16")):
        run(empty, "texts")
    monkeypatch.setattr(PostgresSession, "version", 140_011)
    with pytest.raises(InputError, check=has_code("table-missing", "version 14", "15")):
        run(empty)


def test_engine_postgres_reads_one_encoding_only(new_postgres: Callable[[], str]) -> None:
    """In others, whether text can be shown may depend on the text."""
    url = new_postgres()
    with psycopg.connect(url, autocommit=True) as connection:
        town = connection.info.dbname
        name = f"{town}_ascii"
        connection.execute(f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0".encode())
    with pytest.raises(InputError, check=has_code("table-missing", "SQL_ASCII")):
        PostgresEngine(settings(url.replace(f"/{town}?", f"/{name}?")))


def test_engine_postgres_says_that_the_server_went_away(empty: str) -> None:
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute(READINGS.encode())
        engine = PostgresEngine(settings(empty))
        connection.execute("SELECT pg_terminate_backend(%s)", (engine._session.connection.info.backend_pid,))
        told = complaint(lambda: _opened(engine))
        assert "terminating connection" in told or "connection to the server was lost" in told
        engine.close()


def _opened(engine: PostgresEngine) -> None:
    with engine.translate_errors("readings"):
        engine.open("readings", ReadingsTable("readings"))


def test_a_connection_that_is_lost_while_the_kernel_asks_is_told(empty: str) -> None:
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute(f"{HOMES} {READINGS}".encode())
        source, _ = ingest(ReadingsTable("readings"), HouseholdsTable("households"), SQUARE, WINDOW, settings(empty))
        assert isinstance(source.engine, PostgresEngine)
        connection.execute("SELECT pg_terminate_backend(%s)", (source.engine._session.connection.info.backend_pid,))
    with pytest.raises(InputError, check=has_code("table-unreadable", "readings")):
        source.bounded_cube(WINDOW, Bound(10**6, 10**9))
    with pytest.raises(InputError, check=has_code("table-unreadable", "readings")):
        source.count_totals(WINDOW, 10**6, np.array([0, 1000]))
