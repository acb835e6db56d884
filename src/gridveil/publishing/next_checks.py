"""Checks and recovery of a series before a run reads anything: its folder, its ledger, the files that it needs."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from datetime import date, timedelta
from hashlib import sha256
from pathlib import Path

from gridveil.model.errors import GridveilError, GridveilWarning, InputError, UsageError
from gridveil.model.files import read_regular, set_times
from gridveil.model.window import Window
from gridveil.publishing.schedule import CHECKED_PERIOD, LOCK, Schedule, Turn
from gridveil.publishing.spec import Spec
from gridveil.release.format import wording
from gridveil.release.format.facts import GridFacts, WindowFacts
from gridveil.release.format.files import ENTRY, LABEL, SUMS, digest, load_label, read_sums
from gridveil.release.format.label import Label
from gridveil.release.series.catalogue import CATALOGUE, Catalogue, Listed, is_series, read_catalogue, write_catalogue
from gridveil.release.series.series import read_part
from gridveil.release.verify.ledger import MAX_ENTRY_BYTES, LedgerFaultError, check_ledger, recorded_files
from gridveil.release.verify.release import verify
from gridveil.trusted.engines.base.schema import find_files, find_partitions, has_fields
from gridveil.trusted.ledger.book import Ledger, is_address, open_ledger
from gridveil.trusted.ledger.population import Population, Read

# Checks before a run reads anything.
#
# All of it is public: settings, names of files, and the ledger.

WILDCARD = re.compile(r"[%*?\[]")
MAX_NAMED = 3

RESTORE_HELP = (
    "bring back the ledger that they were debited to, whole: its newest backup (of a file with its .head), checked "
    "with gridveil ledger verify LEDGER RELEASE... --against EXPORT. If it is lost for good, the series ends here; "
    "begin another one with a new ledger and another --out, and state in its spec (choices) what this one has spent"
)


def check_apart(spec: Spec, folder: Path) -> None:
    """Refuse a series, which is published, in one folder with the private tables, or among the readings' folders."""
    series = Path(os.path.realpath(folder))
    for table in (spec.readings, spec.households):
        if table is None or "://" in table.path or table.path == table.table or not spec.reads_files:
            continue
        fixed = Path(os.path.realpath(_find_fixed_part(table.path)))
        if fixed.is_relative_to(series):
            where = f"{table.path}, which is private, would be in it"
        elif has_fields(table.path) and series.is_relative_to(fixed):
            where = f"it would be among the folders of {table.path}, which are private"
        else:
            continue
        msg = f"{folder}: a series is published, and {where}; give the series a folder of its own (--out)"
        raise UsageError(msg, code="series-inside-other")


def check_listed(folder: Path, catalogue: Catalogue) -> None:
    """Refuse to go on with a series of which releases are gone: readers would find it broken."""
    for listed in catalogue.releases:
        if not (folder / listed.path).is_dir():
            msg = (
                f"{folder / listed.path}: {CATALOGUE} lists it, and it is missing. Nothing was published. Put it back "
                "as it was published: recipients cannot open a series without it"
            )
            raise InputError(msg, code="series-release-missing")


def check_calendar(spec: Spec, schedule: Schedule) -> None:
    """Refuse a ledger whose windows those of the series cross, in any window of a year: later would be too late."""
    population = None if spec.ledger is None else _find_population(_open_ledger(spec), spec.population)
    if population is None or population.window is None:
        return
    for turn in schedule.turns():
        if turn.window.start > schedule.start + CHECKED_PERIOD:
            return
        if len(population.windows(Read.of("published", turn.window))) > 1:
            msg = (
                f"the ledger counts {population.window}s of {population.timezone}, the series {schedule.cadence}s of "
                f"{schedule.timezone}, and the {schedule.cadence} {turn.name} is not inside one of the ledger's: make "
                f"a population with --unit household-window --window {schedule.cadence} --timezone {schedule.timezone} "
                "(gridveil ledger init), and name it (--population)"
            )
            raise UsageError(msg, code="calendars-differ")


def check_debits(spec: Spec, folder: Path, catalogue: Catalogue) -> tuple[GridveilWarning, ...]:
    """Refuse a ledger that does not know the debits of this series: the sum that labels tell would begin anew.

    Return what is to be said of releases that no ledger kept count of.
    """
    if spec.ledger is None:
        return ()
    ledger = open_ledger(spec.ledger)
    population = _find_population(ledger, spec.population)
    if population is None:
        return ()
    known = {entry.hash for entry in ledger.entries(population.name) if entry.kind == "debit"}
    debits = {listed.path: _read_debit(folder, listed) for listed in catalogue.releases}
    missing = [path for path, debit in debits.items() if debit is not None and debit not in known]
    if missing:
        others = f" and {len(missing) - MAX_NAMED} more" if len(missing) > MAX_NAMED else ""
        msg = (
            f"{ledger.where}: population '{population.name}' has no debit of {', '.join(missing[:MAX_NAMED])}{others}"
            f", so that labels would tell a sum without them, though the series {folder} has them. Nothing was read, "
            f"published or debited. Give the population of these releases (--population), or {RESTORE_HELP}"
        )
        raise InputError(msg, code="debit-missing")
    uncounted = [path for path, debit in debits.items() if debit is None]
    if not uncounted:
        return ()
    msg = (
        f"WARNING: {len(uncounted)} of the earlier releases of this series were published with --no-ledger "
        f"({', '.join(uncounted[:1])} is the first). The ledger's sum, which the label tells, is without them."
    )
    return (GridveilWarning(msg, code="releases-without-ledger", figures={"releases": len(uncounted)}),)


def find_missing_interval(spec: Spec, window: Window) -> str | None:
    """Return where the last interval of a window is, if that is the day after it and there is no such file yet.

    Timestamps that mark the end of an interval file the last one of a day, which ends at midnight, under the next day.
    """
    at = spec.readings
    if at is None or at.timestamps != "end" or "://" in at.path or not has_fields(at.path):
        return None
    here = find_partitions(at.path, window, at.timezone).needed
    after = find_partitions(at.path, Window(window.end, timedelta(seconds=1), 1), at.timezone).needed[0]
    if after in here or find_files(after) or not all(find_files(day) for day in here):  # said when these are opened
        return None
    return (
        f"the last interval of the window may be in {after}, which is not there yet: timestamps mark the end of "
        'intervals here (timestamps = "end"), and the last one ends when that day begins'
    )


def check_last_interval(spec: Spec, window: Window) -> None:
    """Refuse a window whose last interval has not arrived; which files there are is public."""
    missing = find_missing_interval(spec, window)
    if missing is not None:
        msg = f"{missing}. Nothing was published; wait until it is"
        raise InputError(msg, code="series-files-missing")


def _find_fixed_part(path: str) -> str:
    """Return the part of a path that holds for all files of it.

    >>> _find_fixed_part("lake/%Y/%m/*.parquet"), _find_fixed_part("readings.parquet"), _find_fixed_part("*.csv")
    ('lake', 'readings.parquet', '.')
    """
    if not WILDCARD.search(path) or Path(path).exists():
        return path
    parts = Path(path).parts
    return str(Path(*parts[: next(i for i, part in enumerate(parts) if WILDCARD.search(part))]))


def _find_population(ledger: Ledger, name: str | None) -> Population | None:
    """Return the population that would be debited; if it is not known, the debit says so."""
    there = ledger.populations()
    if name is None:
        return there[0] if len(there) == 1 else None
    return next((one for one in there if one.name == name), None)


def _open_ledger(spec: Spec) -> Ledger:
    """Open the ledger of a spec; who has debited to one before is not told to make another."""
    where, debited = spec.ledger or "", _has_debits(spec.out)
    if not is_address(where) and not os.path.lexists(where):
        msg = (
            f"{where}: there is no ledger, and releases of the series {spec.out} were debited to one; make no new one, "
            f"but {RESTORE_HELP}"
            if debited
            else f"{where}: there is no ledger; make one: gridveil ledger init {where} --population NAME --cap "
            f"EPSILON{spec.ledger_flags()}; gridveil ledger init --help says what the cap limits"
        )
        raise InputError(msg, code="series-ledger-missing")
    try:
        return open_ledger(where)
    except GridveilError as error:
        if debited:
            error.add_note(f"Releases of the series {spec.out} were debited to a ledger: if it is gone, {RESTORE_HELP}")
        raise


def _has_debits(folder: Path | None) -> bool:
    """Whether a series has releases that were debited."""
    if folder is None or not is_series(folder):
        return False
    return any(os.path.lexists(folder / listed.path / ENTRY) for listed in read_catalogue(folder).releases)


def _read_debit(folder: Path, listed: Listed) -> str | None:
    """Return the hash of a release's debit, which is the digest of its entry's file; `None` if there was no ledger."""
    with suppress(OSError, ValueError):  # it is not there, or no file: the label knows, too, but takes longer to read
        return sha256(read_regular(folder / listed.path / ENTRY, MAX_ENTRY_BYTES)).hexdigest()
    entry = read_part(folder, listed).label.ledger_entry
    return None if entry is None else entry.hash


# Recovery: releases that were written but not listed, because a run was stopped in between.


def find_next_turn(schedule: Schedule, catalogue: Catalogue) -> Turn:
    """Return the first window without a release, which must not overlap one that is there."""
    turn = schedule.next({listed.start for listed in catalogue.releases})
    for listed in catalogue.releases:
        if listed.start < turn.window.end and turn.window.start < listed.end:
            msg = f"the window {turn.name} overlaps the release {listed.path} of this series, and is not published"
            raise InputError(msg, code="window-overlaps")
    return turn


def adopt_unlisted(spec: Spec, schedule: Schedule, folder: Path, catalogue: Catalogue) -> Catalogue:
    """List releases that are there but not listed, if they are what a run of this series would have listed."""
    while os.path.lexists(folder / (turn := find_next_turn(schedule, catalogue)).name):
        if fault := _find_fault(spec, folder / turn.name, turn):
            msg = (
                f"{folder / turn.name}: it is there, but is no whole release of that window ({fault}). Nothing "
                "was published. Put back what was published, or move it away to have the window published, and "
                "debited, anew"
            )
            raise InputError(msg, code="release-not-whole")
        published = load_label(folder / turn.name / LABEL).published
        catalogue = list_release(catalogue, folder, turn, published)
    return catalogue


def list_release(catalogue: Catalogue, folder: Path, turn: Turn, published: date) -> Catalogue:
    """Write the catalogue with one more release, published on this day, and return it.

    Times of files must not depend on how long a run took, so all that was written or read here is set to this day:
    reading a file may change its time of access. Folders come last, because writing in one changes its time.
    """
    here, sums = turn.window, digest(folder / turn.name / SUMS)
    listed = Listed(path=turn.name, start=here.start, end=here.end, sha256=sums)
    releases = sorted((*catalogue.releases, listed), key=lambda one: one.start)
    longer = catalogue.model_copy(update={"releases": tuple(releases)})
    write_catalogue(folder, longer)
    release = folder / turn.name
    set_times(published, *release.iterdir(), release, folder / CATALOGUE, folder / LOCK, folder)
    return longer


def _find_fault(spec: Spec, release: Path, turn: Turn) -> str | None:
    """Return why this is no release of this window; the ledger's record of one that is is finished."""
    for check in verify(release):
        if check.verdict == "FAULT":
            return f"{check.what}: {check.finding}"
    label = load_label(release / LABEL)
    if label.window != WindowFacts.of(turn.window):
        return f"it is of {label.window.steps} steps from {label.window.start.isoformat()}"
    if label.grid != GridFacts.of(spec.to_grid()):
        return "it has another grid than the spec"
    if not label.private:
        return f"it is {wording.NOT_PRIVATE}"
    return None if spec.ledger is None else _find_ledger_fault(open_ledger(spec.ledger), release, label)


def _find_ledger_fault(ledger: Ledger, release: Path, label: Label) -> str | None:
    """Return what the ledger has against a release whose files fit its digests; record the files if it has not yet."""
    if label.ledger_entry is None:
        return "no ledger kept count of it"
    files = read_sums(release / SUMS)
    try:
        if recorded_files(ledger, label) is None:  # the run was stopped right before
            ledger.record_release(label.ledger_entry.hash, files)
        check_ledger(ledger, label, files)
    except LedgerFaultError as error:
        return f"ledger: {error}; {error.remedy}"
    except (GridveilError, ValueError) as error:
        return f"ledger: {error}"
    return None
