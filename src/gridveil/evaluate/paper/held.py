"""All results in one place, as the report takes them."""

from __future__ import annotations

from dataclasses import dataclass

from gridveil.evaluate.paper.numbers import Lines
from gridveil.evaluate.scoring import Record


@dataclass(frozen=True)
class Held:
    """All results, averaged over repeats; run times as they are."""

    done: int
    total: int
    london: Lines
    panels: Lines
    buckets: Lines
    leak: Lines
    pattern: list[Record]
    runtime: list[Record]
