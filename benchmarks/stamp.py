"""The label of releases that benchmarks write: made of nothing, and said to be not private."""

from __future__ import annotations

from datetime import date

from gridveil.geography.grid import Grid
from gridveil.model.window import Window
from gridveil.release.format.facts import GridFacts, WindowFacts
from gridveil.release.format.label import Label, MechanismFacts, Privacy


def stamp(title: str, grid: Grid, window: Window) -> Label:
    """Return a label for values that are nobody's."""
    return Label(
        title=title,
        publisher="gridveil",
        published=date(2026, 1, 1),
        gridveil_version="0",
        private=False,
        privacy=Privacy(epsilon=1, epsilon_accounted=1),
        noise=[],
        not_covered=[],
        bounds=[],
        correction=None,
        ledger_entry=None,
        private_bound_epsilon=None,
        mechanism=MechanismFacts(name="none"),
        measurements=[],
        grid=GridFacts.of(grid),
        window=WindowFacts.of(window),
    )
