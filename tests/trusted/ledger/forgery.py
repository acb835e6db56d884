"""What someone who can write to a ledger's store may do to it."""

import hashlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg

from gridveil.trusted.ledger.entry import NO_HASH, Entry
from gridveil.trusted.ledger.stores.sqlite import SCHEMA
from gridveil.trusted.ledger.stores.store import Mark

Execute = Callable[..., Any]


@contextmanager
def tampering(where: str) -> Iterator[Execute]:
    """Give a way past the triggers, which are back in place afterwards: they leave no trace."""
    if where.startswith("postgresql"):
        with psycopg.connect(where) as connection:
            for table in ("entries", "heads"):
                connection.execute(f"ALTER TABLE gridveil_ledger.{table} DISABLE TRIGGER USER".encode())
            connection.execute("SET LOCAL search_path = gridveil_ledger")
            yield lambda sql, *values: connection.execute(sql.replace("?", "%s").encode(), values)
            for table in ("entries", "heads"):
                connection.execute(f"ALTER TABLE gridveil_ledger.{table} ENABLE TRIGGER USER".encode())
        return
    with closing(sqlite3.connect(where)) as connection, connection:  # type: ignore[assignment]  # a connection is its own context
        connection.execute("PRAGMA synchronous = OFF")
        triggers = [name for name, sql in SCHEMA.items() if "TRIGGER" in sql]
        for name in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        yield lambda sql, *values: connection.execute(sql, values)
        for name in triggers:
            connection.execute(SCHEMA[name])


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def forge(where: str, entries: Sequence[Entry]) -> None:
    """Put another chain in the place of one, with hashes, links and head that fit."""
    name, previous = entries[0].population, NO_HASH
    with tampering(where) as execute:
        execute("DELETE FROM entries WHERE population = ?", name)
        for number, entry in enumerate(entries):
            linked = replace(entry, number=number, previous=previous)
            previous = linked.hash
            execute("INSERT INTO entries VALUES (?, ?, ?, ?)", name, number, previous, linked.text)
        execute("DELETE FROM heads WHERE population = ?", name)
        execute("INSERT INTO heads VALUES (?, ?, ?)", name, len(entries) - 1, previous)
    if not where.startswith("postgresql"):
        mark = Mark(Path(where))
        mark.write({**(mark.read() or {}), name: (len(entries) - 1, previous)})
