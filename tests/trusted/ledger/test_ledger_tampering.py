"""Whatever is changed in a store is noticed, or needs an earlier export to be noticed; then that is enough."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.codes import has_code
from tests.trusted.ledger.books import DAY, FILES, WEEKS, copy_ledger, spend
from tests.trusted.ledger.forgery import Execute, digest, forge, tampering

from gridveil.model.errors import InputError
from gridveil.trusted.ledger.book import Ledger, create_ledger, open_ledger
from gridveil.trusted.ledger.entry import Entry, to_canonical
from gridveil.trusted.ledger.population import Population

LAST = 5


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A population (entry 0), three debits (1 to 3), and the releases of two (4 and 5); another one beside it."""
    path = tmp_path_factory.mktemp("made") / "ledger.db"
    ledger = create_ledger(str(path))
    ledger.add_population(Population("town", Fraction(1)))
    ledger.add_population(WEEKS)
    debits = [spend(ledger, epsilon, population="town").entry for epsilon in ("0.1", "0.2", "0.3")]
    for debit in debits[:2]:
        assert debit is not None
        ledger.record_release(debit.hash, FILES)
    return path


@pytest.fixture
def ledger(where: str, made: Path) -> Ledger:
    """The same in each kind of store."""
    if where.startswith("postgresql"):
        ledger, model = create_ledger(where), open_ledger(str(made))
        for population in ("town", "weeks"):
            forge(where, model.entries(population))
    else:
        copy_ledger(made, Path(where))
        ledger = open_ledger(where)
    assert ledger.verify() == []
    return ledger


in_a_file = pytest.mark.parametrize("where", ["sqlite"], indirect=True)
"""For what is decided about a chain, wherever it is kept."""


def rewrite(entry: Entry, *, rehash: bool, **changes: Any) -> Callable[[Execute], None]:
    """Change fields of one entry, and perhaps its hash with them."""
    text = replace(entry, **changes).text
    assert text != entry.text
    kept = digest(text) if rehash else entry.hash
    return lambda execute: execute(
        "UPDATE entries SET text = ?, hash = ? WHERE population = 'town' AND number = ?", text, kept, entry.number
    )


@in_a_file
@pytest.mark.parametrize("number", range(LAST + 1))
@pytest.mark.parametrize("rehash", [False, True])
def test_a_changed_entry_is_noticed(where: str, ledger: Ledger, number: int, rehash: bool) -> None:  # noqa: FBT001  # a case
    exported = ledger.entries("town")
    entry = exported[number]
    body = {
        "population": {"cap": "2", "unit": "household"},
        "debit": {**entry.body, "epsilon": "1/20"},
        "release": {**entry.body, "files": {"consumption.nc": 64 * "c"}},
    }[entry.kind]
    changes: list[dict[str, Any]] = [
        {"body": body},
        {"nonce": 32 * "0"},
        {"at": "1999-01-01"},
        {"previous": 64 * "1"},
        {"number": 17},
        {"population": "weeks"},
    ]
    for change in changes:
        with tampering(where) as execute:
            rewrite(entry, rehash=rehash, **change)(execute)
        told = " ".join(ledger.verify())
        assert "population town, entry " in told
        # Without a new hash the entry itself does not fit; with one, the next does not, or the head.
        assert f"entry {number}:" in told or (rehash and f"entry {number + 1}:" in told)
        assert f"population town, entry {number}: it is another one" in " ".join(ledger.check_against(exported))
        with pytest.raises(InputError, check=has_code("ledger-damaged")):
            ledger.permit("town", Fraction(1, 10), [DAY], {})
        with tampering(where) as execute:
            execute(
                "UPDATE entries SET text = ?, hash = ? WHERE population = 'town' AND number = ?",
                entry.text,
                entry.hash,
                number,
            )
        assert ledger.verify() == []


EDITS = {
    "a middle entry is gone": (
        ["DELETE FROM entries WHERE population = 'town' AND number = 2"],
        "entry 3: entry 2 is expected here",
    ),
    "the first is gone": (
        ["DELETE FROM entries WHERE population = 'town' AND number = 0"],
        "entry 1: entry 0 is expected",
    ),
    "the last is gone": (
        ["DELETE FROM entries WHERE population = 'town' AND number = 5"],
        "entry 4: it ends the chain, but the list of heads has entry 5",
    ),
    "all are gone": (["DELETE FROM entries WHERE population = 'town'"], "all its entries are gone"),
    "the head is gone": (["DELETE FROM heads WHERE population = 'town'"], "has no last entry"),
    "the head is another": (["UPDATE heads SET hash = 'x' WHERE population = 'town'"], "or another one of this number"),
    "two have changed places": (
        [
            "UPDATE entries SET number = 99 WHERE population = 'town' AND number = 2",
            "UPDATE entries SET number = 2 WHERE population = 'town' AND number = 3",
            "UPDATE entries SET number = 3 WHERE population = 'town' AND number = 99",
        ],
        "entry 2: it was written as entry 3",
    ),
    "one is there again at the end": (
        [
            "INSERT INTO entries SELECT population, 6, 'x', text FROM entries WHERE population = 'town' AND number = 2",
            "UPDATE heads SET number = 6, hash = 'x' WHERE population = 'town'",
        ],
        "entry 6: it was written as entry 2",
    ),
    "blanks are added": (
        ["UPDATE entries SET text = text || ' ' WHERE population = 'town' AND number = 2"],
        "not in canonical form",
    ),
    "it is no entry": (
        ["UPDATE entries SET text = 'x' WHERE population = 'town' AND number = 2"],
        "it is no JSON text",
    ),
    "they are of another population": (
        [
            "UPDATE entries SET population = 'town2' WHERE population = 'town'",
            "UPDATE heads SET population = 'town2' WHERE population = 'town'",
        ],
        "population town2, entry 0: it was written as entry 0 of population town",
    ),
}


@pytest.mark.parametrize("edit", EDITS)
def test_edits_of_the_store_are_noticed(where: str, ledger: Ledger, edit: str) -> None:
    exported = ledger.entries("town")
    statements, told = EDITS[edit]
    with tampering(where) as execute:
        for statement in statements:
            execute(statement)
    assert told in " ".join(ledger.verify())
    with pytest.raises(InputError, check=has_code("ledger-damaged")):
        ledger.record_release(exported[3].hash, FILES)
    assert ledger.standing("weeks").spent == 0  # the other chain is sound


def test_a_chain_cut_together_with_its_head_shows_against_an_earlier_export_only(where: str, ledger: Ledger) -> None:
    exported = ledger.entries("town")
    forge(where, exported[:-1])
    assert ledger.verify() == []
    assert ledger.check_against(exported[:-1]) == []
    (fault,) = ledger.check_against(exported)
    assert fault.startswith("population town, entry 5: it was exported earlier and is gone")


def test_a_chain_written_anew_shows_against_an_earlier_export_only(where: str, ledger: Ledger) -> None:
    exported = ledger.entries("town")
    forge(where, [replace(exported[0], body={"cap": "100", "unit": "household"}), *exported[1:4]])
    assert ledger.verify() == []
    assert len(ledger.check_against(exported)) == 6


def debit(entry: Entry, epsilon: str) -> Entry:
    return replace(entry, body={**entry.body, "epsilon": epsilon})


FORGERIES: dict[str, tuple[Callable[[list[Entry]], list[Entry]], str]] = {
    "over the cap": (
        lambda chain: [*chain[:3], debit(chain[3], "4/5"), *chain[4:]],
        "entry 3: this debit takes it to epsilon 1.1, over the cap of 1",
    ),
    "over the cap at the end": (
        lambda chain: [*chain, debit(chain[3], "41/100")],
        "entry 6: this debit takes it to epsilon 1.01",
    ),
    "no population": (lambda chain: chain[1:4], "entry 0: a chain begins with its population, not with a debit"),
    "two populations": (lambda chain: [*chain[:2], chain[0]], "entry 2: a chain has one population"),
    "a release without a debit": (
        lambda chain: [chain[0], chain[4]],
        "entry 1: the release refers to no debit before it",
    ),
    "a release twice": (lambda chain: [*chain, chain[4]], "entry 6: the release refers to no debit before it, or"),
    "a cap of nothing": (
        lambda chain: [replace(chain[0], body={"cap": "0", "unit": "household"})],
        "its body is not as",
    ),
    "a unit unheard of": (lambda chain: [replace(chain[0], body={"cap": "1", "unit": "person"})], "its body is not as"),
    "a timezone unheard of": (lambda chain: [replace(chain[0], body={**WEEKS.body(), "timezone": "x"})], "not known"),
    "a field too many": (
        lambda chain: [chain[0], replace(chain[1], body={**chain[1].body, "count": 3})],
        "its body is",
    ),
    "a negative debit": (lambda chain: [chain[0], debit(chain[1], "-1")], "its body is not as"),
    "an amount not in lowest terms": (lambda chain: [chain[0], debit(chain[1], "2/20")], "its body is not as"),
    "a date that is none": (lambda chain: [replace(chain[0], at="2013-02-30")], "its at is not as"),
    "a time of day": (lambda chain: [replace(chain[0], at="2013-02-03T00:00:00Z")], "its at is not as"),
}


@in_a_file
@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_chain_that_no_ledger_would_write_is_noticed_though_its_hashes_fit(
    where: str, ledger: Ledger, forgery: str
) -> None:
    change, told = FORGERIES[forgery]
    chain = ledger.entries("town")
    forge(where, change(chain))
    faults = ledger.verify()
    assert told in " ".join(faults)
    assert all(fault.startswith("population town") for fault in faults)


STATEMENTS = [
    "UPDATE entries SET text = text",
    "UPDATE entries SET number = number + 1",
    "DELETE FROM entries",
    "DELETE FROM entries WHERE population = 'town' AND number = 5",
    "DELETE FROM heads",
    "UPDATE heads SET number = number - 1",
    "UPDATE heads SET hash = 'x'",
    "UPDATE heads SET population = 'x', number = number + 1",
]
REPLACEMENTS = [
    "INSERT OR REPLACE INTO entries VALUES ('town', 5, 'x', 'x')",
    "INSERT OR REPLACE INTO heads VALUES ('town', 0, 'x')",
    "REPLACE INTO entries SELECT 'town', 6, hash, text FROM entries WHERE number = 2",
]


def test_a_store_only_grows(where: str, ledger: Ledger) -> None:
    before = ledger.entries("town")
    if where.startswith("postgresql"):
        for statement in [*STATEMENTS, "TRUNCATE entries", "TRUNCATE heads"]:
            with psycopg.connect(where) as connection:
                connection.execute("SET search_path = gridveil_ledger")
                with pytest.raises(psycopg.errors.RaiseException, match="a ledger only grows"):
                    connection.execute(statement.encode())
    else:
        for statement in STATEMENTS + REPLACEMENTS:
            with closing(sqlite3.connect(where)) as connection:
                with pytest.raises(sqlite3.IntegrityError, match="a ledger only grows"):
                    connection.execute(statement)
                connection.commit()
    assert ledger.entries("town") == before
    assert ledger.verify() == []


def test_missing_triggers_are_noticed(where: str, ledger: Ledger) -> None:
    if where.startswith("postgresql"):
        with psycopg.connect(where) as connection:
            connection.execute("ALTER TABLE gridveil_ledger.entries DISABLE TRIGGER entries_stay")
    else:
        with closing(sqlite3.connect(where)) as connection:
            connection.execute("DROP TRIGGER entries_stay")
    (fault,) = ledger.verify()
    assert "entries_stay" in fault


def test_the_canonical_text_is_the_only_one() -> None:
    entry = Entry.after(None, "population", "town", {"cap": "1", "unit": "household"})
    assert Entry.from_text(entry.text).hash == entry.hash
    fields = {"version": 1, **{name: getattr(entry, name) for name in entry.__dataclass_fields__}}
    assert to_canonical(fields) == entry.text
    for text in (
        *("", "[]", "null", "1", "{}", "{", "\ud800", 100_000 * "[", "1" * 10_000),
        entry.text.replace(":", ": "),
        entry.text.replace('"number":0', '"number":0.0'),
        entry.text.replace('"number":0', '"number":false'),
        entry.text.replace('"number":0', '"number":-1'),
        entry.text.replace('"number":0', '"number":0,"number":0'),
        entry.text.replace('"number":0', '"number":NaN'),
        entry.text.replace('"number":0', '"number":1e999'),
        entry.text.replace('"version":1', '"version":2'),
        entry.text.replace('"version":1', '"version":true'),
        entry.text.replace("town", "t\u00f6wn"),
        entry.text.replace("population", "people"),
        entry.text.replace('"kind":"population"', '"kind":"debit"'),
    ):
        with pytest.raises(InputError, check=has_code("entry-invalid")):
            Entry.from_text(text)
