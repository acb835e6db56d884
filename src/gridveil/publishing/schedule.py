"""The schedule of a series: its windows and their names, from public settings, and one run at a time."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Container, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from gridveil.model.errors import UsageError
from gridveil.model.window import Window
from gridveil.publishing.spec import Cadence, Spec
from gridveil.trusted.ledger.population import FIRST_YEAR, LAST_YEAR, LedgerWindow, find_window, load_zone

# One run at a time in a series' folder.

LOCK = ".gridveil-next.lock"
"""A file in the series' folder that a run holds; the system lets go of it when the process ends, however it does.

The folder is published, and who can open a file can hold it: this one is its owner's alone."""

NO_LOCKS = {errno.ENOLCK, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}


@contextmanager
def lock_series(folder: Path) -> Iterator[None]:
    """Hold the series, so that no other run publishes, and debits, the same window at the same time."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except PermissionError as error:
        msg = f"{folder / LOCK}: it cannot be opened; publish as the user who publishes this series"
        raise UsageError(msg, code="series-lock-unopened") from error
    try:
        if os.fstat(handle).st_mode & 0o077:
            os.fchmod(handle, 0o600)  # everybody could open that of an earlier gridveil
        _lock(handle, folder)
        _check_owner(folder)
        yield
    finally:
        os.close(handle)


def _check_owner(folder: Path) -> None:
    """Refuse, before anything is read, a folder whose time could not be set after the release is written."""
    now = folder.stat()
    try:
        os.utime(folder, ns=(now.st_atime_ns, now.st_mtime_ns))
    except PermissionError as error:
        msg = (
            f"{folder}: its time cannot be set, and would tell when a run ended, which depends on the data; publish as "
            "the user who owns this folder"
        )
        raise UsageError(msg, code="series-not-owned") from error


def _lock(handle: int, folder: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        msg = f"{folder}: another run is publishing into this series; let it finish, then give the command again"
        raise UsageError(msg, code="series-in-use") from error
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
        msg = f"{folder}: this disk knows no locks, so that two runs at once could not be told apart; use a local one"
        raise UsageError(msg, code="series-no-locks") from error


# A series of releases: which windows it has, and what each is called. All of it follows from public settings.

NAME_FORMATS = {"day": "%Y-%m-%d", "week": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y"}
"""What windows are called, by the cadence: their first day, as precisely as it takes."""

CHECKED_PERIOD = timedelta(days=370)
"""How far ahead steps must fit: a series that would end when the clocks change is refused before it begins."""

NO_CADENCE = (
    "--next publishes the next window of a series, but the spec states no cadence: give cadence = "
    '"day", "week", "month" or "year", or publish one release without --next'
)


@dataclass(frozen=True)
class Turn:
    """One window of a series, and the name of its release's folder."""

    name: str
    window: Window

    def of(self, spec: Spec, out: Path | None) -> Spec:
        """Return the spec of this release by itself."""
        here = {"start": self.window.start, "steps": self.window.steps, "cadence": None, "out": out}
        return spec.model_copy(update=here)


@dataclass(frozen=True)
class Schedule:
    """The windows of a series: days, ISO weeks, months or years by the clock of `timezone`, from `start` on.

    They are the ledger's windows of that length and timezone, so that each release reads one of them.
    """

    cadence: Cadence
    timezone: str
    start: datetime
    step: timedelta

    @classmethod
    def of(cls, spec: Spec) -> Schedule:
        """Return the schedule of a spec with a cadence, or say what does not fit."""
        if spec.cadence is None:
            raise UsageError(NO_CADENCE, code="cadence-not-stated")
        if spec.steps is not None:
            msg = f"steps {spec.steps}: with a cadence they follow from the calendar; leave steps out"
            raise UsageError(msg, code="steps-with-cadence")
        zone = spec.readings.timezone if spec.readings else "UTC"
        start = spec.model_copy(update={"steps": 1}).to_window().start
        schedule = cls(spec.cadence, zone, start, timedelta(seconds=spec.step))
        schedule._check_start()
        schedule._check_steps(start)
        return schedule

    def turns(self) -> Iterator[Turn]:
        """Return the windows from the first on."""
        at = self.start
        while FIRST_YEAR <= at.year <= LAST_YEAR:
            here = self._find_window(at)
            yield self._make_turn(here)
            at = here.end

    def next(self, taken: Container[datetime]) -> Turn:
        """Return the first window that does not start with one of those that are taken."""
        for turn in self.turns():
            if turn.window.start not in taken:
                self._check_steps(turn.window.start)
                return turn
        msg = f"the calendar ends with the year {LAST_YEAR}, and the series with it"
        raise UsageError(msg, code="calendar-ended")

    def takes(self, step: timedelta) -> bool:
        """Whether another step would fit into all windows."""
        return not any((here.end - here.start) % step for here in self._list_windows(self.start))

    def _find_window(self, instant: datetime) -> LedgerWindow:
        return find_window(instant, self.cadence, self.timezone)

    def _make_turn(self, here: LedgerWindow) -> Turn:
        name = here.start.astimezone(load_zone(self.timezone)).strftime(NAME_FORMATS[self.cadence])
        return Turn(name, Window(here.start, self.step, (here.end - here.start) // self.step))

    def _check_start(self) -> None:
        if not FIRST_YEAR <= self.start.year <= LAST_YEAR:
            msg = f"start {self.start.isoformat()}: a series lies in the years {FIRST_YEAR} to {LAST_YEAR}"
            raise UsageError(msg, code="series-beyond-calendar")
        here = self._find_window(self.start)
        if here.start != self.start:
            nearest = min((here.start, here.end), key=lambda border: abs(border - self.start))
            shown = nearest.astimezone(load_zone(self.timezone)).isoformat()
            msg = (
                f"start {self.start.isoformat()}: no {self.cadence} begins then by the clock of {self.timezone} (the "
                f"readings' timezone); the nearest that does begins at {shown}: give start = {shown}"
            )
            raise UsageError(msg, code="start-not-on-cadence")

    def _check_steps(self, first: datetime) -> None:
        """Refuse steps that do not fit into the windows from `first` on, for a year: clocks change twice in it."""
        for here in self._list_windows(first):
            long = here.end - here.start
            if long % self.step:
                msg = (
                    f"step {self.step}: the {self.cadence} {self._make_turn(here).name} has "
                    f"{long / timedelta(hours=1):g} hours by the clock of {self.timezone} (the readings' timezone), "
                    "which is no whole number of steps; give a step that fits all of them, of an hour or less "
                    "(--step 1h)"
                )
                raise UsageError(msg, code="step-does-not-divide")

    def _list_windows(self, first: datetime) -> Iterator[LedgerWindow]:
        """Return the windows of a year from `first` on."""
        at = first
        while at <= first + CHECKED_PERIOD and at.year <= LAST_YEAR:
            here = self._find_window(at)
            yield here
            at = here.end
