"""The debit of a publication in a ledger, and the operator's record of it. The record never leaves the operator."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

from gridveil.model.errors import GridveilWarning, UsageError
from gridveil.model.files import new_file
from gridveil.model.window import Window
from gridveil.release.format.facts import LedgerFacts
from gridveil.release.format.label import DebitFacts
from gridveil.release.format.wording import summarize_attacks
from gridveil.trusted.engines.base.schema import HouseholdsTable, ReadingsTable, list_files
from gridveil.trusted.engines.duckdb.tables import translate_errors
from gridveil.trusted.ledger.book import Debit, open_ledger
from gridveil.trusted.ledger.entry import format_amount
from gridveil.trusted.ledger.population import Population, Read
from gridveil.trusted.source.report import Report

# The operator's record of a publication: exact digests and counts. It never leaves the operator.

WARNING = (
    "For the operator only: exact digests and counts of private data tell for certain who is in it. "
    "Never publish this file."
)


def check_record(record: Path, out: Path) -> None:
    """Refuse, before anything is read or spent, a record that cannot be written, or that would be in the release."""
    if os.path.lexists(record):
        msg = f"{record}: already there, and never overwritten; give another --operator-record"
        raise UsageError(msg, code="record-exists")
    inside, release = Path(os.path.realpath(record)), Path(os.path.realpath(out))
    if inside.is_relative_to(release):
        msg = f"{record}: that is inside the release, and the record is for the operator only; keep it elsewhere"
        raise UsageError(msg, code="record-inside-release")
    folder = record.absolute().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        msg = f"{record}: its folder is not there, or not yours to write; give another --operator-record"
        raise UsageError(msg, code="record-folder")


def list_inputs(readings: ReadingsTable, households: HouseholdsTable, window: Window) -> list[dict[str, Any]]:
    """Return the files that a window is read from with their digests, to be taken before they are read.

    Of tables of a database, and files of a cluster, which are named alone, there are no digests.
    """
    away = [table for table in (readings, households) if table.path == table.table or "://" in table.path]
    tables = [{"table" if table.path == table.table else "path": table.path} for table in away]
    files = [
        file
        for table, within in ((readings, window), (households, None))
        if table not in away
        for file in list_files(table, within)
    ]
    return [*tables, *({"path": str(Path(file).absolute()), "sha256": _hash_file(file)} for file in files)]


def write_record(
    record: Path, *, files: list[dict[str, Any]], report: Report, release: Path, entry: str | None
) -> GridveilWarning | None:
    """Write the record to a new file that its owner alone may read, and return a warning if that fails."""
    content = {
        "warning": WARNING,
        "release": str(release.absolute()),
        "ledger_entry": entry,
        "inputs": files,
        "rows_of_readings": report.readings,
        "rows_counted": report.counted,
        "households_inside": report.households,
        "warnings": [warning.to_record() for warning in report.warnings],
        "faults": [fault.to_record() for fault in report.faults],
    }
    try:
        with new_file(record) as aside:
            aside.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    except (OSError, UsageError) as error:
        msg = f"WARNING: the release is valid, but the operator's record could not be written ({error})"
        return GridveilWarning(msg, code="record-not-written")
    return None


def _hash_file(file: str) -> str:
    with translate_errors(file), Path(file).open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


# The debit of a publication, and its description.


class Spending:
    """One publication's way to its ledger: leave before anything is read, the debit, and the record of the release.

    permit: what the kernel debits by.
    """

    def __init__(
        self, where: str, population: str | None, epsilon: Fraction, reads: Mapping[str, Window], facts: DebitFacts
    ) -> None:
        """Refuse at once what the ledger has no room for. Nothing is written yet."""
        self._ledger = open_ledger(where)
        named = [Read.of(name, window) for name, window in reads.items()]
        self.permit: Debit = self._ledger.permit(population, epsilon, named, facts.body())
        self._population: Population = next(
            known for known in self._ledger.populations() if known.name == self.permit.population
        )

    @contextmanager
    def until_released(self) -> Iterator[None]:
        """Add to whatever goes wrong here what became of the debit: there is no release, and it stays spent."""
        try:
            yield
        except BaseException as error:
            if note := self._describe_loss():
                error.add_note(note)
            raise

    def entry(self) -> tuple[LedgerFacts, str]:
        """Return what the label says of the debit, and the entry's exact text."""
        entry, standing, population = self.permit.entry, self.permit.standing, self._population
        if entry is None or standing is None:
            msg = "the mechanism measured nothing, so nothing was debited, and there is no release"
            raise UsageError(msg, code="nothing-measured")
        told = {
            "hash": entry.hash,
            "population": population.name,
            "unit": population.unit,
            "window": population.window,
            "timezone": population.timezone,
            "cap": format_amount(population.cap),
            "spent": format_amount(standing.spent),
            "spent_in_window": format_amount(standing.worst) if population.unit == "household-window" else None,
        }
        return LedgerFacts.model_validate(told), entry.text

    def record(self, files: Mapping[str, str]) -> GridveilWarning | None:
        """Write the digests of the finished release under its debit, and return a warning if that fails.

        The release is debited, whole and in its place by then: a failure here takes nothing from it.
        """
        facts, _ = self.entry()
        try:
            self._ledger.record_release(facts.hash, files)
        except Exception as error:  # noqa: BLE001  # whatever a store raises, the release stands
            msg = (
                f"WARNING: the release is valid and debited, but its files could not be recorded in the ledger "
                f"({error}): `gridveil ledger show` shows the debit without a release"
            )
            return GridveilWarning(msg, code="release-not-recorded")
        return None

    def _describe_loss(self) -> str | None:
        amount, whom = format_amount(self.permit.epsilon), f"population '{self._population.name}'"
        if self.permit.entry is not None:
            return (
                f"epsilon {amount} stays debited to {whom}, with no release (entry {self.permit.entry.hash[:12]}): an "
                f"answer may have been seen. To see it: gridveil ledger show {self._ledger.where}"
            )
        return None


def describe_debit(facts: LedgerFacts, epsilon: Fraction) -> list[str]:
    """Return what was debited, and what there is left, for whoever runs a command. All of it is public."""
    spent, cap = Fraction(facts.spent), Fraction(facts.cap)
    what = f"Debited epsilon {format_amount(epsilon)} to population '{facts.population}' (entry {facts.hash[:12]})."
    total = f"All releases of this population so far have epsilon {format_amount(spent)} together."
    so_far = f"{total} {summarize_attacks(float(spent))}"
    if facts.spent_in_window is None:
        left = (
            f"It has spent {format_amount(spent)} of {format_amount(cap)}, and has {format_amount(cap - spent)} left."
        )
        return [what, left, so_far]
    here = Fraction(facts.spent_in_window)
    left = (
        f"Each {facts.window} has its own cap of {format_amount(cap)}. The {facts.window} read here with the least "
        f"left has spent {format_amount(here)}, and has {format_amount(cap - here)} left."
    )
    return [what, left, so_far]
