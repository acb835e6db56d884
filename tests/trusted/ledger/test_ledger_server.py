"""Bad days of a ledger on a server, and passwords that are never told."""

import traceback
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.codes import has_code
from tests.trusted.ledger.books import DAY, TOWN, spend

from gridveil.model.errors import GridveilError, InputError, UsageError
from gridveil.trusted.ledger.book import Ledger, create_ledger, open_ledger
from gridveil.trusted.ledger.stores import postgres as store

PASSWORD = "hunter2"  # noqa: S105  # nobody's


def everything_told(error: BaseException) -> str:
    """What an error says, and every program that looks at it; psycopg's own errors hold the password."""
    assert error.__cause__ is None
    assert error.__context__ is None
    return "".join(traceback.format_exception(error)) + repr(error) + str(error)


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://me:{PASSWORD}@127.0.0.1:1/db",
        f"postgresql://me:{PASSWORD}@127.0.0.1:1/db?connect_timeout=x",
        f"postgresql://127.0.0.1:1/db?user=me&password={PASSWORD}",
        f"postgresql://127.0.0.1:1/db?user=me&sslpassword={PASSWORD}&sslmode=disable",
        f"postgresql://me:{PASSWORD}%zz@127.0.0.1/db",
        f"postgresql://me:@{PASSWORD}@127.0.0.1:1/db",
        f"postgresql://me:/{PASSWORD}@127.0.0.1:1/db",
        f"postgresql://me:x/{PASSWORD}@127.0.0.1:1/db",
        f"postgresql://me:{PASSWORD}/x@127.0.0.1:1/db",
        f"postgresql://me:{PASSWORD}@127.0.0.1:x/db",
        f"postgresql://me:{PASSWORD}@127.0.0.1:1/db?{PASSWORD}={PASSWORD}",
        f"postgres://me:{PASSWORD}@nowhere.invalid/db",
        f"postgresql://me:{PASSWORD}@[::1/db",
        f"postgresql://127.0.0.1:1/user=me%20password={PASSWORD}",
        f"postgresql:///x?host=127.0.0.1&port=1&dbname=postgresql://me:{PASSWORD}%2540host/db",
        f"postgresql://password={PASSWORD}/db",
        f"POSTGRESQL://me:{PASSWORD}@127.0.0.1:1/db",
        f"postgresql:/me:{PASSWORD}@127.0.0.1:1/db",
        f"postgresql:me:{PASSWORD}@127.0.0.1:1/db",
        f"postgresql//me:{PASSWORD}@127.0.0.1:1/db",
        f" postgres:/me:{PASSWORD}@127.0.0.1:1/db",
        f"host=127.0.0.1 port=1 password={PASSWORD}",
        f"dbname={PASSWORD}",
        f"sslPassword = '{PASSWORD}'",
    ],
)
def test_no_error_tells_a_password(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for use in (open_ledger, create_ledger):
        with pytest.raises((InputError, UsageError)) as refused:
            use(url)
        assert PASSWORD not in everything_told(refused.value)
    assert not list(tmp_path.iterdir())  # none is taken for the name of a file


def test_a_server_that_cannot_be_reached_is_named() -> None:
    with pytest.raises(InputError, check=has_code("ledger-unreachable", "postgresql://127.0.0.1:1/db")):
        open_ledger("postgresql://me@127.0.0.1:1/db")


def test_a_ledger_and_its_errors_tell_no_password(postgres: str) -> None:
    url = postgres.replace("postgres@", f"postgres:{PASSWORD}@")
    assert url != postgres
    with pytest.raises(InputError, check=has_code("ledger-missing")) as none:
        open_ledger(url)
    ledger = create_ledger(url)
    ledger.add_population(TOWN)
    debit = spend(ledger, "0.5")
    with psycopg.connect(postgres) as connection:
        connection.execute("DROP TABLE gridveil_ledger.heads")
    with pytest.raises(GridveilError, check=has_code("ledger-refused")) as refused:
        spend(ledger, "0.5")
    told = "".join(map(everything_told, (none.value, refused.value)))
    assert PASSWORD not in told + ledger.where + repr(ledger) + repr(ledger._store) + repr(debit) + str(debit.entry)


def test_a_schema_of_someone_else_is_left_alone(postgres: str) -> None:
    with psycopg.connect(postgres) as connection:
        connection.execute("CREATE SCHEMA gridveil_ledger; CREATE TABLE gridveil_ledger.entries (x int)")
    for use in (open_ledger, create_ledger):
        with pytest.raises(InputError, check=has_code("ledger-schema")):
            use(postgres)


def test_functions_of_others_have_no_say(postgres: str) -> None:
    """Who may write to `public` cannot shadow what the ledger asks of the server."""
    ledger = create_ledger(postgres)
    ledger.add_population(TOWN)
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(
            "CREATE SCHEMA evil; CREATE FUNCTION evil.current_setting(text) RETURNS text LANGUAGE sql "
            "AS $$ SELECT 'off' $$; CREATE TABLE evil.pg_trigger (tgname text)"
        )
        connection.execute(f"ALTER DATABASE {connection.info.dbname} SET search_path = evil, pg_catalog".encode())
        try:
            spend(ledger, "0.5")
            assert ledger.verify() == []
        finally:
            connection.execute(f"ALTER DATABASE {connection.info.dbname} RESET search_path".encode())
            connection.execute("DROP SCHEMA evil CASCADE")


def test_a_ledger_kept_by_another_process_debits_nothing(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "PATIENCE", "50ms")
    ledger = create_ledger(postgres)
    ledger.add_population(TOWN)
    with psycopg.connect(postgres) as other:
        other.execute("LOCK TABLE gridveil_ledger.heads IN EXCLUSIVE MODE")
        with pytest.raises(GridveilError, check=has_code("ledger-refused", "50ms")):
            spend(ledger, "0.5")
        assert ledger.standing("town").spent == 0
    spend(ledger, "0.5")


def test_a_server_that_answers_only_reads_debits_nothing(postgres: str) -> None:
    create_ledger(postgres).add_population(TOWN)
    with psycopg.connect(postgres) as connection:
        connection.execute(
            "DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN; GRANT USAGE ON SCHEMA gridveil_ledger TO reader; "
            "GRANT SELECT ON ALL TABLES IN SCHEMA gridveil_ledger TO reader"
        )
    ledger = open_ledger(postgres.replace("postgres@", "reader@"))
    assert ledger.verify() == []
    with pytest.raises(GridveilError, check=has_code("ledger-refused", "permission denied")):
        spend(ledger, "0.5")


def test_a_publisher_needs_no_more_than_is_said(postgres: str) -> None:
    create_ledger(postgres).add_population(TOWN)
    with psycopg.connect(postgres) as connection:
        connection.execute(
            "DROP ROLE IF EXISTS publisher; CREATE ROLE publisher LOGIN; GRANT USAGE ON SCHEMA gridveil_ledger TO "
            "publisher; GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA gridveil_ledger TO publisher; "
            "GRANT UPDATE ON gridveil_ledger.heads TO publisher"
        )
    ledger = open_ledger(postgres.replace("postgres@", "publisher@"))
    spend(ledger, "0.5")
    assert ledger.verify() == []


class Broken:
    """A connection that does something else at its COMMIT."""

    def __init__(self, real: Any, at_commit: Callable[[Any], Any]) -> None:
        self._real, self._at_commit = real, at_commit

    def execute(self, sql: str, *values: Any) -> Any:
        return self._at_commit(self._real) if sql == "COMMIT" else self._real.execute(sql, *values)

    def close(self) -> None:
        self._real.close()


def refusal(ledger: Ledger, monkeypatch: pytest.MonkeyPatch, at_commit: Callable[[Any], Any]) -> str:
    debit, real = ledger.permit(None, Fraction(1, 2), [DAY], {}), psycopg.connect
    with monkeypatch.context() as patch:
        patch.setattr(psycopg, "connect", lambda **address: Broken(real(**address), at_commit))
        with pytest.raises(GridveilError) as refused:
            debit.use()
    assert debit.entry is None
    return str(refused.value)


def test_a_connection_lost_in_the_commit_counts_as_spent(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = create_ledger(postgres)
    ledger.add_population(TOWN)

    def lost(connection: Any) -> None:
        connection.execute("COMMIT")
        raise psycopg.OperationalError(PASSWORD)

    told = refusal(ledger, monkeypatch, lost)
    assert "is not known" in told
    assert "Take it as spent" in told
    assert PASSWORD not in told
    assert ledger.standing("town").spent == Fraction(1, 2)


def test_a_commit_that_the_server_turns_into_a_rollback_debits_nothing(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = create_ledger(postgres)
    ledger.add_population(TOWN)

    def failed(connection: Any) -> Any:
        with pytest.raises(psycopg.errors.DivisionByZero):
            connection.execute("SELECT 1 / 0")
        return connection.execute("COMMIT")

    assert "took the transaction back; nothing was debited" in refusal(ledger, monkeypatch, failed)
    assert ledger.standing("town").spent == 0


def test_a_commit_waits_for_the_disk(postgres: str) -> None:
    with psycopg.connect(postgres, autocommit=True) as connection:
        name = connection.info.dbname
        for setting, meant in (("off", "on"), ("local", "local"), ("remote_apply", "remote_apply")):
            connection.execute(f"ALTER DATABASE {name} SET synchronous_commit = {setting}".encode())
            ours = store.PostgresStore(postgres, make=True)
            shown = ours._transaction(store.WRITING, lambda here: here.execute("SHOW synchronous_commit").fetchone())
            assert shown == (meant,)
        connection.execute(f"ALTER DATABASE {name} RESET synchronous_commit".encode())


def test_a_password_in_the_servers_own_words_is_blotted_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def echo(**_: Any) -> None:
        msg = f"no entry for {PASSWORD}/x or {PASSWORD}%2Fx"
        raise psycopg.OperationalError(msg)

    monkeypatch.setattr(psycopg, "connect", echo)
    with pytest.raises(InputError, check=has_code("ledger-unreachable", "*** or ***")) as refused:
        open_ledger(f"postgresql://me:{PASSWORD}%2Fx@host/db")
    assert PASSWORD not in everything_told(refused.value)


def test_tables_that_do_not_outlast_a_crash_are_noticed(postgres: str) -> None:
    ledger = create_ledger(postgres)
    ledger.add_population(TOWN)
    with psycopg.connect(postgres) as connection:
        connection.execute("ALTER TABLE gridveil_ledger.entries SET UNLOGGED")
    (fault,) = ledger.verify()
    assert "the table entries is not kept through a crash" in fault


@pytest.mark.parametrize("table", ["entries", "heads"])
def test_a_table_that_is_gone_is_a_fault_and_no_failure(postgres: str, table: str) -> None:
    ledger = create_ledger(postgres)
    ledger.add_population(TOWN)
    with psycopg.connect(postgres) as connection:
        connection.execute(f"DROP TABLE gridveil_ledger.{table}".encode())
    assert f"the table {table} is gone" in ledger.verify()


def test_a_server_that_is_gone_is_a_fault_and_no_failure(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = create_ledger(postgres)

    def gone(**_: Any) -> None:
        raise psycopg.OperationalError

    monkeypatch.setattr(psycopg, "connect", gone)
    assert "cannot be reached" in ledger.verify()[0]
