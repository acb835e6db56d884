"""The interface of a mechanism, and the check of its settings before anything is read or spent."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, NoReturn, Protocol, runtime_checkable

from gridveil.geography.grid import Grid
from gridveil.model.progress import Progress, silent
from gridveil.model.window import Window
from gridveil.trusted.kernel.bound import Bound
from gridveil.trusted.kernel.session import Session
from gridveil.uncertainty import Estimate

__all__ = ["Mechanism", "Progress", "silent"]


@runtime_checkable
class Mechanism(Protocol):
    """A plan of measurements and a reconstruction. Its parameters are the fields of a frozen dataclass.

    A mechanism whose field or property `train_steps` is positive may also measure that many steps before the window.
    One with the class attribute `chooses_bounds` chooses window bounds itself where none is given; see `bounds`.
    """

    def release(self, measure: Session, progress: Progress = silent) -> Estimate:
        """Measure through the kernel's session and reconstruct the cube."""


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
