"""Mistakes that no single row shows: a wrong unit, timezone or file. For the operator only, never for a release."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gridveil.model.window import Window
from gridveil.trusted.kernel.bound import SUPPLY

if TYPE_CHECKING:
    from gridveil.trusted.source.parts import Summed

STANDBY = 5
"""Watts. Nearly every home uses more, at any hour."""

MANY, MOST = 0.1, 0.9
"""Of households' steps: if more are above the one, or below the other, readings are in another unit than was stated."""

THIN = 0.75
"""A first or last step with a smaller share of the readings that its neighbour has is not whole."""


def warnings_of(parts: list[Summed], window: Window) -> tuple[str, ...]:
    """Return what should keep the operator from publishing, of readings some of which count."""
    readings: Counter[int] = sum((Counter(part.steps) for part in parts), Counter())
    return (*_units(parts), *_silence(readings, window), *_ends(readings, window))


def _units(parts: list[Summed]) -> list[str]:
    rows = sum(part.contributions for part in parts) or 1
    high, low = sum(part.high for part in parts) / rows, sum(part.low for part in parts) / rows
    if high > MANY:
        use, unit = f"{high:.0%} of the steps of households have more than {SUPPLY // 1000} kW", "Wh read as kWh"
    elif low > MOST:
        use, unit = f"{low:.0%} of the steps of households have less than {STANDBY} W", "kWh read as Wh"
    else:
        return []
    return [f"WARNING: {use}: is the unit right, or are these {unit}?"]


def _silence(readings: Counter[int], window: Window) -> list[str]:
    """Return a warning if there are steps without readings: a day that is filed as another's looks like that."""
    silent = [moment for step, moment in enumerate(window.times()) if not readings[step]]
    if not silent:
        return []
    first, last = _told(silent[0]), _told(silent[-1])
    which = f"that of {first} UTC" if len(silent) == 1 else f"from {first} to {last} UTC"
    steps = f"{len(silent):,} step{'s' if len(silent) > 1 else ''}"
    return [f"WARNING: no reading counts in {steps}, {which}: is a file missing, or does one hold another day?"]


def _ends(readings: Counter[int], window: Window) -> list[str]:
    """Return a warning if the first or the last step is not whole: so it is if intervals are taken for later ones."""
    thin = []
    for which, step, beside in (("first", 0, 1), ("last", window.steps - 1, window.steps - 2)):
        if window.steps > 1 and 0 < readings[step] < THIN * readings[beside]:
            thin.append(
                f"the {which} step has {readings[step] / readings[beside]:.0%} of the readings of its neighbour"
            )
    if not thin:
        return []
    return [f"WARNING: {', and '.join(thin)}: are timezone and timestamps (start or end) right, and the files whole?"]


def _told(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}"
