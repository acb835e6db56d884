"""All results in one place, as the report takes them."""

from __future__ import annotations

from dataclasses import dataclass

from gridveil.research.compare.scoring import Record
from gridveil.research.paper.numbers import Lines


@dataclass(frozen=True)
class PaperResults:
    """All results, averaged over repeats; run times as they are."""

    done: int
    total: int
    london: Lines
    panels: Lines
    buckets: Lines
    leak: Lines
    pattern: list[Record]
    runtime: list[Record]
