"""Progress callbacks for long-running work."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, float], None]
"""Called with the name of a stage and the fraction of it that is done: 0 when it begins, and until one is known.

What a name says in brackets at its end may change on the way. What ends in a full stop is a sentence, and no stage.
"""


def silent(_stage: str, _done: float) -> None:
    """Report progress to nobody."""


def is_sentence(stage: str) -> bool:
    """Whether this is to be told once, as it is."""
    return stage.endswith(".")


def split_stage(stage: str) -> tuple[str, str]:
    """Return the name of a stage, and what it says in brackets.

    >>> split_stage("read the tables (1 of 2 parts)")
    ('read the tables', '1 of 2 parts')
    """
    name, _, details = stage.partition(" (")
    return name, details.removesuffix(")")
