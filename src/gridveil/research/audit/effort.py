"""The attacks on each mechanism, how often each is run, and what they must attain."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from gridveil.publishing.spec import DEFAULT_MECHANISM
from gridveil.research.audit.canaries import list_canaries
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

AT_EPSILON = 1.0
"""The minimum is stated for this epsilon."""

MINIMA: dict[str, float] = {
    "mosaic": 0.45,
    "stpt": 0.45,
    "stpt-paper": 0.02,
    "outer": 0.6,
    "pgm": 0.6,
    "even": 0.7,
    "identity": 0.7,
    "fourier": 0.25,
    "fourier-20": 0.25,
    "wavelet": 0.35,
    "wavelet-20": 0.35,
    "fast": 0.5,
    "ar1": 0.7,
    "ug": 0.6,
    "ag": 0.5,
    "granularity": 0.5,
    "dpcube": 0.5,
    "htf": 0.5,
    "dawa": 0.35,
    "hb": 0.7,
    "privelet": 0.5,
    "hdmm": 0.7,
}
"""By mechanism. A lower bound below its minimum means that an attack got weaker, or that there is too much noise."""

RUN_MINIMA: dict[str, float] = {"identity": 0.5}
"""What whole runs must attain, by the release alone: 10,000 of identity do. Of others there are too few."""

LARGEST_LOSS, LARGEST_LOSS_MINIMA = 0.99, {"stpt-paper": 0.6}
"""The exact loss that some canary must have, and mechanisms where it is less: the claim, where calibration is tight."""

LOSS = 0.9
"""The exact loss that every canary must have: nearly the claim. One that is not there loses nothing."""

LOSS_MINIMA: dict[str, float] = {
    "stpt-paper": 0.3,
    "fourier": 0.15,
    "fourier-20": 0.15,
    "wavelet": 0.2,
    "wavelet-20": 0.2,
    "fast": 0.2,
    "dawa": 0.3,
    "privelet": 0.25,
}
"""Where it is less, by mechanism: noise is set by the worst household of all, and not every canary is that one."""

SMALL_CANARY, SMALL_LOSS = "one step over its bound", 0.05
"""A canary whose step bound keeps it far below the window bound loses less: what it must lose at all mechanisms."""


@dataclass(frozen=True)
class Effort:
    """How often each attack is run, in either world.

    identity, fast, slow: whole runs with the first canary, of identity (the baseline of the audit itself), of others
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


def list_attacks(mechanism: str, effort: Effort) -> list[Attack]:
    """Return all attacks on a mechanism."""
    found = []
    for canary in list_canaries():
        runs = _count_runs(mechanism, canary.name, effort)
        written = min(runs, effort.written) if canary.name == FIRST and mechanism in WRITTEN else 0
        found.append(Attack(mechanism, canary.name, runs, written, effort.pairs, effort.draws))
    if mechanism in VARIANTS:
        found.append(Attack(mechanism, FIRST, 0, 0, effort.pairs, effort.draws, VARIANTS[mechanism]))
    return found


def share_error(mechanisms: Iterable[str], effort: Effort) -> float:
    """Return the error that every single lower bound may have, so that all together have `ERROR` (Bonferroni)."""
    return ERROR / sum(attack.tests for name in mechanisms for attack in list_attacks(name, effort))


def _count_runs(mechanism: str, canary: str, effort: Effort) -> int:
    if canary == FIRST:
        return effort.identity if mechanism == "identity" else effort.slow if mechanism in SLOW else effort.fast
    by_default = mechanism == DEFAULT_MECHANISM and canary == "private bound"
    return effort.watched if by_default or canary in WATCHED else 0


def minimum_bound(mechanism: str, epsilon: float) -> float | None:
    """Return the minimum for a mechanism; `None` where none is stated."""
    return MINIMA.get(mechanism) if epsilon == AT_EPSILON else None


def minimum_by_runs(mechanism: str, epsilon: float) -> float | None:
    """Return the minimum for the whole runs of a mechanism; `None` where none is stated."""
    return RUN_MINIMA.get(mechanism) if epsilon == AT_EPSILON else None


def minimum_largest_loss(mechanism: str, epsilon: float) -> float | None:
    """Return what the largest exact loss of all attacks must come to; `None` where nothing is stated."""
    stated = mechanism in MINIMA and epsilon == AT_EPSILON
    return LARGEST_LOSS_MINIMA.get(mechanism, LARGEST_LOSS) if stated else None


def minimum_loss(mechanism: str, attack: str, epsilon: float) -> float | None:
    """Return the smallest exact loss that an attack must come to; `None` where none is stated."""
    if mechanism not in MINIMA or epsilon != AT_EPSILON:
        return None
    return SMALL_LOSS if attack == SMALL_CANARY else LOSS_MINIMA.get(mechanism, LOSS)
