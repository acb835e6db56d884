"""A ledger in one SQLite file."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from gridveil.model.errors import GridveilError, InputError, UsageError
from gridveil.model.files import new_file
from gridveil.trusted.ledger.chain import LOST, NO_MARK, Chain, ChainLine, Head
from gridveil.trusted.ledger.entry import Entry
from gridveil.trusted.ledger.stores.store import SUFFIX, Mark, make_unsure_error

APPLICATION_ID = int.from_bytes(b"gVlg")
SCHEMA_VERSION = 1
PATIENCE = 60.0
"""So many seconds a process waits for others."""

NAMING = 1.0
"""So many seconds a new ledger may have a second name, that under which it was made."""

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

    Guarantee: as `Store` demands, as long as the file, its `-journal` and its `.head` stay together. `BEGIN IMMEDIATE`
    lets one process in at a time, before it reads what it adds to; with a rollback journal and `synchronous=EXTRA` a
    commit returns when file, journal and folder are on disk. A process that is killed before leaves a journal that
    takes everything back when the file is next opened.

    SQLite finds that journal by the file's name. Under another name it is not found; what is then debited would be
    taken back with the rest as soon as the first name is used again. Therefore a file with several names is refused,
    and an entry counts as written when it is found again under the ledger's name and is in the `.head` (see `Mark`):
    a file that was moved without it, or was taken back, grants nothing. What is not noticed: that the file is moved
    away with a *copy* of its `.head`, debited there, and moved back alone to where a journal was left.

    The file is opened by SQLite alone: opening and closing it otherwise would drop this process's locks on it.
    """

    def __init__(self, path: Path, *, make: bool) -> None:
        self._given = path
        self._path = _resolve(path)  # SQLite keeps the journal there, too
        self._mark = Mark(self._path)
        if make and not os.path.lexists(self._path):
            self._make()
        self._check()

    @property
    def where(self) -> str:
        """The path of the file."""
        return str(self._given)

    def chains(self) -> dict[str, Chain]:
        """Return all chains as they are at one moment."""
        with self._connection() as connection:
            connection.execute("BEGIN")
            return self._read_chains(connection)

    def append(self, population: str, make: Callable[[Chain], Entry]) -> Entry:
        """Add to a population's chain the entry that `make` makes of it."""
        with self._connection() as connection:  # closing it takes back what was not committed
            connection.execute("BEGIN IMMEDIATE")
            chains = self._read_chains(connection)
            if self._mark.read() is None:
                if chains:
                    raise self._make_damage_error(NO_MARK)
                self._write_mark({})  # from now on a missing one is a lost one
            entry = make(chains.get(population, Chain(population, [], None)))
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
        self._settle(entry)
        return entry

    def new_mark(self) -> None:
        """Take the chains as they are for all that was ever written."""
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            self._write_mark(_read_heads(connection))

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

    def _read_chains(self, connection: sqlite3.Connection) -> dict[str, Chain]:
        """Return all chains of one transaction, with their marks. Begun before the mark is read, it is not behind."""
        rows = connection.execute("SELECT population FROM entries UNION SELECT population FROM heads").fetchall()
        marks = self._mark.read()
        names = {name for (name,) in rows} | (marks or {}).keys()
        return {str(name): _read_chain(connection, name, LOST if marks is None else marks.get(name)) for name in names}

    def _settle(self, entry: Entry) -> None:
        """Find an entry again under the ledger's name, and move the mark to it."""
        try:
            with self._connection() as connection:
                connection.execute("BEGIN IMMEDIATE")
                known = connection.execute("SELECT 1 FROM entries WHERE hash = ?", (entry.hash,)).fetchone()
                head, marks = _read_heads(connection).get(entry.population), self._mark.read()
                if known is None or head is None or marks is None:
                    raise self._make_damage_error(NO_MARK if marks is None else "the entry is not where it was written")
                self._write_mark({**marks, entry.population: head})
        except GridveilError as error:
            raise make_unsure_error(self.where, entry) from error

    def _write_mark(self, heads: dict[str, Head]) -> None:
        try:
            self._mark.write(heads)
        except OSError as error:
            msg = f"{self.where}{SUFFIX}: it cannot be written ({error.strerror}); see to the disk and who may write"
            raise GridveilError(msg, code="head-unwritable") from error

    def _make(self) -> None:
        left = [self._path.with_name(self._path.name + end) for end in ("-journal", "-wal", SUFFIX)]
        left = [file for file in left if os.path.lexists(file)]
        if left and not os.path.lexists(self._path):  # looked at in this order: another process may be making it
            msg = (
                f"{self.where}: no ledger can be made there, because {left[0].name} of an earlier one is left, which "
                "knows of debits. Put that ledger back, or choose another name"
            )
            raise InputError(msg, code="ledger-leftover")
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
            raise InputError(msg, code="ledger-not-made") from error

    def _check(self) -> None:
        try:
            there, is_file = os.path.lexists(self._path), self._path.is_file()
        except OSError as error:
            msg = f"{self.where}: the ledger cannot be reached ({error.strerror})"
            raise InputError(msg, code="ledger-unreachable") from error
        if not is_file:
            if there:
                what = "a folder" if self._path.is_dir() else "no ordinary file"
                msg = f"{self.where}: this is {what}; a ledger is a file: give a file name, such as ledger.db"
                raise InputError(msg, code="ledger-not-a-file")
            msg = (
                f"{self.where}: there is no ledger; make one: gridveil ledger init {self.where} --population NAME "
                "--cap EPSILON"
            )
            raise InputError(msg, code="ledger-missing")
        with self._connection() as connection:
            made_by = connection.execute("PRAGMA application_id").fetchone()[0]
            version = connection.execute("PRAGMA user_version").fetchone()[0]
        if made_by != APPLICATION_ID:
            msg = f"{self.where}: this is no ledger but another file; give the ledger's path"
            raise InputError(msg, code="ledger-not-one")
        if version != SCHEMA_VERSION:
            msg = f"{self.where}: a ledger of version {version}, and this gridveil knows {SCHEMA_VERSION}; update it"
            raise InputError(msg, code="ledger-too-new")

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """Give a connection, and tell SQLite's errors in our words. All but those of COMMIT mean: nothing written."""
        try:
            self._refuse_names()
            address = f"{self._path.as_uri()}?mode=rw"  # never make a missing file
            with closing(sqlite3.connect(address, uri=True, timeout=PATIENCE, isolation_level=None)) as connection:
                connection.text_factory = lambda raw: raw.decode(errors="replace")  # damaged text has a wrong hash
                for setting in (
                    "synchronous = EXTRA",
                    "fullfsync = ON",
                    "trusted_schema = OFF",
                    "cell_size_check = ON",
                ):
                    connection.execute(f"PRAGMA {setting}")
                self._refuse_mode(connection)
                yield connection
        except UnicodeDecodeError as error:  # SQLite quotes damaged text in its message, which Python cannot read
            why = "its tables cannot be read"
            raise self._make_damage_error(why) from error
        except sqlite3.Error as error:
            raise self._make_error(error) from error

    def _refuse_names(self) -> None:
        """Refuse a file with several names: each would have a journal of its own."""
        patience = time.monotonic() + NAMING
        while (names := _count_links(self._path)) > 1:
            if time.monotonic() > patience:
                msg = (
                    f"{self.where}: the file has {names} names (hard links), and nothing was debited: a killed "
                    "publication is taken back under the name it used only. Remove the other names; "
                    f"`find / -samefile {self.where}` lists them"
                )
                raise InputError(msg, code="ledger-hard-links")
            time.sleep(0.01)

    def _refuse_mode(self, connection: sqlite3.Connection) -> None:
        (mode,) = connection.execute("PRAGMA journal_mode").fetchone()
        if mode != "delete":
            msg = (
                f"{self.where}: someone set the file to journal mode {mode}, and nothing was debited: the last debits "
                "could be in another file. Set it back when nobody uses it: "
                f"sqlite3 {self.where} 'PRAGMA journal_mode = DELETE'"
            )
            raise InputError(msg, code="ledger-journal")

    def _refuse_if_kept(self, entry: Entry, error: sqlite3.Error) -> None:
        """Look whether a commit that failed left its entry: it may then be gone again after a power cut, or not."""
        try:
            lines = self.chains()[entry.population].lines
        except (GridveilError, KeyError):
            raise make_unsure_error(self.where, entry) from error
        if any(line.hash == entry.hash for line in lines):
            raise make_unsure_error(self.where, entry) from error

    def _make_error(self, error: sqlite3.Error) -> GridveilError:
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
        if code in NOT_NOW:
            return GridveilError(f"{self.where}: {NOT_NOW[code]}; nothing was debited ({error})", code="ledger-busy")
        if code == sqlite3.SQLITE_NOTADB:
            return InputError(
                f"{self.where}: this is no ledger but another file, or one that was damaged", code="ledger-not-one"
            )
        return self._make_damage_error(str(error))

    def _make_damage_error(self, how: str) -> InputError:
        return InputError(
            f"{self.where}: the ledger is damaged, and nothing was debited ({how}); go back to a sound copy with all "
            "later debits",
            code="ledger-damaged",
        )


NOT_NOW = {
    sqlite3.SQLITE_BUSY: f"other processes kept the ledger for {PATIENCE:.0f} s; try again",
    sqlite3.SQLITE_READONLY: "the ledger cannot be written; see who may write the file and its folder",
    sqlite3.SQLITE_PERM: "the ledger cannot be written; see who may write the file and its folder",
    sqlite3.SQLITE_CANTOPEN: "the ledger cannot be opened; see who may write the file and its folder",
    sqlite3.SQLITE_FULL: "the disk is full; make room and try again",
    sqlite3.SQLITE_IOERR: "the disk does not do what it should",
}


def _resolve(path: Path) -> Path:
    """Return the file that a path leads to."""
    try:
        return path.resolve()
    except (OSError, ValueError, RuntimeError):  # opening it tells
        return path.absolute()


def _count_links(path: Path) -> int:
    try:
        return path.stat().st_nlink
    except OSError:  # opening it tells
        return 1


def _read_heads(connection: sqlite3.Connection) -> dict[str, Head]:
    rows = connection.execute("SELECT population, number, hash FROM heads")
    return {str(name): (number, digest) for name, number, digest in rows}


def _read_chain(connection: sqlite3.Connection, population: str, mark: Head | None) -> Chain:
    lines = connection.execute(
        "SELECT number, hash, text FROM entries WHERE population = ? ORDER BY number", (population,)
    )
    head = connection.execute("SELECT number, hash FROM heads WHERE population = ?", (population,)).fetchone()
    # Damaged rows may hold anything.
    return Chain(
        str(population), [ChainLine(number, str(digest), str(text)) for number, digest, text in lines], head, mark
    )
