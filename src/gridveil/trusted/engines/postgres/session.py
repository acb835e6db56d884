"""One session with a PostgreSQL server, in which nothing but temporary tables is ever written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, LiteralString

from gridveil.model.errors import InputError
from gridveil.model.files import Address

if TYPE_CHECKING:
    import psycopg
    from psycopg.abc import Params, QueryNoTemplate

MIN_VERSION = 150_000
"""Version of the server, as it tells it."""

BEGIN: LiteralString = "BEGIN ISOLATION LEVEL REPEATABLE READ READ WRITE"
"""One snapshot for all that is read. Temporary tables can be made in it, and go when it is rolled back."""

# Whoever may make functions in the database has no say in what ours mean; and a mechanism may work for hours between
# two questions. Compiling queries (jit) was never faster.
SETTINGS: LiteralString = """
SET LOCAL TimeZone = 'UTC';
SET LOCAL DateStyle = 'ISO';
SET LOCAL search_path = pg_catalog;
SET LOCAL jit = off;
SELECT set_config(name, '0', true) FROM pg_settings
WHERE name IN ('statement_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout')
"""

QUERY_NODES = 8
"""A query sorts and hashes in a few places at once; each is given this part of the memory, and a hash twice that."""

CODES_WITHOUT_ROWS = ("08", "42501", "53", "57")
"""Codes of errors (or how they begin) about connections, rights, resources and shutdowns. Others may quote a row."""

WRITE_REFUSED = "25006"


class RefusedError(Exception):
    """What the server said, without words that may hold a row or a password."""

    def __init__(self, why: str, code: str | None = None) -> None:
        super().__init__(why)
        self.code = code


class PostgresSession:
    """A connection with one transaction, which is never committed.

    Guarantee: nothing of the publisher's is written. Whatever reads a table of theirs (and so could call functions of
    theirs) runs inside `reading`, a subtransaction that the server holds to READ ONLY; it may write temporary tables.
    Why it holds: a transaction can be made READ ONLY at any time and stays so until the subtransaction ends; outside
    of it only statements of ours run, which make temporary tables and views.
    """

    def __init__(self, address: Address, memory: int | None) -> None:
        import psycopg

        self._address = address
        try:
            connection = psycopg.connect(**address.parts, autocommit=True, prepare_threshold=None)
        except psycopg.Error as error:
            why = address.without_secrets(error)
        else:
            self.connection = connection
            self._begin(memory)
            return
        # Not from within the handler: the library's own error holds the address.
        msg = f"{address}: the database cannot be reached ({why})"
        raise InputError(msg, code="database-unreachable")

    @property
    def version(self) -> int:
        """Of the server: 160002 is 16.2."""
        return self.connection.info.server_version

    def run(self, query: QueryNoTemplate, values: Params | None = None) -> psycopg.Cursor[Any]:
        """Execute a statement."""
        import psycopg

        try:
            return self.connection.execute(query, values)
        except psycopg.Error as error:
            why, code = self.words(error), error.sqlstate
        raise RefusedError(why, code)

    def rows(self, query: bytes, size: int) -> Iterator[list[tuple[Any, ...]]]:
        """Give out the answer to a query, `size` rows at a time, with a cursor of the server's."""
        import psycopg

        try:
            with self.reading(), self.connection.cursor(name="answer") as cursor:
                cursor.execute(query, binary=True)
                while batch := cursor.fetchmany(size):
                    yield batch
        except psycopg.Error as error:
            why = self.words(error)
        else:
            return
        raise RefusedError(why)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Let the server refuse to write anything but temporary tables."""
        import psycopg

        self.run("SAVEPOINT reading")
        try:
            self.run("SET TRANSACTION READ ONLY")
            yield
        except BaseException:
            with suppress(psycopg.Error):
                self.connection.execute("ROLLBACK TO SAVEPOINT reading; RELEASE SAVEPOINT reading")
            raise
        self.run("RELEASE SAVEPOINT reading")

    def words(self, error: psycopg.Error) -> str:
        """Return the part of an error that cannot hold data or passwords."""
        if error.sqlstate is None:
            return "the connection to the server was lost, and what was kept there with it"
        if error.sqlstate.startswith(CODES_WITHOUT_ROWS):
            return f"PostgreSQL refused: {' '.join((error.diag.message_primary or '').split())}"
        if error.sqlstate == WRITE_REFUSED:
            return "a view or function behind the table writes, which is not done; name a table that only reads"
        return f"PostgreSQL refused: {type(error).__name__}, code {error.sqlstate}; its words may hold rows"

    def _begin(self, memory: int | None) -> None:
        """Open the transaction, or say what the server or the role lacks."""
        told = self.run(
            "SELECT pg_is_in_recovery(), has_database_privilege(current_database(), 'TEMPORARY'), "
            "quote_ident(current_database()), quote_ident(current_user), current_setting('server_encoding')"
        ).fetchone()
        standby, temporary, database, role, encoding = told or (True, False, "", "", "")
        lacks = {
            f"the server is of version {self.version // 10_000}; 15 is the oldest that is read": self.version
            < MIN_VERSION,
            "it is a standby, which cannot hold temporary tables; give the address of the primary": standby,
            f"this role may not make temporary tables, in which results are kept; let someone type: "
            f"GRANT TEMPORARY ON DATABASE {database} TO {role}": not temporary,
            f"the database is encoded as {encoding}; only UTF8 is read": encoding != "UTF8",
        }
        for lack in (what for what, holds in lacks.items() if holds):
            self.connection.close()
            msg = f"{self._address}: {lack}"
            raise InputError(msg, code="table-missing")
        self.path = self.connection.execute("SHOW search_path").fetchone()
        self.run(BEGIN)
        self.run(SETTINGS)
        if memory is not None:
            self.run("SELECT set_config('work_mem', %s, true)", (f"{memory // QUERY_NODES // 1024}kB",))
