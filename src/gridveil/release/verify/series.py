"""Whether a series is what its catalogue says: every release by itself, that it is the one listed, and that all fit."""

from __future__ import annotations

import os
from itertools import islice, pairwise
from pathlib import Path

from gridveil.model.errors import InputError
from gridveil.model.running import Progress, silent
from gridveil.release.format.files import LABEL
from gridveil.release.series.catalogue import CATALOGUE, Catalogue, Listed, is_series, read_catalogue
from gridveil.release.series.series import SeriesPart, check_alike, read_part
from gridveil.release.verify.ledger import Book, Export, is_export
from gridveil.release.verify.release import MAX_NAMED, Check, verify
from gridveil.trusted.ledger.book import is_address, open_ledger

FRESH_SERIES = "do not rely on it, get a fresh copy of the series"
MAX_LISTED = 10_000


def verify_folder(path: Path | str, *, ledger: Path | str | None = None, progress: Progress = silent) -> list[Check]:
    """Check that a release, or every release of a series, is whole, and that all it says of itself fits.

    path: its folder, which may be anybody's: time and memory are limited.
    ledger: the publisher's, or an export of it: is the release what was debited?

    Returns what was looked at; only those whose `verdict` is "FAULT" are faults. Raises `InputError` where there is no
    such folder, or no ledger.
    """
    folder, book = Path(path), None if ledger is None else _open_book(str(ledger))
    if not folder.is_dir():
        msg = f"{folder}: there is no such folder; give the folder of a release"
        raise InputError(msg, code="release-missing")
    return (verify_series if is_series(folder) else verify)(folder, book, progress)


def _open_book(where: str) -> Book:
    """Return a ledger, or an export of one."""
    if not is_address(where) and not os.path.lexists(where):
        msg = f"{where}: there is no ledger there; give the path of the ledger that this release was debited to"
        raise InputError(msg, code="ledger-missing")
    return Export(Path(where)) if is_export(Path(where)) else open_ledger(where)


def verify_series(folder: Path, ledger: Book | None = None, progress: Progress = silent) -> list[Check]:
    """Look at all releases of a series that may be anybody's. Only "FAULT" is a fault."""
    try:
        catalogue = read_catalogue(folder)
    except InputError as fault:
        return [Check(CATALOGUE, "FAULT", str(fault), FRESH_SERIES)]
    checks: list[Check] = []
    parts: list[SeriesPart] = []
    for number, listed in enumerate(catalogue.releases, 1):
        found, part = _verify_release(folder, listed, ledger)
        checks += found
        parts += [] if part is None else [part]
        progress("verify", number / len(catalogue.releases))
    return [_check_catalogue(folder, catalogue, parts), *checks]


def _verify_release(folder: Path, listed: Listed, ledger: Book | None) -> tuple[list[Check], SeriesPart | None]:
    """Return what is at fault with a release, or one line if nothing is."""
    try:
        part = read_part(folder, listed)
    except InputError as fault:
        return [Check(listed.path, "FAULT", str(fault), FRESH_SERIES)], None
    checks = verify(part.folder, ledger)
    faults = [
        Check(f"{listed.path}/{check.what}", "FAULT", check.finding, check.remedy)
        for check in checks
        if check.verdict == "FAULT"
    ]
    if faults:
        return faults, part
    passed = [check.what for check in checks if check.verdict == "ok"]
    open_ones = [f"{check.what} ({check.finding})" for check in checks if check.verdict == "not checked"]
    finding = f"all right: {', '.join(passed)}" + (f"; not checked: {', '.join(open_ones)}" if open_ones else "")
    return [Check(listed.path, "ok", finding)], part


def _check_catalogue(folder: Path, catalogue: Catalogue, parts: list[SeriesPart]) -> Check:
    try:
        check_alike(folder, parts)
    except InputError as fault:
        return Check(CATALOGUE, "FAULT", str(fault), FRESH_SERIES)
    count, unknown = len(catalogue.releases), _name_unlisted(folder, catalogue)
    missing = [
        f"{before.end:%Y-%m-%d %H:%M} to {after.start:%Y-%m-%d %H:%M}"
        for before, after in pairwise(catalogue.releases)
        if before.end < after.start
    ]
    findings = [
        f"it lists {count} releases, each once and in order of time",
        f"nothing was published from {', '.join(missing)} (UTC)" if missing else "without gaps",
        *([f"not listed, and not looked at: {unknown}"] if unknown else []),
    ]
    return Check(CATALOGUE, "ok", "; ".join(findings))


def _name_unlisted(folder: Path, catalogue: Catalogue) -> str:
    """Name releases in the folder that the catalogue does not know, as letters that no terminal obeys."""
    known = {listed.path for listed in catalogue.releases}
    others = (path for path in islice(folder.iterdir(), MAX_LISTED) if path.name not in known)
    found = sorted(ascii(path.name) for path in others if not path.is_symlink() and (path / LABEL).is_file())
    return ", ".join(found[:MAX_NAMED]) + (" and more" if len(found) > MAX_NAMED else "")
