"""What long-running work is given: limits of memory, and a callback for its progress."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

# How much is held or worked on at a time: sizes that decide how long a run takes, never what it publishes.


@dataclass(frozen=True)
class Limits:
    """Passed to what works on large data; the defaults are for a machine with 8 GB.

    Limits change no published number. Of a cube with more than `held_values`, only sums can be measured.

    held_values: cells x steps that a kernel keeps between questions, of all its cubes together: 1 GB, an eighth of the
        memory that a year of hours on 256 x 256 cells is published in. A larger cube is asked for anew, slab by slab,
        for every question.
    slab_values: cells x steps, or answers, that a kernel works on at a time: 128 MB. A slab has one row at least.
    part_bytes: files smaller than this are read together by DuckDB: each part takes some time by itself.
    slice_rows: rows of a slice of a file for each thread of DuckDB: few enough for its cache, and enough to be worth a
        question of their own.
    """

    held_values: int = 2**27
    slab_values: int = 2**24
    part_bytes: int = 4 * 2**20
    slice_rows: int = 2 * 2**20


DEFAULT_LIMITS = Limits()


# Progress callbacks for long-running work.

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
