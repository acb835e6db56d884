"""A ledger in a PostgreSQL database, for several publishers at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from gridveil.errors import GridveilError, InputError, MissingExtraError, UsageError
from gridveil.privacy.ledger.chain import Chain, Line
from gridveil.privacy.ledger.entry import Entry
from gridveil.privacy.ledger.stores.store import unknown_end

if TYPE_CHECKING:
    import psycopg

ABOUT = "gridveil ledger, version 1"
PATIENCE = "60s"
LOCK_NOT_AVAILABLE = "55P03"
SECRETS = ("password", "sslpassword")

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


class PostgresStore:
    """Keeps chains in the schema `gridveil_ledger` of a database: one database has one ledger.

    Guarantee: as `Store` demands. The lock on `heads` lets one transaction in at a time, before it reads what it adds
    to, and a commit returns when the server has it on disk: `synchronous_commit` is raised where it is off. (A server
    that runs with `fsync` off keeps no promise; `faults` tells.)

    A publisher needs USAGE of the schema, SELECT and INSERT on both tables, and UPDATE on `heads`. No password of the
    address is ever told.
    """

    def __init__(self, url: str, *, make: bool) -> None:
        self._address = _parsed(url)
        if make:
            self._make()
        self._check()

    @property
    def where(self) -> str:
        """The server and database, without user and password."""
        host, port = self._address.get("host", ""), self._address.get("port")
        return f"postgresql://{host}{f':{port}' if port else ''}/{self._address.get('dbname', '')}"

    def chains(self) -> dict[str, Chain]:
        """Return all chains as they are at one moment."""
        with self._transaction(READING) as connection:
            rows = connection.execute(
                "SELECT population FROM gridveil_ledger.entries UNION SELECT population FROM gridveil_ledger.heads"
            ).fetchall()
            return {name: _chain(connection, name) for (name,) in rows}

    def append(self, population: str, make: Callable[[Chain], Entry]) -> Entry:
        """Add to a population's chain the entry that `make` makes of it."""
        with self._transaction(WRITING) as connection:  # closing it takes back what was not committed
            connection.execute("LOCK TABLE gridveil_ledger.heads IN EXCLUSIVE MODE")
            entry = make(_chain(connection, population))
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

    def faults(self) -> list[str]:
        """Return what is missing of what makes the ledger only grow, and durable."""
        with self._transaction(READING) as connection:
            found = connection.execute(
                "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal AND tgenabled IN ('O', 'A') AND tgrelid IN "
                "('gridveil_ledger.entries'::regclass, 'gridveil_ledger.heads'::regclass)"
            ).fetchall()
            fsync = connection.execute("SELECT current_setting('fsync')").fetchone()
        missing = sorted(TRIGGERS - {name for (name,) in found})
        faults = [f"the trigger {name} is missing or off: entries could be changed" for name in missing]
        return faults if fsync == ("on",) else [*faults, "the server runs with fsync off: a crash may lose debits"]

    def _make(self) -> None:
        with self._transaction(WRITING) as connection:
            connection.execute("SELECT pg_advisory_xact_lock(hashtext('gridveil_ledger'))")  # others may be making it
            there = connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = 'gridveil_ledger'").fetchone()
            if there is None:
                connection.execute(SCHEMA)
                connection.execute("COMMIT")

    def _check(self) -> None:
        with self._transaction(READING) as connection:
            about = connection.execute(
                "SELECT obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = 'gridveil_ledger'"
            ).fetchone()
        if about is None:
            msg = (
                f"{self.where}: there is no ledger in this database; make one: "
                "gridveil ledger init URL --population NAME --cap EPSILON"
            )
            raise InputError(msg)
        if about != (ABOUT,):
            msg = f"{self.where}: the schema gridveil_ledger is not of a ledger that this gridveil knows; update it"
            raise InputError(msg)

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[psycopg.Connection]:
        """Give a transaction that is undone unless it is committed, and tell errors in our words.

        Psycopg's own errors are not chained: they may hold the address.
        """
        import psycopg

        try:
            connection = psycopg.connect(**self._address, autocommit=True)
        except psycopg.Error as error:
            told = f"{self.where}: the ledger's server cannot be reached ({self._without_secrets(error)})"
            raise InputError(told) from None
        with closing(connection):
            try:
                connection.execute(begin)
                # Whoever may make functions in the database shall not have a say in what ours mean.
                connection.execute("SET LOCAL search_path = pg_catalog")
                connection.execute(f"SET LOCAL lock_timeout = '{PATIENCE}'")
                connection.execute(DURABLE)
                yield connection
            except psycopg.Error as error:
                raise self._told(error) from None

    def _commit(self, connection: psycopg.Connection, entry: Entry) -> None:
        import psycopg

        try:
            status = connection.execute("COMMIT").statusmessage
        except psycopg.Error:
            raise unknown_end(self.where, entry) from None
        if status != "COMMIT":  # a failed transaction ends in a ROLLBACK that is no error
            msg = f"{self.where}: the server took the transaction back; nothing was debited"
            raise GridveilError(msg)

    def _told(self, error: psycopg.Error) -> GridveilError:
        if error.sqlstate == LOCK_NOT_AVAILABLE:
            why = f"other processes kept the ledger for {PATIENCE}; try again"
        else:
            why = f"the server refused ({self._without_secrets(error)})"
        return GridveilError(f"{self.where}: {why}; nothing was debited")

    def _without_secrets(self, error: psycopg.Error) -> str:
        told = " ".join(str(error).split())
        for name in SECRETS:
            secret = self._address.get(name)
            for written in {secret, quote(secret), quote(secret, safe="")} if secret else ():
                told = told.replace(written, "***")
        return told


def _parsed(url: str) -> dict[str, Any]:
    """Return the parts of the address; what does not parse is not repeated, it may hold a password."""
    try:
        import psycopg
    except ImportError as error:
        what = "a ledger in PostgreSQL"
        raise MissingExtraError(what, "postgres") from error
    try:
        address = psycopg.conninfo.conninfo_to_dict(url)
    except psycopg.Error:
        address = {"host": "@"}
    # An @ or / of a password that is not written as %40 or %2F puts the rest of it into host or database.
    if any("@" in str(address.get(name, "")) for name in ("host", "port", "dbname")):
        msg = (
            "the ledger's address is not one of PostgreSQL; write postgresql://USER@HOST/DATABASE, and an @, / or % in "
            "a password as %40, %2F or %25"
        )
        raise UsageError(msg)
    return {"connect_timeout": 10, "application_name": "gridveil", "client_encoding": "utf8", **address}


def _chain(connection: psycopg.Connection, population: str) -> Chain:
    lines = connection.execute(
        "SELECT number, hash, text FROM gridveil_ledger.entries WHERE population = %s ORDER BY number", (population,)
    ).fetchall()
    head = connection.execute(
        "SELECT number, hash FROM gridveil_ledger.heads WHERE population = %s", (population,)
    ).fetchone()
    return Chain(population, [Line(*line) for line in lines], head)
