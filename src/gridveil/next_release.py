"""Regular publication: the next window of a series, by the calendar, the clock and the releases that are there.

Which window is next depends on public things alone: settings, the clock, and folders that are published. Nothing of
earlier windows is read again but their releases.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from gridveil.errors import InputError, UsageError
from gridveil.learned_shape import learn_shape
from gridveil.mechanisms.base import Progress, silent
from gridveil.mechanisms.registry import make, train_steps
from gridveil.operator_record import check_record
from gridveil.privacy.ledger.book import open_ledger
from gridveil.privacy.noise import Noise
from gridveil.publication import Published, check_out, check_scratch, run
from gridveil.release.catalogue import Catalogue, Listed, is_series, read_catalogue, write_catalogue
from gridveil.release.files import LABEL, SUMS, load_label
from gridveil.release.label import GridFacts, WindowFacts
from gridveil.release.sums import digest, read_sums
from gridveil.release.verify import verify
from gridveil.schedule import Schedule, Turn
from gridveil.spec import HOW_TO_CHOOSE, Spec, make_spec

LOCK = ".gridveil-next.lock"
"""A file in the series' folder that a run holds; the system lets go of it when the process ends, however it does."""

NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}


@dataclass(frozen=True)
class Waiting:
    """Nothing is to be published yet: the next window of the series is not over."""

    turn: Turn
    over: datetime
    """When it is, by the series' own clock."""

    def __str__(self) -> str:
        """Return it as a sentence."""
        return f"Nothing to publish yet: the next window, {self.turn.name}, is over at {self.over.isoformat()}."


def publish_next(*, progress: Progress = silent, **settings: Any) -> Published | Waiting:  # noqa: ANN401  # see Spec
    """Publish the next window of a series; settings are those of `publish`, with `cadence` and without `steps`.

    `out` is the folder of the series. Called several times in a row it publishes window after window, until it returns
    `Waiting` because the next one is not over.
    """
    return run_next(make_spec(settings), progress=progress)


def run_next(
    spec: Spec,
    *,
    progress: Progress = silent,
    noise: Noise | None = None,
    today: date | None = None,
    record: Path | None = None,
    now: datetime | None = None,
) -> Published | Waiting:
    """Publish the next window of the series that a spec describes; noise, today, now: for tests, as in `run`."""
    schedule = Schedule.of(spec)
    spec.need(*(name for name in HOW_TO_CHOOSE if name != "steps"))
    _refuse_training(spec)
    folder = Path(spec.out or "")
    check_scratch(spec.scratch, folder)
    if record is not None:
        check_record(record, folder)
    with _alone(folder):
        catalogue = _with_unlisted(spec, schedule, folder, _catalogue(spec, schedule, folder))
        turn = _next(schedule, catalogue)
        if turn.window.end > (now or datetime.now(UTC)):
            return Waiting(turn, turn.window.end.astimezone(ZoneInfo(schedule.timezone)))
        _check_alike(spec, folder, catalogue)
        one = _learned(turn.of(spec, folder / turn.name), folder, catalogue)
        published = run(one, progress=progress, noise=noise, today=today, record=record)
        write_catalogue(folder, _listing(catalogue, folder, turn))
    return published


def upcoming(spec: Spec) -> Spec:
    """Return the spec of the next release of a series, over or not; nothing is written."""
    schedule = Schedule.of(spec)
    taken = read_catalogue(spec.out) if spec.out is not None and is_series(spec.out) else None
    turn = next(schedule.turns()) if taken is None else _next(schedule, taken)
    return turn.of(spec, None if spec.out is None else spec.out / turn.name)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold the series, so that no other run publishes, and debits, the same window at the same time."""
    if not folder.is_dir():
        check_out(folder)
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _hold(handle, folder)
        yield
    finally:
        os.close(handle)


def _hold(handle: int, folder: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        msg = f"{folder}: another run is publishing into this series; let it finish, then give the command again"
        raise UsageError(msg) from error
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        msg = f"{folder}: this disk knows no locks, so that two runs at once could not be told apart; use a local one"
        raise UsageError(msg) from error


def _catalogue(spec: Spec, schedule: Schedule, folder: Path) -> Catalogue:
    """Return the series' catalogue, or an empty one; of another calendar it is another series."""
    mine = Catalogue(title=spec.title, cadence=schedule.cadence, timezone=schedule.timezone, releases=())
    if not is_series(folder):
        return mine
    found = read_catalogue(folder)
    if (found.cadence, found.timezone) != (mine.cadence, mine.timezone):
        msg = (
            f"{folder}: its series has the cadence {found.cadence} by the clock of {found.timezone}, the spec "
            f"{mine.cadence} by that of {mine.timezone}; give a new series another --out"
        )
        raise UsageError(msg)
    return found.model_copy(update={"title": spec.title})


def _next(schedule: Schedule, catalogue: Catalogue) -> Turn:
    """Return the first window without a release, which must not overlap one that is there."""
    turn = schedule.next({listed.start for listed in catalogue.releases})
    for listed in catalogue.releases:
        if listed.start < turn.window.end and turn.window.start < listed.end:
            msg = f"the window {turn.name} overlaps the release {listed.path} of this series, and is not published"
            raise InputError(msg)
    return turn


def _with_unlisted(spec: Spec, schedule: Schedule, folder: Path, catalogue: Catalogue) -> Catalogue:
    """List releases that are there but not listed: whoever wrote them was stopped in between."""
    while os.path.lexists(folder / (turn := _next(schedule, catalogue)).name):
        _check_whole(spec, folder / turn.name, turn)
        catalogue = _listing(catalogue, folder, turn)
        write_catalogue(folder, catalogue)
    return catalogue


def _check_whole(spec: Spec, release: Path, turn: Turn) -> None:
    """Refuse what is no release of this window, and finish the ledger's record of one that is."""
    faults = [f"{check.what}: {check.told}" for check in verify(release) if check.verdict == "FAULT"]
    label = None if faults else load_label(release / LABEL)
    if label is not None and label.window != WindowFacts.of(turn.window):
        faults = [f"it is of {label.window.steps} steps from {label.window.start.isoformat()}"]
    if label is not None and spec.ledger is not None and label.ledger_entry is None:
        faults = ["no ledger kept count of it"]
    if faults or label is None:
        msg = (
            f"{release}: it is there, but is no whole release of that window ({faults[0]}). Nothing was published. "
            "Move it away to have the window published, and debited, anew"
        )
        raise InputError(msg)
    if spec.ledger is not None and label.ledger_entry is not None:
        with suppress(UsageError):  # recorded already
            open_ledger(spec.ledger).record_release(label.ledger_entry.hash, read_sums(release / SUMS))


def _listing(catalogue: Catalogue, folder: Path, turn: Turn) -> Catalogue:
    """Return the catalogue with one more release."""
    here, sums = turn.window, digest(folder / turn.name / SUMS)
    listed = Listed(path=turn.name, start=here.start, end=here.end, sha256=sums)
    releases = sorted((*catalogue.releases, listed), key=lambda one: one.start)
    return catalogue.model_copy(update={"releases": tuple(releases)})


def _check_alike(spec: Spec, folder: Path, catalogue: Catalogue) -> None:
    """Refuse a release on another grid, or of other steps, than those before: they could not be read as one."""
    for listed in catalogue.releases[-1:]:
        label = load_label(folder / listed.path / LABEL)
        if label.grid != GridFacts.of(spec.to_grid()) or label.window.step_seconds != spec.step:
            msg = (
                f"{folder / listed.path}: the latest release of this series has another grid or other steps than the "
                "spec, and the two could not be read as one; give a new series another --out"
            )
            raise UsageError(msg)


def _refuse_training(spec: Spec) -> None:
    before = train_steps(make(spec.mechanism, spec.parameters))
    if before:
        msg = (
            f"mechanism {spec.mechanism} learns from the {before} steps of readings before each window, and a series "
            "never reads, or pays for, a window twice. Publish it with mosaic, which learns from earlier releases, or "
            "with a mechanism that learns from nothing"
        )
        raise UsageError(msg)


def _learned(spec: Spec, folder: Path, catalogue: Catalogue) -> Spec:
    """Return the spec with the shape of the day that earlier releases tell, for the mechanism that starts from one."""
    if spec.mechanism != "mosaic" or spec.readings is None or not catalogue.releases:
        return spec
    learned = learn_shape(folder, catalogue.releases, spec.to_window().start, spec.readings.timezone)
    if learned is None:
        return spec
    parameters = {**spec.parameters, "profile": learned.hourly, "profile_zone": spec.readings.timezone}
    choices = f"{spec.choices}. {learned.in_words()}"
    return spec.model_copy(update={"parameters": parameters, "profile": None, "choices": choices})
