"""From what a user asks for to index ranges."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from gridveil.cube import Window
from gridveil.errors import UsageError

Instant = datetime | str


def index_range(axis: str, asked: tuple[int, int] | None, size: int) -> tuple[int, int]:
    """Return a half-open index range, or the whole axis.

    >>> index_range("x", None, 32)
    (0, 32)
    """
    start, stop = (0, size) if asked is None else _pair(axis, asked)
    if not 0 <= start < stop <= size:
        why = "is empty" if start >= stop else "reaches outside"
        msg = f"{axis} range {start}:{stop} {why}; {axis} goes from 0 to {size}, and the end is not included"
        raise UsageError(msg)
    return start, stop


def _pair(axis: str, asked: Any) -> tuple[Any, Any]:  # noqa: ANN401  # whatever a user gave
    if not isinstance(asked, tuple | list) or len(asked) != len(("start", "stop")):
        msg = f"{axis} {asked!r}: give a start and an end, which is not included, e.g. {axis}=(0, 10)"
        raise UsageError(msg)
    return asked[0], asked[1]


def step_range(asked: tuple[int, int] | tuple[Instant, Instant] | None, window: Window) -> tuple[int, int]:
    """Return a half-open range of steps from indices, or from two instants at which steps begin or end."""
    if asked is None:
        return 0, window.steps
    first, last = _pair("time", asked)
    if not isinstance(first, datetime | str):
        return index_range("time", (first, last), window.steps)
    start, stop = _boundary(first, window), _boundary(last, window)
    if start >= stop:
        msg = f"time {first}/{last} is empty; the end is not included"
        raise UsageError(msg)
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
        raise UsageError(msg) from error
    if instant.tzinfo is None:
        instant = instant.replace(tzinfo=UTC)
    if not window.start <= instant <= window.end:
        msg = f"time {asked} is outside the window, {_iso(window.start)} to {_iso(window.end)}"
        raise UsageError(msg)
    step, past = divmod(instant - window.start, window.step)
    if past:
        earlier = window.start + step * window.step
        msg = (
            f"time {asked} is inside a step; "
            f"the nearest boundaries are {_iso(earlier)} and {_iso(earlier + window.step)}"
        )
        raise UsageError(msg)
    return step


def _iso(instant: datetime) -> str:
    return instant.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
