"""Which attacks are made on a mechanism, and how often each is run: fixed beforehand, so that errors can be shared."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from gridveil.publishing.spec import DEFAULT_MECHANISM
from gridveil.research.audit.canaries import canaries
from gridveil.research.audit.statistics import FILE_STATISTICS, STATISTICS

ERROR = 1e-6
"""The chance that any lower bound of a whole audit exceeds the true epsilon."""

SLOW = ("mosaic", "stpt", "stpt-paper", "pgm", "htf")
"""Mechanisms whose runs take so long that there is time for hundreds, not thousands."""

FIRST, WATCHED = "all in one step", ("in an empty cell", "alone in its quarter")
"""The canary that most whole runs are made with, and those that some are. Transcripts are of all canaries."""

WRITTEN = ("identity", "wavelet", "stpt", "mosaic")
"""Mechanisms whose releases are also written: one for each kind of error bars. Writing depends on nothing else."""

VARIANTS: dict[str, dict[str, Any]] = {"mosaic": {"noise": "staircase"}}
"""Parameters with which a mechanism asks other questions; attacked on the transcript."""


@dataclass(frozen=True)
class Effort:
    """How often each attack is run, in either world.

    identity, fast, slow: whole runs with the first canary, of identity (the yardstick of the audit itself), of others
        that are fast, and of slow ones.
    watched: whole runs with some other canaries: enough to see what is certain, or nearly so.
    written: how many of the runs with the first canary also write the release, of the mechanisms in `WRITTEN`.
    pairs: runs that are played again in the other world.
    draws: noisy answers that are drawn for a transcript; see `study.SHARES`.
    """

    identity: int = 10_000
    fast: int = 1_000
    slow: int = 200
    watched: int = 160
    written: int = 160
    pairs: int = 6
    draws: int = 120_000


@dataclass(frozen=True)
class Attack:
    """One canary, against one mechanism: whole runs, some of them written, and draws of the transcript."""

    mechanism: str
    canary: str
    runs: int
    written: int
    pairs: int
    draws: int
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The canary, and the parameters if they are not the mechanism's own."""
        return ", ".join([self.canary, *(f"{name} {value}" for name, value in self.parameters.items())])

    @property
    def tests(self) -> int:
        """How many lower bounds come of it."""
        return 1 + (len(STATISTICS) if self.runs else 0) + (len(FILE_STATISTICS) if self.written else 0)


def attacks_on(mechanism: str, effort: Effort) -> list[Attack]:
    """Return all attacks on a mechanism."""
    found = []
    for canary in canaries():
        runs = _runs(mechanism, canary.name, effort)
        written = min(runs, effort.written) if canary.name == FIRST and mechanism in WRITTEN else 0
        found.append(Attack(mechanism, canary.name, runs, written, effort.pairs, effort.draws))
    if mechanism in VARIANTS:
        found.append(Attack(mechanism, FIRST, 0, 0, effort.pairs, effort.draws, VARIANTS[mechanism]))
    return found


def error_of_each(mechanisms: Iterable[str], effort: Effort) -> float:
    """Return the error that every single lower bound may have, so that all together have `ERROR` (Bonferroni)."""
    return ERROR / sum(attack.tests for name in mechanisms for attack in attacks_on(name, effort))


def _runs(mechanism: str, canary: str, effort: Effort) -> int:
    if canary == FIRST:
        return effort.identity if mechanism == "identity" else effort.slow if mechanism in SLOW else effort.fast
    by_default = mechanism == DEFAULT_MECHANISM and canary == "private bound"
    return effort.watched if by_default or canary in WATCHED else 0
