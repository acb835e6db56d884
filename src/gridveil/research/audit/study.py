"""The audit of a mechanism: all attacks carried out, and what each of them proves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridveil.mechanisms.registry import list_names, make, train_steps
from gridveil.model.errors import GridveilError
from gridveil.research.audit.bound import lower_bound
from gridveil.research.audit.canaries import TRAIN, Worlds, canaries, world
from gridveil.research.audit.draws import Pair, draw, moved_answers
from gridveil.research.audit.effort import ERROR, Attack, Effort, attacks_on, error_of_each
from gridveil.research.audit.outcomes import AuditCase, run_once
from gridveil.research.audit.statistics import FILE_STATISTICS, STATISTICS
from gridveil.trusted.kernel.noise import ExactNoise

TRANSCRIPT = "transcript log-likelihood"
SHARES = (12, 3)
"""Of an attack's draws: runs are at least one in so many of them, and at most."""


@dataclass(frozen=True)
class AuditFinding:
    """What one attack proves: with probability `confidence`, no `lower` of the whole audit is above the true epsilon.

    runs: in either world; half of them chose the threshold, the others were counted.
    ceiling: the most that so many runs could prove. If it is not above `epsilon`, the attack cannot refute that.
    bound: whether the window bound was given or chosen privately.
    """

    mechanism: str
    epsilon: float
    lower: float
    confidence: float
    runs: int
    statistic: str
    ceiling: float
    canary: str
    bound: str
    parameters: dict[str, Any]


@dataclass(frozen=True)
class Carried:
    """What came of one attack, or of several.

    losses: by attack, the exact loss of its worst transcript, in epsilon: what a perfect attacker with endless runs
        attains; infinite where the same answers led to something else.
    faults: what must not be, in words: proofs against the claim that need no statistics.
    """

    findings: list[AuditFinding]
    losses: dict[str, float]
    faults: list[str]

    @property
    def loss(self) -> float:
        """The largest of the losses."""
        return max(self.losses.values())


def audit(mechanism: str, epsilon: float | str, effort: Effort | None = None) -> Carried:
    """Carry out all attacks on a mechanism, here and now; findings with the highest lower bound come first.

    Guarantee: see `lower_bound`. The error of a whole audit of all registered mechanisms is shared out evenly among all
    of its bounds, also where only one mechanism is attacked: whatever is attacked, all bounds hold together with
    probability `1 - ERROR`.
    """
    effort = effort or Effort()
    each = error_of_each(family(mechanism), effort)
    return combine(carry_out(attack, epsilon, each) for attack in attacks_on(mechanism, effort))


def family(*more: str) -> list[str]:
    """Return all mechanisms that an audit shares its error among."""
    return list(dict.fromkeys([*list_names(), *more]))


def combine(parts: Iterable[Carried]) -> Carried:
    """Put what came of several attacks together, the strongest first."""
    every = list(parts)
    findings = sorted((found for part in every for found in part.findings), key=lambda found: -found.lower)
    losses = {name: loss for part in every for name, loss in part.losses.items()}
    return Carried(findings, losses, [fault for part in every for fault in part.faults])


def carry_out(attack: Attack, epsilon: float | str, error: float) -> Carried:
    """Carry out one attack. `error` is that of each single lower bound."""
    worlds = _worlds(attack.canary, trains=train_steps(make(attack.mechanism, {})) > 0)
    case = AuditCase.of(attack.mechanism, epsilon, worlds, **attack.parameters)
    claim = float(case.budget.epsilon)

    def finding(statistic: str, yes: NDArray[np.float64], no: NDArray[np.float64]) -> AuditFinding:
        attained = lower_bound(yes, no, error=error)
        bound = "private" if worlds.private_bound else "given"
        here = attack.mechanism, claim, attained.lower, 1 - ERROR, min(len(yes), len(no)), statistic
        return AuditFinding(*here, attained.ceiling, attack.canary, bound, attack.parameters)

    where = f"{attack.mechanism}, canary {attack.name}"
    try:
        pairs = [Pair(case, canary=bool(number % 2)) for number in range(attack.pairs)]
    except GridveilError as error_of_pair:
        return Carried([], {attack.name: np.inf}, [f"{where}: {error_of_pair}"])
    worst = max(pairs, key=lambda pair: pair.loss)
    too_much = f"{where}: some answers have a loss of {worst.loss:.9g}, above {claim:g}"
    findings = [finding(TRANSCRIPT, *_ratios(worst, attack.draws))]
    if attack.runs:
        seen = [_watch(case, attack, canary=canary) for canary in (True, False)]
        findings += [finding(name, seen[0][name], seen[1][name]) for name in seen[0]]
    return Carried(findings, {attack.name: worst.loss}, [too_much] if worst.exceeds(claim) else [])


def _ratios(pair: Pair, draws: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the log-ratios of many transcripts with and without the canary: fresh noise on the questions of a run.

    The questions are those of one recorded run. The kernel's promise holds for any questions, so also for these.
    """
    most, least = draws // SHARES[1], draws // SHARES[0]
    runs = min(most, max(least, draws // max(moved_answers(pair), 1)))
    noise = ExactNoise()
    return draw(pair.with_canary, pair.without, runs, noise), -draw(pair.without, pair.with_canary, runs, noise)


def _watch(case: AuditCase, attack: Attack, *, canary: bool) -> dict[str, NDArray[np.float64]]:
    """Run the real path many times in one world, and return the values of every statistic."""
    statistics = STATISTICS | (FILE_STATISTICS if attack.written else {})
    values: dict[str, list[float]] = {name: [] for name in statistics}
    for number in range(attack.runs):
        outcome = run_once(case, canary=canary, write=number < attack.written)
        for name, statistic in statistics.items():
            if name in STATISTICS or outcome.files:
                values[name].append(statistic(outcome, case.worlds))
    return {name: np.array(seen) for name, seen in values.items()}


@cache
def _worlds(canary: str, *, trains: bool) -> Worlds:
    chosen = next(known for known in canaries() if known.name == canary)
    return world(chosen, train_steps=TRAIN if trains else 0)
