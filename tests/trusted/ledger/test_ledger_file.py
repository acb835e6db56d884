"""Bad days of a ledger in a file: damaged, foreign, missing, read-only, full, in use."""

import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.codes import has_code
from tests.trusted.ledger.books import DAY, TOWN, copy_ledger, head_of, spend

from gridveil.model.errors import GridveilError, InputError
from gridveil.trusted.ledger.book import Ledger, create_ledger, open_ledger
from gridveil.trusted.ledger.stores import sqlite as store


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "ledger.db"
    ledger = create_ledger(str(path))
    ledger.add_population(TOWN)
    for title in ("first", "second", "third"):
        spend(ledger, "0.1", title=title)
    return path


@pytest.fixture
def path(made: Path, tmp_path: Path) -> Path:
    return copy_ledger(made, tmp_path / "copy.db")


def test_a_new_ledger_is_its_owners_and_nothing_else_is_left(sqlite: str) -> None:
    ledger = create_ledger(sqlite)
    ledger.add_population(TOWN)
    files = set(Path(sqlite).parent.iterdir())
    assert files == {Path(sqlite), head_of(Path(sqlite))}
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_a_failure_while_it_is_made_leaves_nothing(sqlite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(store.SCHEMA, "heads", "CREATE nonsense")
    with pytest.raises(InputError, check=has_code("ledger-not-made")):
        create_ledger(sqlite)
    assert not list(Path(sqlite).parent.iterdir())


def test_one_that_another_process_made_meanwhile_is_opened(sqlite: str, monkeypatch: pytest.MonkeyPatch) -> None:
    create_ledger(sqlite).add_population(TOWN)
    monkeypatch.setattr(store.os.path, "lexists", lambda _: False)
    assert create_ledger(sqlite).populations() == [TOWN]


def test_what_is_no_ledger_is_refused_kindly(tmp_path: Path) -> None:
    missing, folder, text, empty, foreign = (tmp_path / name for name in ("a", "folder", "text", "empty", "foreign"))
    folder.mkdir()
    text.write_text(1000 * "household,lat,lon\n")
    empty.touch()
    with closing(sqlite3.connect(foreign)) as connection:
        connection.execute("CREATE TABLE entries (x)")
    newer = tmp_path / "newer"
    create_ledger(str(newer))
    with closing(sqlite3.connect(newer)) as connection:
        connection.execute("PRAGMA user_version = 2")
    for path, code in {
        missing: "ledger-missing",
        folder: "ledger-not-a-file",
        text: "ledger-not-one",
        empty: "ledger-not-one",
        foreign: "ledger-not-one",
        newer: "ledger-too-new",
        text / "below": "ledger-missing",
        tmp_path / (300 * "a"): "ledger-unreachable",
        tmp_path / "nul\0": "ledger-missing",
    }.items():
        before = path.read_bytes() if path in {text, empty, foreign} else None
        with pytest.raises(InputError, check=has_code(code)):
            open_ledger(str(path))
        assert before is None or path.read_bytes() == before
    for path in (folder, text, empty, foreign, text / "below", tmp_path / (300 * "a"), tmp_path / "nul\0"):
        with pytest.raises(InputError):
            create_ledger(str(path))


def told_of(path: Path) -> list[str]:
    """What is wrong with a ledger, from the first command that notices."""
    try:
        return open_ledger(str(path)).verify()
    except InputError as error:
        return [str(error)]


def test_a_truncated_file_is_noticed(made: Path, tmp_path: Path) -> None:
    whole = made.read_bytes()
    assert told_of(made) == []
    for size in [*range(0, len(whole), 4096), 1, 50, 99, 100, 101, 4095, len(whole) - 1]:
        cut = copy_ledger(made, tmp_path / f"{size}.db")
        cut.write_bytes(whole[:size])
        assert told_of(cut), size


def contents(path: Path) -> list[str]:
    return [entry.text for entry in open_ledger(str(path)).entries("town")]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.data(), bits=st.integers(1, 255))
def test_a_flipped_byte_is_noticed_or_changes_nothing(made: Path, path: Path, place: st.DataObject, bits: int) -> None:
    whole = bytearray(made.read_bytes())
    whole[place.draw(st.integers(0, len(whole) - 1))] ^= bits
    path.write_bytes(whole)
    assert told_of(path) or contents(path) == contents(made)


def test_damaged_tables_and_triggers_are_noticed(made: Path, path: Path) -> None:
    """SQLite quotes what it cannot make sense of, also where it is no text."""
    for name, sql in store.SCHEMA.items():
        path.write_bytes(made.read_bytes().replace(sql.encode(), sql.encode()[:-3] + b"\xea\xff\x00"))
        assert "damaged" in told_of(path)[0], name


def test_every_flipped_byte_of_the_entries_is_noticed(made: Path, path: Path) -> None:
    whole = made.read_bytes()
    for text in contents(made)[1:3]:
        start = whole.index(text.encode())
        for place in range(start, start + len(text), 7):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
            assert told_of(path), whole[place - 10 : place + 10]


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[type[sqlite3.Connection]], None]]:
    """Have the store use connections of a kind of our own."""
    real = sqlite3.connect

    def use(kind: type[sqlite3.Connection]) -> None:
        monkeypatch.setattr(store.sqlite3, "connect", lambda *args, **options: real(*args, **options, factory=kind))

    yield use
    monkeypatch.undo()


def used(ledger: Ledger) -> str:
    """What the refusal of a debit says."""
    debit = ledger.permit("town", Fraction(1, 10), [DAY], {"title": 5000 * "long "})
    with pytest.raises(GridveilError) as refused:
        debit.use()
    assert debit.entry is None
    return str(refused.value)


def test_a_full_disk_debits_nothing(path: Path, connect: Callable[[type], None]) -> None:
    class Full(sqlite3.Connection):
        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            if sql == "BEGIN IMMEDIATE":
                super().execute("PRAGMA max_page_count = 1")  # SQLite takes the size it has, and no more
            return super().execute(sql, *values)

    ledger, before = open_ledger(str(path)), contents(path)
    connect(Full)
    assert "the disk is full; make room and try again; nothing was debited" in used(ledger)
    assert contents(path) == before
    assert told_of(path) == []


def test_a_read_only_ledger_can_be_looked_at_and_debits_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = sqlite3.connect
    # Root may write what is read-only, so that the file's mode alone would show nothing here.
    monkeypatch.setattr(
        store.sqlite3, "connect", lambda address, **options: real(address.replace("=rw", "=ro"), **options)
    )
    ledger = open_ledger(str(path))
    assert ledger.verify() == []
    assert "cannot be written; see who may write the file and its folder; nothing was debited" in used(ledger)


def test_a_ledger_kept_by_another_process_debits_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "PATIENCE", 0.05)
    ledger = open_ledger(str(path))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert "try again; nothing was debited" in used(ledger)
        assert ledger.standing("town").spent == Fraction(3, 10)
    spend(ledger, "0.1")


def broken_disk() -> sqlite3.OperationalError:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR
    return error


def test_a_commit_that_failed_and_left_nothing_says_so(path: Path, connect: Callable[[type], None]) -> None:
    class Before(sqlite3.Connection):
        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            if sql == "COMMIT":
                raise broken_disk()
            return super().execute(sql, *values)

    ledger, before = open_ledger(str(path)), contents(path)
    connect(Before)
    assert "does not do what it should; nothing was debited" in used(ledger)
    assert contents(path) == before


def test_a_commit_that_failed_and_left_its_entry_counts_as_spent(path: Path, connect: Callable[[type], None]) -> None:
    class After(sqlite3.Connection):
        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            done = super().execute(sql, *values)
            if sql == "COMMIT":
                raise broken_disk()
            return done

    ledger, before = open_ledger(str(path)), contents(path)
    connect(After)
    told = used(ledger)
    assert "is not known" in told
    assert "Take it as spent until `gridveil ledger show` says otherwise" in told
    assert "nothing was debited" not in told
    assert len(contents(path)) == len(before) + 1


KILLED = """
import os, signal, sqlite3, sys
from fractions import Fraction
from gridveil.trusted.ledger.book import open_ledger
from gridveil.trusted.ledger.stores import sqlite as store
from tests.trusted.ledger.books import DAY
real = sqlite3.connect
class Killed(sqlite3.Connection):
    def execute(self, sql, *values):
        if sys.argv[2] == "before" and sql == "COMMIT":
            os.kill(os.getpid(), signal.SIGKILL)
        done = super().execute(sql, *values)
        if sys.argv[2] == "after" and sql == "COMMIT":
            os.kill(os.getpid(), signal.SIGKILL)
        return done
store.sqlite3.connect = lambda *args, **options: real(*args, **options, factory=Killed)
open_ledger(sys.argv[1]).permit("town", Fraction(1, 10), [DAY], {}).use()
"""


@pytest.mark.parametrize(("moment", "debits"), [("before", 3), ("after", 4)])
def test_a_process_killed_around_its_commit_leaves_a_whole_debit_or_none(path: Path, moment: str, debits: int) -> None:
    ended = subprocess.run([sys.executable, "-c", KILLED, path, moment], check=False, capture_output=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()
    ledger = open_ledger(str(path))
    assert ledger.standing("town").spent == Fraction(debits, 10)
    assert ledger.verify() == []
