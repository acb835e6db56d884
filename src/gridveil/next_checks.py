"""What a run of a series checks before it reads anything: its folder, the ledger's calendar, the files that it needs.

All of it is public: settings, names of files, and the ledger.
"""

from __future__ import annotations

import os
import re
from datetime import timedelta
from pathlib import Path

from gridveil.cube import Window
from gridveil.errors import InputError, UsageError
from gridveil.ingest.partitions import find_files, has_fields, partitions
from gridveil.privacy.ledger.book import Ledger, open_ledger
from gridveil.privacy.ledger.place import is_address
from gridveil.privacy.ledger.population import Population, Read
from gridveil.release.catalogue import CATALOGUE, Catalogue
from gridveil.schedule import AHEAD, Schedule
from gridveil.spec import Spec

WILD = re.compile(r"[%*?\[]")


def check_apart(spec: Spec, folder: Path) -> None:
    """Refuse a series, which is published, in one folder with the private tables, or among the readings' folders."""
    series = Path(os.path.realpath(folder))
    for table in (spec.readings, spec.households):
        if table is None or "://" in table.path or table.path == table.table or spec.engine == "postgres":
            continue
        fixed = Path(os.path.realpath(_fixed(table.path)))
        if fixed.is_relative_to(series):
            where = f"{table.path}, which is private, would be in it"
        elif has_fields(table.path) and series.is_relative_to(fixed):
            where = f"it would be among the folders of {table.path}, which are private"
        else:
            continue
        msg = f"{folder}: a series is published, and {where}; give the series a folder of its own (--out)"
        raise UsageError(msg)


def check_listed(folder: Path, catalogue: Catalogue) -> None:
    """Refuse to go on with a series of which releases are gone: readers would find it broken."""
    for listed in catalogue.releases:
        if not (folder / listed.path).is_dir():
            msg = (
                f"{folder / listed.path}: {CATALOGUE} lists it, and it is missing. Nothing was published. Put it back "
                "as it was published: recipients cannot open a series without it"
            )
            raise InputError(msg)


def check_calendar(spec: Spec, schedule: Schedule) -> None:
    """Refuse a ledger whose windows those of the series cross, in any window of a year: later would be too late."""
    if spec.ledger is not None and not is_address(spec.ledger) and not os.path.lexists(spec.ledger):
        msg = (
            f"{spec.ledger}: there is no ledger; make one: gridveil ledger init {spec.ledger} --population NAME --cap "
            f"EPSILON{spec.ledger_flags()} (docs/regular-publication.md, The ledger)"
        )
        raise InputError(msg)
    population = None if spec.ledger is None else _population(open_ledger(spec.ledger), spec.population)
    if population is None or population.window is None:
        return
    for turn in schedule.turns():
        if turn.window.start > schedule.start + AHEAD:
            return
        if len(population.windows(Read.of("published", turn.window))) > 1:
            msg = (
                f"the ledger counts {population.window}s of {population.timezone}, the series {schedule.cadence}s of "
                f"{schedule.timezone}, and the {schedule.cadence} {turn.name} is not inside one of the ledger's: make "
                f"a population with --unit household-window --window {schedule.cadence} --timezone {schedule.timezone} "
                "(gridveil ledger init), and name it (--population)"
            )
            raise UsageError(msg)


def missing_interval(spec: Spec, window: Window) -> str | None:
    """Return where the last interval of a window is, if that is the day after it and there is no such file yet.

    Timestamps that mark the end of an interval file the last one of a day, which ends at midnight, under the next day.
    """
    at = spec.readings
    if at is None or at.timestamps != "end" or "://" in at.path or not has_fields(at.path):
        return None
    here = partitions(at.path, window, at.timezone).needed
    after = partitions(at.path, Window(window.end, timedelta(seconds=1), 1), at.timezone).needed[0]
    if after in here or find_files(after):
        return None
    return (
        f"the last interval of the window is in {after}, which is not there yet: timestamps mark the end of intervals "
        'here (timestamps = "end")'
    )


def check_last_interval(spec: Spec, window: Window) -> None:
    """Refuse a window whose last interval has not arrived; which files there are is public."""
    missing = missing_interval(spec, window)
    if missing is not None:
        msg = f"{missing}. Nothing was published; wait until it is"
        raise InputError(msg)


def _fixed(path: str) -> str:
    """Return the part of a path that holds for all files of it.

    >>> _fixed("lake/%Y/%m/*.parquet"), _fixed("readings.parquet"), _fixed("*.csv")
    ('lake', 'readings.parquet', '.')
    """
    if not WILD.search(path) or Path(path).exists():
        return path
    parts = Path(path).parts
    return str(Path(*parts[: next(i for i, part in enumerate(parts) if WILD.search(part))]))


def _population(ledger: Ledger, name: str | None) -> Population | None:
    """Return the population that would be debited; if it is not known, the debit says so."""
    there = ledger.populations()
    if name is None:
        return there[0] if len(there) == 1 else None
    return next((one for one in there if one.name == name), None)
