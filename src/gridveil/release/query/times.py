"""From what a user asks for to index ranges."""

from __future__ import annotations

from datetime import UTC, datetime

from gridveil.geography.grid import index_pair, index_range
from gridveil.model.errors import UsageError
from gridveil.model.window import Window

Instant = datetime | str


def step_range(asked: tuple[int, int] | tuple[Instant, Instant] | None, window: Window) -> tuple[int, int]:
    """Return a half-open range of steps from indices, or from two instants at which steps begin or end."""
    if asked is None:
        return 0, window.steps
    first, last = index_pair("time", asked)
    if not isinstance(first, datetime | str):
        return index_range("time", (first, last), window.steps)
    start, stop = _boundary(first, window), _boundary(last, window)
    if start >= stop:
        msg = f"time {first}/{last} is empty; the end is not included"
        raise UsageError(msg, code="time-empty")
    return start, stop


def in_words(asked: tuple[int, int] | tuple[Instant, Instant] | None, window: Window) -> str:
    """Say which period an answer is of."""
    first, last = (window.start.astimezone(UTC) + step * window.step for step in step_range(asked, window))
    return f"{first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC"


def _boundary(asked: Instant, window: Window) -> int:
    """Return the number of the step that begins at an instant."""
    try:
        instant = datetime.fromisoformat(asked) if isinstance(asked, str) else asked
    except ValueError as error:
        msg = f"time {asked}: give an ISO time such as 2013-02-04T00:00"
        raise UsageError(msg, code="time-syntax") from error
    if instant.tzinfo is None:
        instant = instant.replace(tzinfo=UTC)
    if not window.start <= instant <= window.end:
        msg = f"time {asked} is outside the window, {_iso(window.start)} to {_iso(window.end)}"
        raise UsageError(msg, code="time-outside")
    step, past = divmod(instant - window.start, window.step)
    if past:
        earlier = window.start + step * window.step
        msg = (
            f"time {asked} is inside a step; "
            f"the nearest boundaries are {_iso(earlier)} and {_iso(earlier + window.step)}"
        )
        raise UsageError(msg, code="time-inside-step")
    return step


def _iso(instant: datetime) -> str:
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
