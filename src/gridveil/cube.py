"""The consumption matrix: where its cells and steps are. Everything here is public."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from gridveil.errors import UsageError


@dataclass(frozen=True)
class Grid:
    """A rectangle of `nx` x `ny` equal cells. Cell (0, 0) is the south-west one; cells are half-open.

    `crs` names the coordinate system that extent and households share (e.g. "EPSG:4326"), or is "local"
    for coordinates without one.

    >>> Grid(0, 0, 32, 16, nx=32, ny=16).cell_width
    1.0
    """

    x0: float
    y0: float
    x1: float
    y1: float
    nx: int
    ny: int
    crs: str = "local"

    def __post_init__(self) -> None:
        """Refuse a grid with no area or no cells."""
        if not (self.x0 < self.x1 and self.y0 < self.y1):
            msg = f"extent {self.x0},{self.y0},{self.x1},{self.y1}: give X0,Y0,X1,Y1 with X0 < X1 and Y0 < Y1"
            raise UsageError(msg)
        if self.nx < 1 or self.ny < 1:
            msg = f"grid {self.nx}x{self.ny}: it needs at least one cell each way"
            raise UsageError(msg)

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return self.nx * self.ny

    @property
    def cell_width(self) -> float:
        """West-east size of a cell, in units of the coordinate system."""
        return (self.x1 - self.x0) / self.nx

    @property
    def cell_height(self) -> float:
        """South-north size of a cell, in units of the coordinate system."""
        return (self.y1 - self.y0) / self.ny


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
            raise UsageError(msg)
        # In UTC, where adding steps counts seconds and equal windows are the same window.
        object.__setattr__(self, "start", self.start.astimezone(UTC))
        object.__setattr__(self, "steps", operator.index(self.steps))
        if self.step <= timedelta(0) or self.step % timedelta(seconds=1):
            msg = f"step {self.step}: a step is a positive whole number of seconds"
            raise UsageError(msg)
        if self.start.microsecond:
            msg = f"start {self.start}: a window starts on a whole second"
            raise UsageError(msg)
        if self.steps < 1:
            msg = f"{self.steps} steps: a window needs at least one"
            raise UsageError(msg)

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
