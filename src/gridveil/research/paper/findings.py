"""What a finding is: a sentence of the paper beside what our numbers say, and how far they agree."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

AGREES, IN_PART, DISAGREES, BESIDE = "agrees", "in part", "does not agree", "not in the paper"
MOST, FEW = 0.75, 0.25
"""A sentence of the paper agrees with ours if it holds in three of four cases, and in part from one of four on."""


@dataclass(frozen=True)
class PaperFinding:
    """A sentence of the paper, ours beside it, whether they agree, the numbers behind it, and why if they do not.

    counts: whether it is of a method that the sentence speaks of. Our `stpt` is not the paper's, nor is `stpt-leaky`.
    """

    topic: str
    paper: str
    ours: str
    verdict: str
    numbers: dict[str, Any] = field(default_factory=dict)
    why: str = ""
    counts: bool = True


PAPERS_OWN = "stpt-paper"
"""What the paper calls STPT, made private: sentences about STPT are decided by it."""


def verdicts(found: Iterable[PaperFinding]) -> dict[str, str]:
    """Return the verdict on each of the paper's sentences that was tried: mixed ones agree in part."""
    words: dict[str, set[str]] = {}
    for finding in found:
        if finding.counts and finding.verdict != BESIDE:
            words.setdefault(finding.paper, set()).add(finding.verdict)
    return {paper: next(iter(some)) if len(some) == 1 else IN_PART for paper, some in words.items()}


def verdict(some: list[Any], of_all: list[Any], numbers: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
    """Return how far they agree if it is so in some of all cases, and the counts."""
    share = len(some) / len(of_all)
    word = AGREES if share >= MOST else IN_PART if share >= FEW else DISAGREES
    return word, {"count": len(some), "of": len(of_all), **(numbers or {})}


def yes(agrees: bool) -> str:  # noqa: FBT001  # what it is about
    """Return the verdict on a single case."""
    return AGREES if agrees else DISAGREES


def of(some: list[Any], of_all: list[Any]) -> str:
    """Return `3 of 8`."""
    return f"{len(some)} of {len(of_all)}"


def listed(names: list[str], most: int = 6) -> str:
    """Return names with commas between, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
