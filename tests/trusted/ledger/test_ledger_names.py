"""A ledger in a file under several names: SQLite finds the journal of a killed process by the file's name alone."""

import json
import sqlite3
import struct
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from tests.codes import has_code
from tests.trusted.ledger.books import TOWN, copy_ledger, head_of, spend

from gridveil.model.errors import GridveilError, InputError, UsageError
from gridveil.trusted.ledger.book import create_ledger, open_ledger
from gridveil.trusted.ledger.stores import sqlite as store
from gridveil.trusted.ledger.stores.store import Mark


def hot_journal(pages: bytes) -> bytes:
    """Return the journal that takes a file back to these pages (https://sqlite.org/fileformat.html, section 3)."""
    (size,) = struct.unpack(">H", pages[16:18])
    count, sector = len(pages) // size, 512
    header = bytes.fromhex("d9d505f920a163d7") + struct.pack(">5I", count, 0, count, sector, size)
    records = b""
    for number in range(count):
        page = pages[number * size : (number + 1) * size]
        checksum = sum(page[place] for place in range(size - 200, 0, -200))
        records += struct.pack(">I", number + 1) + page + struct.pack(">I", checksum)
    return header.ljust(sector, b"\0") + records


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """A ledger with one debit of 1/4; a second one was killed in its COMMIT, all pages written, journal still there."""
    path = tmp_path / "town.ledger"
    ledger = create_ledger(str(path))
    ledger.add_population(TOWN)
    spend(ledger, "0.25")
    before, head = path.read_bytes(), head_of(path).read_bytes()
    spend(ledger, "0.25")
    journal_of(path).write_bytes(hot_journal(before))
    head_of(path).write_bytes(head)
    return path


def journal_of(path: Path) -> Path:
    return path.with_name(path.name + "-journal")


def spend_all(path: Path) -> int:
    """How many debits of 1/4 are granted."""
    for granted in range(10):
        try:
            spend(open_ledger(str(path)), "0.25")
        except GridveilError:
            return granted
    return 10


def test_a_killed_debit_is_taken_back_under_its_name(killed: Path) -> None:
    ledger = open_ledger(str(killed))
    assert ledger.verify() == []
    assert not journal_of(killed).exists()
    assert ledger.standing("town").spent == Fraction(1, 4)
    assert spend_all(killed) == 3


def test_a_file_with_two_names_is_refused_under_both(killed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store, "NAMING", 0)
    other = killed.parent / "other" / "same.ledger"
    other.parent.mkdir()
    ledger = open_ledger(str(copy_ledger(killed, killed.parent / "open.ledger")))
    for path in (other, killed.parent / "second.ledger"):
        path.hardlink_to(killed)
        for name in (path, killed):
            with pytest.raises(InputError, check=has_code("ledger-hard-links", "2 names")):
                open_ledger(str(name))
        path.unlink()
    (killed.parent / "link").hardlink_to(killed.parent / "open.ledger")
    with pytest.raises(InputError, check=has_code("ledger-hard-links", "2 names")):  # also if it was opened before
        spend(ledger, "0.25")
    assert "has 2 names" in ledger.verify()[0]


def test_a_name_that_a_new_file_has_for_a_moment_is_waited_for(killed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = iter([2, 2])
    monkeypatch.setattr(store, "_count_links", lambda _: next(names, 1))
    open_ledger(str(killed))


def test_a_file_moved_away_alone_grants_nothing(killed: Path) -> None:
    away = killed.rename(killed.parent / "renamed.ledger")
    assert spend_all(away) == 0
    assert "its -journal are one" in " ".join(open_ledger(str(away)).verify())
    with pytest.raises(InputError, check=has_code("ledger-damaged", ".head")):
        create_ledger(str(away)).add_population(replace(TOWN, name="village"))
    away.rename(killed)
    assert spend_all(killed) == 3
    assert open_ledger(str(killed)).verify() == []


def test_debits_that_an_old_journal_took_back_are_noticed(killed: Path) -> None:
    """Moved away without the journal, debited, moved back to it."""
    away = killed.parent / "away.ledger"
    for move in (lambda path: path, head_of):
        move(killed).rename(move(away))
    assert spend_all(away) == 2
    for move in (lambda path: path, head_of):
        move(away).rename(move(killed))
    assert spend_all(killed) == 0
    (fault,) = open_ledger(str(killed)).verify()
    assert "entries up to 4 were written: an old state of the ledger came back" in fault


def test_through_a_symbolic_link_it_is_the_same_ledger(killed: Path) -> None:
    link = killed.parent / "elsewhere" / "link.ledger"
    link.parent.mkdir()
    link.symlink_to(killed)
    assert spend_all(link) == 3
    assert spend_all(killed) == 0
    assert [file.name for file in link.parent.iterdir()] == ["link.ledger"]
    assert open_ledger(str(link)).where == str(link)


def test_an_old_copy_put_back_without_its_head_is_noticed(killed: Path) -> None:
    open_ledger(str(killed))  # the journal is used up
    old = killed.read_bytes()
    assert spend_all(killed) == 3
    killed.write_bytes(old)
    assert "an old state" in " ".join(open_ledger(str(killed)).verify())
    assert spend_all(killed) == 0


def test_no_ledger_is_made_where_one_was(killed: Path) -> None:
    killed.unlink()
    for left in (journal_of(killed), head_of(killed)):
        with pytest.raises(InputError, check=has_code("ledger-leftover", left.name)):
            create_ledger(str(killed))
        left.unlink()
    create_ledger(str(killed)).add_population(TOWN)


def test_a_head_that_is_behind_is_none_of_a_fault_and_catches_up(killed: Path) -> None:
    ledger = open_ledger(str(killed))
    head = head_of(killed).read_bytes()
    spend(ledger, "0.25")
    head_of(killed).write_bytes(head)
    assert ledger.verify() == []
    spend(ledger, "0.25")
    assert Mark(killed).read() == {"town": (3, ledger.entries("town")[-1].hash)}


def test_a_lost_head_is_made_anew_only_if_nothing_is_missing(killed: Path) -> None:
    ledger = open_ledger(str(killed))
    old = killed.read_bytes()
    spend(ledger, "0.25")
    exported = ledger.entries("town")
    new = killed.read_bytes()
    head_of(killed).unlink()
    killed.write_bytes(old)
    with pytest.raises(InputError, check=has_code("head-faulty-ledger", "exported earlier")):
        ledger.new_head(exported)
    assert not head_of(killed).exists()
    killed.write_bytes(new)
    ledger.new_head(exported)
    assert ledger.verify() == []
    killed.write_bytes(old)
    with pytest.raises(InputError, check=has_code("head-faulty-ledger", "an old state")):  # no head is moved back
        ledger.new_head(exported[:1])


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "\xff", '{"version":2,"heads":{}}', '{"heads":{"town":[true,"x"]},"version":1}', 9000 * "["],
)
def test_a_damaged_head_counts_as_lost(killed: Path, text: str) -> None:
    head_of(killed).write_text(text, encoding="latin-1")
    assert "missing or damaged" in " ".join(open_ledger(str(killed)).verify())
    assert spend_all(killed) == 0


def test_a_head_that_cannot_be_written_grants_nothing(killed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = open_ledger(str(killed))

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Mark, "write", full)
    with pytest.raises(GridveilError, check=has_code("ledger-unsure")) as refused:
        spend(ledger, "0.25")
    assert "No space left" in str(refused.value.__cause__)
    monkeypatch.undo()
    assert ledger.standing("town").spent == Fraction(1, 2)
    assert spend_all(killed) == 2


def test_a_leftover_of_a_killed_writer_is_in_nobodys_way(killed: Path) -> None:
    head_of(killed).with_name("town.ledger.head-new").write_text("x")
    assert spend_all(killed) == 3
    assert json.loads(head_of(killed).read_text())["heads"]["town"][0] == 4


def test_a_write_ahead_log_is_refused(killed: Path) -> None:
    ledger = open_ledger(str(killed))
    with closing(sqlite3.connect(killed)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    with pytest.raises(InputError, check=has_code("ledger-journal", "wal", "PRAGMA journal_mode = DELETE")):
        open_ledger(str(killed))
    with pytest.raises(InputError, check=has_code("ledger-journal", "wal")):
        spend(ledger, "0.25")


def test_only_a_file_has_a_head(postgres: str) -> None:
    with pytest.raises(UsageError, check=has_code("head-without-file")):
        create_ledger(postgres).new_head([])
