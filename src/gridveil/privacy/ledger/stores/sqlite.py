"""A ledger in one SQLite file."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from gridveil.errors import GridveilError, InputError, UsageError
from gridveil.folder import new_file
from gridveil.privacy.ledger.chain import Chain, Line
from gridveil.privacy.ledger.entry import Entry
from gridveil.privacy.ledger.stores.store import unknown_end

APPLICATION_ID = int.from_bytes(b"gVlg")
SCHEMA_VERSION = 1
PATIENCE = 60.0
"""So many seconds a process waits for others."""

SCHEMA = {
    "entries": """CREATE TABLE entries (
    population TEXT NOT NULL, number INTEGER NOT NULL, hash TEXT NOT NULL UNIQUE, text TEXT NOT NULL,
    PRIMARY KEY (population, number)
) STRICT""",
    "heads": """CREATE TABLE heads (
    population TEXT NOT NULL PRIMARY KEY, number INTEGER NOT NULL, hash TEXT NOT NULL
) STRICT""",
    # Replacing a row would delete it without asking the trigger on DELETE: an insert must be the next of its chain.
    "entries_in_order": """CREATE TRIGGER entries_in_order BEFORE INSERT ON entries
WHEN NEW.number <> (SELECT count(*) FROM entries WHERE population = NEW.population)
    OR EXISTS (SELECT 1 FROM entries WHERE hash = NEW.hash)
BEGIN SELECT RAISE(ABORT, 'a ledger only grows'); END""",
    "entries_stay": """CREATE TRIGGER entries_stay BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'a ledger only grows'); END""",
    "entries_remain": """CREATE TRIGGER entries_remain BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'a ledger only grows'); END""",
    "heads_begin": """CREATE TRIGGER heads_begin BEFORE INSERT ON heads
WHEN NEW.number <> 0 OR EXISTS (SELECT 1 FROM heads WHERE population = NEW.population)
BEGIN SELECT RAISE(ABORT, 'a ledger only grows'); END""",
    "heads_advance": """CREATE TRIGGER heads_advance BEFORE UPDATE ON heads
WHEN NEW.population <> OLD.population OR NEW.number <> OLD.number + 1
BEGIN SELECT RAISE(ABORT, 'a ledger only grows'); END""",
    "heads_remain": """CREATE TRIGGER heads_remain BEFORE DELETE ON heads
BEGIN SELECT RAISE(ABORT, 'a ledger only grows'); END""",
}


class SqliteStore:
    """Keeps chains in one file, on a local disk: file locks of network disks cannot be relied on.

    Guarantee: as `Store` demands. `BEGIN IMMEDIATE` lets one process in at a time, before it reads what it adds to;
    with a rollback journal and `synchronous=EXTRA` a commit returns when file, journal and folder are on disk. A
    process that is killed before leaves a journal that takes everything back when the file is next opened.

    The file is opened by SQLite alone: opening and closing it otherwise would drop this process's locks on it.
    """

    def __init__(self, path: Path, *, make: bool) -> None:
        self._path = path
        if make and not os.path.lexists(path):
            self._make()
        self._check()

    @property
    def where(self) -> str:
        """The path of the file."""
        return str(self._path)

    def chains(self) -> dict[str, Chain]:
        """Return all chains as they are at one moment."""
        with self._connection() as connection:
            connection.execute("BEGIN")
            rows = connection.execute("SELECT population FROM entries UNION SELECT population FROM heads").fetchall()
            return {str(name): _chain(connection, name) for (name,) in rows}

    def append(self, population: str, make: Callable[[Chain], Entry]) -> Entry:
        """Add to a population's chain the entry that `make` makes of it."""
        with self._connection() as connection:  # closing it takes back what was not committed
            connection.execute("BEGIN IMMEDIATE")
            entry = make(_chain(connection, population))
            row = (population, entry.number, entry.hash)
            connection.execute(
                "INSERT INTO entries (population, number, hash, text) VALUES (?, ?, ?, ?)", (*row, entry.text)
            )
            if entry.number == 0:
                connection.execute("INSERT INTO heads (population, number, hash) VALUES (?, ?, ?)", row)
            else:
                connection.execute("UPDATE heads SET number = ?, hash = ? WHERE population = ?", (*row[1:], population))
            try:
                connection.execute("COMMIT")
            except sqlite3.Error as error:
                connection.close()
                self._refuse_if_kept(entry, error)
                raise
        return entry

    def faults(self) -> list[str]:
        """Return what SQLite finds wrong with the file, and what is missing of what makes it only grow."""
        try:
            with self._connection() as connection:
                found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check")]
                schema = dict(connection.execute("SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL"))
        except InputError as error:
            return [str(error)]
        faults = [] if found == ["ok"] else [f"the file is damaged: {fault}" for fault in found]
        changed = sorted(name for name in SCHEMA.keys() | schema.keys() if schema.get(name) != SCHEMA.get(name))
        return faults + [
            f"the file's tables and triggers were changed: {name} is not as it was made" for name in changed
        ]

    def _make(self) -> None:
        try:
            with new_file(self._path) as aside, closing(sqlite3.connect(aside, isolation_level=None)) as connection:
                connection.execute("PRAGMA journal_mode = MEMORY")  # no second file: this one has no name yet
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
                for statement in SCHEMA.values():
                    connection.execute(statement)
        except UsageError:
            return  # another process made it meanwhile
        except (OSError, ValueError, sqlite3.Error) as error:
            msg = f"{self.where}: no ledger can be made there ({error})"
            raise InputError(msg) from error

    def _check(self) -> None:
        try:
            there, is_file = os.path.lexists(self._path), self._path.is_file()
        except OSError as error:
            msg = f"{self.where}: the ledger cannot be reached ({error.strerror})"
            raise InputError(msg) from error
        if not is_file:
            why = "this is no file" if there else "there is no ledger"
            msg = f"{self.where}: {why}; make one: gridveil ledger init {self.where} --population NAME --cap EPSILON"
            raise InputError(msg)
        with self._connection() as connection:
            made_by = connection.execute("PRAGMA application_id").fetchone()[0]
            version = connection.execute("PRAGMA user_version").fetchone()[0]
        if made_by != APPLICATION_ID:
            msg = f"{self.where}: this is no ledger but another file; give the ledger's path"
            raise InputError(msg)
        if version != SCHEMA_VERSION:
            msg = f"{self.where}: a ledger of version {version}, and this gridveil knows {SCHEMA_VERSION}; update it"
            raise InputError(msg)

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Give a connection, and tell SQLite's errors in our words. All but those of COMMIT mean: nothing written."""
        try:
            address = f"{self._path.absolute().as_uri()}?mode=rw"  # never make a missing file
            with closing(sqlite3.connect(address, uri=True, timeout=PATIENCE, isolation_level=None)) as connection:
                connection.text_factory = lambda raw: raw.decode(errors="replace")  # damaged text has a wrong hash
                for setting in (
                    "synchronous = EXTRA",
                    "fullfsync = ON",
                    "trusted_schema = OFF",
                    "cell_size_check = ON",
                ):
                    connection.execute(f"PRAGMA {setting}")
                yield connection
        except UnicodeDecodeError as error:  # SQLite quotes damaged text in its message, which Python cannot read
            why = "its tables cannot be read"
            raise self._damaged(why) from error
        except sqlite3.Error as error:
            raise self._told(error) from error

    def _refuse_if_kept(self, entry: Entry, error: sqlite3.Error) -> None:
        """Look whether a commit that failed left its entry: it may then be gone again after a power cut, or not."""
        try:
            lines = self.chains()[entry.population].lines
        except (GridveilError, KeyError):
            raise unknown_end(self.where, entry) from error
        if any(line.hash == entry.hash for line in lines):
            raise unknown_end(self.where, entry) from error

    def _told(self, error: sqlite3.Error) -> GridveilError:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        if code in NOT_NOW:
            return GridveilError(f"{self.where}: {NOT_NOW[code]}; nothing was debited ({error})")
        if code == sqlite3.SQLITE_NOTADB:
            return InputError(f"{self.where}: this is no ledger but another file, or one that was damaged")
        return self._damaged(str(error))

    def _damaged(self, how: str) -> InputError:
        return InputError(
            f"{self.where}: the ledger is damaged, and nothing was debited ({how}); go back to a sound copy with all "
            "later debits"
        )


NOT_NOW = {
    sqlite3.SQLITE_BUSY: f"other processes kept the ledger for {PATIENCE:.0f} s; try again",
    sqlite3.SQLITE_READONLY: "the ledger cannot be written; see who may write the file and its folder",
    sqlite3.SQLITE_PERM: "the ledger cannot be written; see who may write the file and its folder",
    sqlite3.SQLITE_CANTOPEN: "the ledger cannot be opened; see who may write the file and its folder",
    sqlite3.SQLITE_FULL: "the disk is full; make room and try again",
    sqlite3.SQLITE_IOERR: "the disk does not do what it should",
}


def _chain(connection: sqlite3.Connection, population: str) -> Chain:
    lines = connection.execute(
        "SELECT number, hash, text FROM entries WHERE population = ? ORDER BY number", (population,)
    )
    head = connection.execute("SELECT number, hash FROM heads WHERE population = ?", (population,)).fetchone()
    # Damaged rows may hold anything.
    return Chain(str(population), [Line(number, str(digest), str(text)) for number, digest, text in lines], head)
