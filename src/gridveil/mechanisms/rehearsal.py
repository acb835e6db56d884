"""A mechanism's own look at its public settings, before anything is read or spent."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NoReturn

from gridveil.geography.grid import Grid
from gridveil.mechanisms.base import Mechanism
from gridveil.model.window import Window
from gridveil.trusted.kernel.bound import Bound
from gridveil.trusted.kernel.session import Session


class _FirstQuestion(Exception):  # noqa: N818  # how a rehearsal ends, and nothing wrong
    """The mechanism was content with its settings, and asked."""


def check_settings(mechanism: Mechanism, grid: Grid, window: Window, bound: Bound, epsilon: float) -> None:
    """Let a mechanism refuse settings that do not fit the grid or window: run it until it asks its first question.

    What it was handed up to there is public, so that its refusal tells nothing; after the histogram of a private bound
    it would cost the whole budget.
    """

    def ask(*_: Any, **__: Any) -> NoReturn:  # noqa: ANN401  # whatever the question
        raise _FirstQuestion

    with suppress(_FirstQuestion):
        mechanism.release(Session(grid, window, bound, epsilon, ask, lambda: epsilon))
