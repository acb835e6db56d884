"""Releases of a series that are there but not listed: whoever wrote them was stopped in between."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

from gridveil.model.errors import GridveilError, InputError
from gridveil.model.folder import set_times
from gridveil.publishing.schedule import Schedule, Turn
from gridveil.publishing.series_lock import LOCK
from gridveil.publishing.spec import Spec
from gridveil.release.format import wording
from gridveil.release.format.files import LABEL, SUMS, load_label
from gridveil.release.format.label import GridFacts, Label, WindowFacts
from gridveil.release.format.sums import digest, read_sums
from gridveil.release.series.catalogue import CATALOGUE, Catalogue, Listed, write_catalogue
from gridveil.release.verify.verify import verify
from gridveil.release.verify.verify_entry import LedgerFaultError, check_ledger, recorded_files
from gridveil.trusted.ledger.book import Ledger, open_ledger


def next_turn(schedule: Schedule, catalogue: Catalogue) -> Turn:
    """Return the first window without a release, which must not overlap one that is there."""
    turn = schedule.next({listed.start for listed in catalogue.releases})
    for listed in catalogue.releases:
        if listed.start < turn.window.end and turn.window.start < listed.end:
            msg = f"the window {turn.name} overlaps the release {listed.path} of this series, and is not published"
            raise InputError(msg, code="window-overlaps")
    return turn


def with_unlisted(spec: Spec, schedule: Schedule, folder: Path, catalogue: Catalogue) -> Catalogue:
    """List releases that are there but not listed, if they are what a run of this series would have listed."""
    while os.path.lexists(folder / (turn := next_turn(schedule, catalogue)).name):
        if fault := _fault(spec, folder / turn.name, turn):
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


def _fault(spec: Spec, release: Path, turn: Turn) -> str | None:
    """Return why this is no release of this window; the ledger's record of one that is is finished."""
    for check in verify(release):
        if check.verdict == "FAULT":
            return f"{check.what}: {check.told}"
    label = load_label(release / LABEL)
    if label.window != WindowFacts.of(turn.window):
        return f"it is of {label.window.steps} steps from {label.window.start.isoformat()}"
    if label.grid != GridFacts.of(spec.to_grid()):
        return "it has another grid than the spec"
    if not label.private:
        return f"it is {wording.NOT_PRIVATE}"
    return None if spec.ledger is None else _fault_by(open_ledger(spec.ledger), release, label)


def _fault_by(ledger: Ledger, release: Path, label: Label) -> str | None:
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
