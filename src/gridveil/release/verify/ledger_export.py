"""An export of a ledger: each entry's exact text, one a line."""

from __future__ import annotations

from pathlib import Path

from gridveil.model.errors import InputError
from gridveil.model.regular import read_regular
from gridveil.trusted.ledger.chain import Chain, ChainLine
from gridveil.trusted.ledger.entry import Entry

LARGEST_EXPORT = 2**28
"""Bytes: some hundred thousand entries."""


class Export:
    """What a ledger held when it was exported, for whoever has no access to the ledger itself.

    Guarantee: as of `Chain.faults`, but that a chain cut at its end is as sound as a whole one: an export has no list
    of heads.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        lines: dict[str, list[ChainLine]] = {}
        for entry in read_export(path, "--ledger"):
            lines.setdefault(entry.population, []).append(ChainLine(entry.number, entry.hash, entry.text))
        self._chains = {name: Chain(name, own, (own[-1].number, own[-1].hash)) for name, own in lines.items()}

    def entries(self, population: str) -> list[Entry]:
        """Return a population's whole chain."""
        if population not in self._chains:
            msg = f"{self._path}: no population {population}; there are: {', '.join(sorted(self._chains))}"
            raise InputError(msg, code="population-unknown")
        return self._chains[population].entries

    def verify(self) -> list[str]:
        """Return everything that is wrong, in plain words."""
        return [fault for name in sorted(self._chains) for fault in self._chains[name].faults()]


def is_export(path: Path) -> bool:
    """Whether a file begins as an export does, and no SQLite file."""
    try:
        return read_regular(path, 0) == b"{"
    except (OSError, ValueError):
        return False


def read_export(path: Path, option: str) -> list[Entry]:
    """Return the entries of an export that an option names; whether they make sound chains is another question."""
    try:
        raw = read_regular(path, LARGEST_EXPORT)
        lines = raw.decode("ascii").splitlines()
    except (OSError, ValueError) as error:
        msg = f"{option} {path}: not to be read as an export ({error}); give a file that `ledger export` wrote"
        raise InputError(msg, code="export-file-unreadable") from error
    if len(raw) > LARGEST_EXPORT:
        msg = f"{option} {path}: it is larger than any export; give a file that `ledger export` wrote"
        raise InputError(msg, code="export-file-too-large")
    entries = []
    for number, line in enumerate(lines, start=1):
        try:
            entries.append(Entry.from_text(line))
        except InputError as error:
            msg = f"{option} {path}, line {number}: {error}; give a file as `ledger export` wrote it"
            raise InputError(msg, code="export-file-line") from error
    if not entries:
        msg = f"{option} {path}: it is empty; give a file that `ledger export` wrote"
        raise InputError(msg, code="export-file-empty")
    return entries
