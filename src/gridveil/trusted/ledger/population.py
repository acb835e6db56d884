"""A population of a ledger: its unit, its cap, and the windows that it counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from fractions import Fraction
from typing import Any, Literal, get_args
from zoneinfo import ZoneInfo

from gridveil.model.errors import BudgetError, UsageError
from gridveil.model.window import Window
from gridveil.trusted.budget import PureDP
from gridveil.trusted.ledger.entry import Entry, format_instant, is_amount, is_name

# Ledger windows: time cut into days, weeks, months or years of a place's calendar.

Length = Literal["day", "week", "month", "year"]
LENGTHS: tuple[str, ...] = get_args(Length)

MACHINE_ZONES = {"localtime", "posixrules", "Factory"}
"""Names that mean another time on another machine."""

FIRST_YEAR, LAST_YEAR = 1000, 8999
"""Reads lie in these years: calendars go on a little further, so that no border is missing."""


@dataclass(frozen=True, order=True)
class LedgerWindow:
    """One window of a ledger: from `start` until before `end`, both UTC."""

    start: datetime
    end: datetime
    name: str
    """As people write it: 2013-02-04, 2013-W06, 2013-02 or 2013."""


def load_zone(timezone: str) -> ZoneInfo:
    """Return the timezone of this name."""
    try:
        zone = None if timezone in MACHINE_ZONES else ZoneInfo(timezone)
    except (ValueError, OSError, KeyError):  # a path, a folder, no such zone: as zoneinfo tells them
        zone = None
    if zone is None:
        msg = f"timezone {timezone!r}: not known; give a name such as Europe/London, or UTC"
        raise UsageError(msg, code="timezone-unknown")
    return zone


def find_window(instant: datetime, length: str, timezone: str) -> LedgerWindow:
    """Return the ledger window in which an instant lies.

    Guarantee: for one length and timezone these windows cut time into pieces without gaps or overlaps. A window is
    named by its first day and reaches from that day's border to the border of the next window's first day; the loops
    find the one that holds the instant, and borders grow with the day. A day's border is its midnight on local clocks:
    where clocks show it twice, the first; where they skip it, when the clock before the change would have shown it.

    >>> find_window(datetime(2013, 3, 31, 23, 30, tzinfo=UTC), "day", "Europe/London").name
    '2013-04-01'
    """
    zone = load_zone(timezone)
    first = _find_first_day(instant.astimezone(zone).date(), length)
    # Clocks that go back over midnight show the day after for a while: the date alone does not decide.
    while _find_border(first, zone) > instant:
        first = _find_first_day(first - timedelta(days=1), length)
    while _find_border(_find_next(first, length), zone) <= instant:
        first = _find_next(first, length)
    return LedgerWindow(
        _find_border(first, zone), _find_border(_find_next(first, length), zone), _format_name(first, length)
    )


def find_windows(start: datetime, end: datetime, length: str, timezone: str) -> list[LedgerWindow]:
    """Return the ledger windows that have an instant in common with the time from `start` until before `end`."""
    touched = [find_window(start, length, timezone)]
    while touched[-1].end < end:
        touched.append(find_window(touched[-1].end, length, timezone))
    return touched


def _find_border(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time(), zone).astimezone(UTC)


def _find_first_day(day: date, length: str) -> date:
    match length:
        case "day":
            return day
        case "week":
            return day - timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)
        case _:
            return day.replace(month=1, day=1)


def _find_next(first: date, length: str) -> date:
    days = {"day": 1, "week": 7, "month": 31, "year": 366}[length]
    return _find_first_day(first + timedelta(days=days), length)


def _format_name(first: date, length: str) -> str:
    match length:
        case "day":
            return first.isoformat()
        case "week":
            year, week, _ = first.isocalendar()
            return f"{year}-W{week:02}"
        case "month":
            return f"{first.year}-{first.month:02}"
        case _:
            return str(first.year)


# Populations: the unit that a cap protects, what a release reads, and what was spent.

Unit = Literal["household", "household-window"]


@dataclass(frozen=True)
class Read:
    """A run of time whose readings a release uses: its published window, or one it learns from."""

    name: str
    start: datetime
    end: datetime

    def __post_init__(self) -> None:
        """Refuse what is empty, or no run of whole seconds of known instants."""
        if not is_name(self.name) or self.start.tzinfo is None or self.end.tzinfo is None:
            msg = f"read {self.name!r}: it has a name, and a start and end with their timezone"
            raise UsageError(msg, code="read-invalid")
        object.__setattr__(self, "start", self.start.astimezone(UTC))
        object.__setattr__(self, "end", self.end.astimezone(UTC))
        if self.start.microsecond or self.end.microsecond or self.start >= self.end:
            msg = f"{self}: it starts and ends on a whole second, and starts before it ends"
            raise UsageError(msg, code="read-not-whole")
        if self.start.year < FIRST_YEAR or self.end.year > LAST_YEAR:
            msg = f"{self}: a ledger's calendar has the years {FIRST_YEAR} to {LAST_YEAR}"
            raise UsageError(msg, code="read-beyond-calendar")

    def __str__(self) -> str:
        return f"the {self.name} read from {format_instant(self.start)} to {format_instant(self.end)}"

    @classmethod
    def of(cls, name: str, window: Window) -> Read:
        """Return the read of a whole window."""
        return cls(name, window.start, window.end)

    @classmethod
    def from_body(cls, body: Mapping[str, str]) -> Read:
        """Return the read that a debit names."""
        return cls(body["name"], datetime.fromisoformat(body["start"]), datetime.fromisoformat(body["end"]))

    def body(self) -> dict[str, str]:
        """Return what a debit says of it."""
        return {"name": self.name, "start": format_instant(self.start), "end": format_instant(self.end)}

    def holds(self, window: Window) -> bool:
        """Whether every step of the window lies inside."""
        return self.start <= window.start and window.end <= self.end


@dataclass(frozen=True)
class Population:
    """The households that a cap protects, and the unit that it protects of them.

    unit: "household": everything about a household; all debits add up. "household-window": the readings of a household
    inside one ledger window; `window` and `timezone` say how time is cut.

    Guarantee: if all releases about these households were debited here, then together they are cap-differentially
    private for the unit. Every release is epsilon-differentially private for adding or removing a household with
    all its readings (see `Kernel`), epsilon being what its debit says, and was made after its debit was written.

    household: neighbours differ in one household. The losses of releases add up, each perhaps planned in view of
    those before (sequential composition), and the sum of all debits is within the cap.

    household-window: neighbours differ in all readings of one household inside one ledger window; its place and its
    other readings stay. Every read lies inside one ledger window, and the kernel measures nothing but windows inside a
    read. So what is measured of a read inside the differing window loses the household's whole contribution, bounds
    and all, as if the household were removed, and what is measured of other reads does not change: households are
    bounded for each read by itself, and one without a reading in a window is in no bin of the histogram. A release
    with some read inside the window loses at most its epsilon, which is debited to the window; any other release loses
    nothing. The debits of each window are within the cap. (If a read crossed a border, taking the readings of one side
    away could raise what the bounds leave of the other, and the release could lose twice its epsilon: out with the
    old contribution, in with the new. That is why `charges` doubles such a debit and `permit` refuses it.)

    The cap is for neighbours: the unit is in the data, or not. Between two data sets in which it is present both times,
    with other readings or at another place, the loss is at most twice as much (`NEIGHBOUR_STEPS`). With
    household-window the cap bounds neither membership, which loses the sum of all debits, `Standing.spent`, nor the
    place or the behaviour over all windows, which lose twice that sum.
    """

    name: str
    cap: Fraction
    unit: Unit = "household"
    window: str | None = None
    timezone: str | None = None

    def __post_init__(self) -> None:
        """Refuse a population that no ledger could keep."""
        if not is_name(self.name):
            msg = f"population {self.name!r}: give a name of 1 to 100 printable characters, without blanks around it"
            raise UsageError(msg, code="population-name")
        if not (isinstance(self.cap, Fraction) and is_amount(str(self.cap))):
            msg = f"cap {self.cap}: give a positive number such as 10 or 0.5, of at most 100 digits"
            raise BudgetError(msg, code="cap-invalid")
        if self.unit not in {"household", "household-window"}:
            msg = f"unit {self.unit!r}: there are household and household-window"
            raise UsageError(msg, code="unit-unknown")
        if self.unit == "household" and (self.window or self.timezone):
            msg = "window and timezone belong to the unit household-window; leave them out, or choose that unit"
            raise UsageError(msg, code="unit-without-window")
        if self.unit == "household-window":
            if self.window not in LENGTHS:
                msg = f"window {self.window!r}: the unit household-window needs one of {', '.join(LENGTHS)}"
                raise UsageError(msg, code="ledger-window-unknown")
            if self.timezone is None:
                msg = "the unit household-window needs the timezone of its calendar, such as Europe/London, or UTC"
                raise UsageError(msg, code="ledger-timezone-missing")
            load_zone(self.timezone)

    @classmethod
    def from_entry(cls, entry: Entry) -> Population:
        """Return the population that the first entry of a chain founds."""
        body = entry.body
        return cls(entry.population, Fraction(body["cap"]), body["unit"], body.get("window"), body.get("timezone"))

    def body(self) -> dict[str, Any]:
        """Return what the first entry of its chain says."""
        told = {"cap": str(self.cap), "unit": self.unit}
        if self.window is None or self.timezone is None:
            return told
        return {**told, "window": self.window, "timezone": self.timezone}

    def windows(self, read: Read) -> list[LedgerWindow]:
        """Return the ledger windows that a read touches; none if the unit knows no windows."""
        if self.window is None or self.timezone is None:
            return []
        return find_windows(read.start, read.end, self.window, self.timezone)

    def refuse_crossing(self, reads: Sequence[Read]) -> None:
        """Refuse a read that crosses a border between ledger windows, and say how to choose."""
        for read in reads:
            windows = self.windows(read)
            if len(windows) > 1:
                border = windows[0].end
                most = max(windows, key=lambda one: min(one.end, read.end) - max(one.start, read.start))
                start, end = format_instant(most.start), format_instant(most.end)
                example = f", e.g. --start {start}, and end by {end}" if read.name == "published" else ""
                msg = (
                    f"{read} crosses the border between the ledger windows {windows[0].name} and {windows[1].name} "
                    f"({format_instant(border)}): for the unit household-window each read lies inside one "
                    f"{self.window} of {self.timezone}. The {self.window} {most.name} of {self.timezone} goes from "
                    f"{start} to {end}: stay within it{example}. Or choose a shorter training window, or a population "
                    "with longer ledger windows"
                )
                raise UsageError(msg, code="read-crosses-windows")

    def charges(self, reads: Iterable[Read], epsilon: Fraction) -> dict[LedgerWindow, Fraction]:
        """Return what a debit takes from each ledger window; nothing if the unit knows no windows.

        A read that crosses a border costs twice (see the class). `permit` refuses those; but the rules of a timezone
        may be corrected after a debit was made.
        """
        if self.unit == "household":
            return {}
        touched = [self.windows(read) for read in reads]
        cost = epsilon if all(len(windows) <= 1 for windows in touched) else 2 * epsilon
        return {window: cost for windows in touched for window in windows}


@dataclass(frozen=True)
class Standing:
    """Where a population stands."""

    unit: Unit
    cap: Fraction
    spent: Fraction
    """The sum of all debits: what membership has lost, whatever the unit."""
    worst: Fraction
    """What counts against the cap: all of `spent`, or the largest sum over one of `windows`."""
    windows: Mapping[str, Fraction] = field(default_factory=dict)
    """What each ledger window has lost, by name and in the order of time; of those touched so far, or by one debit."""

    @property
    def remaining(self) -> Fraction:
        """What is left of the cap where most was spent."""
        return self.cap - self.worst


def parse_cap(decimal: float | str) -> Fraction:
    """Return a cap exactly as it was typed.

    >>> parse_cap("0.1")
    Fraction(1, 10)
    """
    try:
        return PureDP(decimal).epsilon
    except BudgetError as error:
        msg = f"cap {decimal}: give a positive number such as 10 or 0.5"
        raise BudgetError(msg, code="cap-invalid") from error
