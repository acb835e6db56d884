"""A ledger in a PostgreSQL database, for several publishers at once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any, TypeVar

from gridveil.model.errors import GridveilError, InputError
from gridveil.model.files import Address
from gridveil.trusted.ledger.chain import Chain, ChainLine
from gridveil.trusted.ledger.entry import Entry
from gridveil.trusted.ledger.stores.store import make_unsure_error

if TYPE_CHECKING:
    import psycopg

ABOUT = "gridveil ledger, version 1"
PATIENCE = "60s"
LOCK_NOT_AVAILABLE = "55P03"
WHAT = "a ledger in PostgreSQL"

READING = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# Each statement sees what was committed before it: those after the lock see all that was appended.
WRITING = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"

DURABLE = "SELECT set_config('synchronous_commit', 'on', true) WHERE current_setting('synchronous_commit') = 'off'"

SCHEMA = f"""
CREATE SCHEMA gridveil_ledger;
CREATE TABLE gridveil_ledger.entries (
    population text NOT NULL, number bigint NOT NULL, hash text NOT NULL UNIQUE, text text NOT NULL,
    PRIMARY KEY (population, number)
);
CREATE TABLE gridveil_ledger.heads (population text PRIMARY KEY, number bigint NOT NULL, hash text NOT NULL);
CREATE FUNCTION gridveil_ledger.refuse() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS
    $$ BEGIN RAISE EXCEPTION 'a ledger only grows'; END $$;
CREATE TRIGGER entries_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON gridveil_ledger.entries
    FOR EACH STATEMENT EXECUTE FUNCTION gridveil_ledger.refuse();
CREATE TRIGGER heads_remain BEFORE DELETE OR TRUNCATE ON gridveil_ledger.heads
    FOR EACH STATEMENT EXECUTE FUNCTION gridveil_ledger.refuse();
CREATE TRIGGER heads_advance BEFORE UPDATE ON gridveil_ledger.heads FOR EACH ROW
    WHEN (NEW.population <> OLD.population OR NEW.number <> OLD.number + 1)
    EXECUTE FUNCTION gridveil_ledger.refuse();
COMMENT ON SCHEMA gridveil_ledger IS '{ABOUT}';
"""
TRIGGERS = {"entries_stay", "heads_remain", "heads_advance"}
TABLES = {"entries", "heads"}
PERMANENT = "p"

T = TypeVar("T")


class PostgresStore:
    """Keeps chains in the schema `gridveil_ledger` of a database: one database has one ledger.

    Guarantee: as `Store` demands. The lock on `heads` lets one transaction in at a time, before it reads what it adds
    to, and a commit returns when the server has it on disk: `synchronous_commit` is raised where it is off. (A server
    that runs with `fsync` off, or with UNLOGGED tables, keeps no promise; `faults` tells. One that is replaced by a
    standby which had not yet received a commit has forgotten it, and nothing here can tell.)

    A publisher needs USAGE of the schema, SELECT and INSERT on both tables, and UPDATE on `heads`. No password of the
    address is ever told.
    """

    def __init__(self, url: str, *, make: bool) -> None:
        self._address = Address.of(url, WHAT)
        if make:
            self._make()
        self._check()

    @property
    def where(self) -> str:
        """The server and database, without user and password."""
        return str(self._address)

    def chains(self) -> dict[str, Chain]:
        """Return all chains as they are at one moment."""
        return self._transaction(READING, _read_chains)

    def append(self, population: str, make: Callable[[Chain], Entry]) -> Entry:
        """Add to a population's chain the entry that `make` makes of it."""

        def write(connection: psycopg.Connection) -> Entry:
            connection.execute("LOCK TABLE gridveil_ledger.heads IN EXCLUSIVE MODE")
            entry = make(_read_chain(connection, population))
            row = (population, entry.number, entry.hash)
            connection.execute("INSERT INTO gridveil_ledger.entries VALUES (%s, %s, %s, %s)", (*row, entry.text))
            if entry.number == 0:
                connection.execute("INSERT INTO gridveil_ledger.heads VALUES (%s, %s, %s)", row)
            else:
                connection.execute(
                    "UPDATE gridveil_ledger.heads SET number = %s, hash = %s WHERE population = %s",
                    (*row[1:], population),
                )
            self._commit(connection, entry)
            return entry

        return self._transaction(WRITING, write)

    def faults(self) -> list[str]:
        """Return what is missing of what makes the ledger only grow, and durable."""
        try:
            triggers, tables, fsync = self._transaction(READING, _read_durability)
        except GridveilError as error:
            return [str(error)]
        faults = [f"the table {name} is gone" for name in sorted(TABLES - tables.keys())]
        faults += [
            f"the table {name} is not kept through a crash of the server (UNLOGGED or temporary): debits may be lost"
            for name, persistence in sorted(tables.items())
            if name in TABLES and persistence != PERMANENT
        ]
        faults += [
            f"the trigger {name} is missing or off: entries could be changed" for name in sorted(TRIGGERS - triggers)
        ]
        return faults if fsync == "on" else [*faults, "the server runs with fsync off: a crash may lose debits"]

    def _make(self) -> None:
        def make(connection: psycopg.Connection) -> None:
            connection.execute("SELECT pg_advisory_xact_lock(hashtext('gridveil_ledger'))")  # others may be making it
            there = connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = 'gridveil_ledger'").fetchone()
            if there is None:
                connection.execute(SCHEMA)
                connection.execute("COMMIT")

        self._transaction(WRITING, make)

    def _check(self) -> None:
        about = self._transaction(READING, _read_about)
        if about is None:
            msg = (
                f"{self.where}: there is no ledger in this database; make one: "
                "gridveil ledger init URL --population NAME --cap EPSILON"
            )
            raise InputError(msg, code="ledger-missing")
        if about != (ABOUT,):
            msg = f"{self.where}: the schema gridveil_ledger is not of a ledger that this gridveil knows; update it"
            raise InputError(msg, code="ledger-schema")

    def _transaction(self, begin: str, work: Callable[[psycopg.Connection], T]) -> T:
        """Return what `work` does in a transaction, undone unless it is committed, and tell errors in our words.

        They are raised outside of the handlers: psycopg's own errors hold the address, and are not to be their context.
        """
        import psycopg

        try:
            connection = psycopg.connect(**self._address.parts, autocommit=True)
        except psycopg.Error as error:
            why = self._address.without_secrets(error)
        else:
            with closing(connection):
                try:
                    connection.execute(begin)
                    # Whoever may make functions in the database shall not have a say in what ours mean.
                    connection.execute("SET LOCAL search_path = pg_catalog")
                    connection.execute(f"SET LOCAL lock_timeout = '{PATIENCE}'")
                    connection.execute(DURABLE)
                    return work(connection)
                except psycopg.Error as error:
                    told = self._make_error(error)
            raise told
        msg = f"{self.where}: the ledger's server cannot be reached ({why})"
        raise InputError(msg, code="ledger-unreachable")

    def _commit(self, connection: psycopg.Connection, entry: Entry) -> None:
        import psycopg

        try:
            status = connection.execute("COMMIT").statusmessage
        except psycopg.Error:
            status = None
        if status is None:
            raise make_unsure_error(self.where, entry)
        if status != "COMMIT":  # a failed transaction ends in a ROLLBACK that is no error
            msg = f"{self.where}: the server took the transaction back; nothing was debited"
            raise GridveilError(msg, code="ledger-rolled-back")

    def _make_error(self, error: psycopg.Error) -> GridveilError:
        if error.sqlstate == LOCK_NOT_AVAILABLE:
            why = f"other processes kept the ledger for {PATIENCE}; try again"
        else:
            why = f"the server refused ({self._address.without_secrets(error)})"
        return GridveilError(f"{self.where}: {why}; nothing was debited", code="ledger-refused")


def _read_chains(connection: psycopg.Connection) -> dict[str, Chain]:
    rows = connection.execute(
        "SELECT population FROM gridveil_ledger.entries UNION SELECT population FROM gridveil_ledger.heads"
    ).fetchall()
    return {name: _read_chain(connection, name) for (name,) in rows}


def _read_about(connection: psycopg.Connection) -> tuple[Any, ...] | None:
    return connection.execute(
        "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = 'gridveil_ledger'"
    ).fetchone()


def _read_durability(connection: psycopg.Connection) -> tuple[set[str], dict[str, str], str]:
    """Return the triggers that are on, how long each table lasts, and whether the server waits for its disk."""
    tables = connection.execute(
        "SELECT relname, relpersistence FROM pg_class WHERE relkind = 'r' AND relnamespace = "
        "(SELECT oid FROM pg_namespace WHERE nspname = 'gridveil_ledger')"
    ).fetchall()
    triggers = connection.execute(
        "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled IN ('O', 'A') AND tgrelid IN "
        "(SELECT oid FROM pg_class WHERE relnamespace = "
        "(SELECT oid FROM pg_namespace WHERE nspname = 'gridveil_ledger'))"
    ).fetchall()
    fsync = connection.execute("SELECT current_setting('fsync')").fetchone()
    return {name for (name,) in triggers}, {n: _to_text(p) for n, p in tables}, str(fsync and fsync[0])


def _to_text(char: str | bytes) -> str:
    """Return a value of PostgreSQL's type "char"."""
    return char.decode() if isinstance(char, bytes) else char


def _read_chain(connection: psycopg.Connection, population: str) -> Chain:
    lines = connection.execute(
        "SELECT number, hash, text FROM gridveil_ledger.entries WHERE population = %s ORDER BY number", (population,)
    ).fetchall()
    head = connection.execute(
        "SELECT number, hash FROM gridveil_ledger.heads WHERE population = %s", (population,)
    ).fetchone()
    return Chain(population, [ChainLine(*line) for line in lines], head)
