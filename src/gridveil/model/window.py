"""Windows: runs of equal steps of UTC, and the time zones they are shown in. Everything here is public."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from gridveil.model.errors import UsageError


@dataclass(frozen=True)
class Window:
    """A run of `steps` equal steps of UTC, the first beginning at `start`.

    >>> window = Window(datetime(2013, 2, 4, tzinfo=UTC), timedelta(hours=1), 120)
    >>> window.end.isoformat()
    '2013-02-09T00:00:00+00:00'
    >>> window.before(100).end == window.start
    True
    """

    start: datetime
    step: timedelta
    steps: int

    def __post_init__(self) -> None:
        """Refuse a window that is empty or whose steps are not whole seconds."""
        if self.start.tzinfo is None:
            msg = f"start {self.start}: a window starts at an instant; give its timezone"
            raise UsageError(msg, code="window-without-timezone")
        # In UTC, where adding steps counts seconds and equal windows are the same window.
        object.__setattr__(self, "start", self.start.astimezone(UTC))
        object.__setattr__(self, "steps", operator.index(self.steps))
        if self.step <= timedelta(0) or self.step % timedelta(seconds=1):
            msg = f"step {self.step}: a step is a positive whole number of seconds"
            raise UsageError(msg, code="step-invalid")
        if self.start.microsecond:
            msg = f"start {self.start}: a window starts on a whole second"
            raise UsageError(msg, code="start-not-whole-second")
        if self.steps < 1:
            msg = f"{self.steps} steps: a window needs at least one"
            raise UsageError(msg, code="window-empty")

    @property
    def end(self) -> datetime:
        """The first instant after the window."""
        return self.start + self.steps * self.step

    def before(self, steps: int) -> Window:
        """Return the `steps` steps that end where this window starts."""
        return Window(self.start - steps * self.step, self.step, steps)

    def times(self) -> list[datetime]:
        """Return the start of every step, in UTC."""
        return [self.start + i * self.step for i in range(self.steps)]


def timezone(name: str) -> ZoneInfo:
    """Return the timezone of that name."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        msg = f"timezone {name!r} is not known; give a name such as UTC or Europe/London"
        raise UsageError(msg, code="timezone-unknown") from error
