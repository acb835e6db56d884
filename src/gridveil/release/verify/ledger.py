"""Compare a release with the ledger: the entry in its folder, an export, or the ledger itself."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from pydantic import ValidationError

from gridveil.model.arrays import WH_PER_KWH
from gridveil.model.errors import GridveilError, InputError
from gridveil.model.files import read_regular
from gridveil.release.format.files import LABEL
from gridveil.release.format.label import DebitFacts, Label, StatedBound
from gridveil.trusted.budget import Bound
from gridveil.trusted.ledger.chain import Chain, ChainLine
from gridveil.trusted.ledger.entry import Entry
from gridveil.trusted.ledger.population import Read

# An export of a ledger: each entry's exact text, one a line.

MAX_EXPORT_BYTES = 2**28
"""Bytes: some hundred thousand entries."""


class Export:
    """What a ledger held when it was exported, for those who have no access to the ledger itself.

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
        raw = read_regular(path, MAX_EXPORT_BYTES)
        lines = raw.decode("ascii").splitlines()
    except (OSError, ValueError) as error:
        msg = f"{option} {path}: not to be read as an export ({error}); give a file that `ledger export` wrote"
        raise InputError(msg, code="export-file-unreadable") from error
    if len(raw) > MAX_EXPORT_BYTES:
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


# Whether a release and a ledger agree: the entry in its folder, and the ledger itself.

MAX_ENTRY_BYTES = 2**22


NOT_DEBITED = "this release was not debited to that ledger: give the ledger that it names, or ask the publisher"
NOT_SOUND = "that ledger shows nothing while it has faults: ask the publisher for a sound one, or an export of it"


class LedgerFaultError(ValueError):
    """A fault that no fresh copy of the release would mend, and what would."""

    def __init__(self, fault: str, remedy: str) -> None:
        super().__init__(fault)
        self.remedy = remedy


class Book(Protocol):
    """What is asked of a ledger, or of an export of one."""

    def verify(self) -> list[str]:
        """Return what is wrong with it, in plain words."""

    def entries(self, population: str) -> list[Entry]:
        """Return a population's whole chain."""


def check_entry(path: Path, label: Label) -> str:
    """Return what was compared of an entry's file and its label, or raise with what differs."""
    stated = label.ledger_entry
    if stated is None:
        msg = f"it is there, though {LABEL} says that there is no ledger"
        raise ValueError(msg)
    raw = read_regular(path, MAX_ENTRY_BYTES)
    if len(raw) > MAX_ENTRY_BYTES or sha256(raw).hexdigest() != stated.hash:
        msg = f"it is not the entry {stated.hash[:12]} of {LABEL}: its digest is another"
        raise ValueError(msg)
    entry = Entry.from_text(raw.decode("ascii"))
    if entry.kind != "debit":
        msg = f"it is a {entry.kind}, not a debit"
        raise ValueError(msg)
    windows = {"published": label.window, **({"training": label.training_window} if label.training_window else {})}
    reads = [Read.of(name, window.window()).body() for name, window in windows.items()]
    apart = [
        *(["population"] if entry.population != stated.population else []),
        *(["epsilon"] if float(Fraction(entry.body["epsilon"])) != label.privacy.epsilon else []),
        *(["reads"] if entry.body["reads"] != reads else []),
        *find_differences(entry.body["spec"], label),
    ]
    if apart:
        msg = f"the entry and {LABEL} differ in: {', '.join(apart)}"
        raise ValueError(msg)
    return f"it has the hash, epsilon, windows, settings and stated bound of {LABEL}"


def check_ledger(ledger: Book, label: Label, digests: Mapping[str, str]) -> str:
    """Return what was found in a ledger, or raise with what is wrong there or not there at all."""
    debit, recorded = _find_debit(ledger, label)
    if recorded is None:
        msg = (
            "it has the debit, but no record of these files: they are not what was published, or publishing was "
            "interrupted right after they were written"
        )
        raise ValueError(msg)
    if recorded != dict(digests):
        msg = "it recorded other files under this entry: these are not what was published"
        raise ValueError(msg)
    return f"entry {debit.number} of population '{debit.population}' debits this release, and recorded these very files"


def recorded_files(ledger: Book, label: Label) -> dict[str, str] | None:
    """Return the digests that a ledger recorded under a label's debit, if it did; raise as `check_ledger` does."""
    return _find_debit(ledger, label)[1]


def _find_debit(ledger: Book, label: Label) -> tuple[Entry, dict[str, str] | None]:
    """Return a label's debit and the files recorded under it, once label and chain say the same."""
    stated = label.ledger_entry
    if stated is None:
        msg = f"{LABEL} names no entry of a ledger: nothing was debited for this release"
        raise LedgerFaultError(msg, NOT_DEBITED)
    faults = ledger.verify()
    if faults:
        msg = f"the ledger itself is not sound ({faults[0]}): run `gridveil ledger verify`"
        raise LedgerFaultError(msg, NOT_SOUND)
    try:
        entries = ledger.entries(stated.population)
    except GridveilError as error:  # no such population
        raise LedgerFaultError(str(error), NOT_DEBITED) from error
    debit = next((entry for entry in entries if entry.hash == stated.hash and entry.kind == "debit"), None)
    if debit is None:
        msg = f"it has no entry {stated.hash[:12]} for population '{stated.population}'"
        raise LedgerFaultError(msg, NOT_DEBITED)
    _check_standing(entries[: debit.number + 1], label)
    recorded = [entry for entry in entries if entry.kind == "release" and entry.body["debit"] == debit.hash]
    return debit, recorded[0].body["files"] if recorded else None


def _check_standing(entries: list[Entry], label: Label) -> None:
    """Refuse a label whose amounts are not those of the chain up to its debit."""
    from gridveil.trusted.ledger.chain import Tally

    first, *later, debit = entries
    tally = Tally.of([first, *later])
    standing, population, stated = tally.add(debit), tally.population, label.ledger_entry
    in_window = standing.worst if population.unit == "household-window" else None
    facts = {
        "unit": population.unit,
        "window": population.window,
        "timezone": population.timezone,
        "cap": population.cap,
        "spent": standing.spent,
        "spent_in_window": in_window,
    }
    in_label = {name: getattr(stated, name) for name in facts}
    amounts = ("cap", "spent", "spent_in_window")
    in_label |= {name: Fraction(in_label[name]) for name in amounts if in_label[name] is not None}
    apart = [name for name, value in facts.items() if in_label[name] != value]
    if apart:
        msg = f"it differs from {LABEL} in: {', '.join(apart)}"
        raise ValueError(msg)


def find_differences(body: dict[str, Any], label: Label) -> list[str]:
    """Return the settings of a debit that are not those of a label."""
    facts = label.model_dump(mode="json")
    facts.update(mechanism=facts["mechanism"]["name"], parameters=facts["mechanism"]["parameters"])
    apart = [name for name in DebitFacts.model_fields if name != "bound" and body.get(name) != facts[name]]
    return apart if _bounds_follow(body.get("bound"), label) else [*apart, "bound"]


def _bounds_follow(stated: object, label: Label) -> bool:
    """Whether a label's bounds follow from what a debit says was stated.

    The step's never changes. The window's is carried over to other windows pro rata; where its origin is another than
    "stated", one was chosen, and none that is higher. If none was stated, it is at most what the steps add up to.
    """
    try:
        given = StatedBound.model_validate(stated)
        step = _watt_hours(given.step_kwh)
        window = step * label.window.steps if given.window_kwh is None else _watt_hours(given.window_kwh)
        bound = Bound(step, window)
    except (ValidationError, GridveilError):
        return False
    for used in label.bounds:
        largest, here = bound.prorate(label.window.steps, used.steps).window, _watt_hours(used.window_kwh)
        stated = used.window_origin == "stated"
        if (
            _watt_hours(used.step_kwh) != step
            or here > largest
            or (stated and (given.window_kwh is None or here != largest))
        ):
            return False
    return given.origin == label.bound_origin


def _watt_hours(kwh: float) -> int:
    return round(Fraction(kwh) * WH_PER_KWH)  # which no float is too large for
