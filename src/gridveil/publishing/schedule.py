"""A series of releases: which windows it has, and what each is called. All of it follows from public settings."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from gridveil.model.errors import UsageError
from gridveil.model.window import Window
from gridveil.publishing.spec import Cadence, Spec
from gridveil.trusted.ledger.windows import FIRST_YEAR, LAST_YEAR, LedgerWindow, window_at, zone_of

NAMED = {"day": "%Y-%m-%d", "week": "%Y-%m-%d", "month": "%Y-%m", "year": "%Y"}
"""What windows are called, by the cadence: their first day, as precisely as it takes."""

AHEAD = timedelta(days=370)
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
            here = self._around(at)
            yield self._turn(here)
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
        return not any((here.end - here.start) % step for here in self._ahead(self.start))

    def _around(self, instant: datetime) -> LedgerWindow:
        return window_at(instant, self.cadence, self.timezone)

    def _turn(self, here: LedgerWindow) -> Turn:
        name = here.start.astimezone(zone_of(self.timezone)).strftime(NAMED[self.cadence])
        return Turn(name, Window(here.start, self.step, (here.end - here.start) // self.step))

    def _check_start(self) -> None:
        if not FIRST_YEAR <= self.start.year <= LAST_YEAR:
            msg = f"start {self.start.isoformat()}: a series lies in the years {FIRST_YEAR} to {LAST_YEAR}"
            raise UsageError(msg, code="series-beyond-calendar")
        here = self._around(self.start)
        if here.start != self.start:
            nearest = min((here.start, here.end), key=lambda border: abs(border - self.start))
            shown = nearest.astimezone(zone_of(self.timezone)).isoformat()
            msg = (
                f"start {self.start.isoformat()}: no {self.cadence} begins then by the clock of {self.timezone} (the "
                f"readings' timezone); the nearest that does begins at {shown}: give start = {shown}"
            )
            raise UsageError(msg, code="start-not-on-cadence")

    def _check_steps(self, first: datetime) -> None:
        """Refuse steps that do not fit into the windows from `first` on, for a year: clocks change twice in it."""
        for here in self._ahead(first):
            long = here.end - here.start
            if long % self.step:
                msg = (
                    f"step {self.step}: the {self.cadence} {self._turn(here).name} has {long / timedelta(hours=1):g} "
                    f"hours by the clock of {self.timezone} (the readings' timezone), which is no whole number of "
                    "steps; give a step that fits all of them, of an hour or less (--step 1h)"
                )
                raise UsageError(msg, code="step-does-not-divide")

    def _ahead(self, first: datetime) -> Iterator[LedgerWindow]:
        """Return the windows of a year from `first` on."""
        at = first
        while at <= first + AHEAD and at.year <= LAST_YEAR:
            here = self._around(at)
            yield here
            at = here.end
