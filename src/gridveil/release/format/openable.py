"""What a release must keep to so that it opens again: asked of public settings, before a row is read or a bit spent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from gridveil.geography.grid import Grid
from gridveil.model.errors import GridveilError, UsageError
from gridveil.model.window import Window
from gridveil.release.format.distrust import check_content, check_size, check_system, check_window
from gridveil.release.format.facts import UNSEEN
from gridveil.release.format.label import MechanismFacts


def check_openable(
    grid: Grid, windows: Iterable[Window], texts: Mapping[str, str], parameters: Mapping[str, Any]
) -> None:
    """Refuse what a label could hold but no reader would take; the published window comes first.

    >>> from datetime import UTC, datetime, timedelta
    >>> window = Window(datetime(9500, 1, 1, tzinfo=UTC), timedelta(hours=1), 24)
    >>> check_openable(Grid(0, 0, 1, 1, nx=2, ny=2), [window], {}, {})
    Traceback (most recent call last):
        ...
    gridveil.model.errors.UsageError: no release could be opened with these settings: a window from
    9500-01-01T00:00:00+00:00 to 9500-01-02T00:00:00+00:00: not in the years 1000 to 9000
    """
    published, *others = windows
    try:
        check_size((published.steps, grid.ny, grid.nx))
        for window in (published, *others):
            check_window(window)
        check_system(grid.crs)
        check_content({name: UNSEEN.sub(" ", text) for name, text in texts.items()})
        check_content(MechanismFacts(name="", parameters=dict(parameters)).parameters, "parameters")
    except (ValueError, OverflowError, GridveilError) as error:
        msg = f"no release could be opened with these settings: {error}"
        raise UsageError(msg, code="release-unopenable") from error
