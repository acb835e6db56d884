"""How long work tells that it goes on."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float], None]
"""Called with the name of a stage and the fraction of it that is done."""


def silent(_stage: str, _done: float) -> None:
    """Report progress to nobody."""
