"""The audit of mechanisms: all attacks carried out, here or in parallel, and what each of them proves."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from gridveil.mechanisms.base import list_names, make, train_steps
from gridveil.model.arrays import Floats
from gridveil.model.errors import GridveilError
from gridveil.research.audit.bound import lower_bound
from gridveil.research.audit.canaries import TRAIN, Worlds, list_canaries, make_worlds
from gridveil.research.audit.effort import ERROR, SLOW, Attack, Effort, list_attacks, share_error
from gridveil.research.audit.outcomes import AuditCase, replay_run, run_once
from gridveil.research.audit.statistics import FILE_STATISTICS, STATISTICS
from gridveil.research.audit.transcript import TranscriptPair
from gridveil.research.compare.study import worker_pool
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
class AttackResult:
    """The result of one attack, or of several.

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


def audit(mechanism: str, epsilon: float | str, effort: Effort | None = None) -> AttackResult:
    """Carry out all attacks on a mechanism, here and now; findings with the highest lower bound come first.

    Guarantee: see `lower_bound`. The error of a whole audit of all registered mechanisms is shared out evenly among all
    of its bounds, also where only one mechanism is attacked: whatever is attacked, all bounds hold together with
    probability `1 - ERROR`.
    """
    effort = effort or Effort()
    each = share_error(list_audited(mechanism), effort)
    return combine_results(run_attack(attack, epsilon, each) for attack in list_attacks(mechanism, effort))


def audit_all(
    mechanisms: Sequence[str],
    epsilon: float | str,
    effort: Effort,
    tell: Callable[[float], None] = lambda _done: None,
    workers: int | None = None,
) -> dict[str, AttackResult]:
    """Return the audit of each mechanism, as `audit` makes it, in parallel: `workers` is the number of processes.

    `tell` is called with the part of the attacks that is done.
    """
    each = share_error(list_audited(*mechanisms), effort)
    todo = [attack for name in mechanisms for attack in list_attacks(name, effort)]
    todo.sort(key=_duration_key, reverse=True)  # the longest first, so that no process waits for another at the end
    done: dict[str, list[AttackResult]] = {name: [] for name in mechanisms}
    with worker_pool(workers or os.cpu_count() or 1) as pool:
        waiting = {pool.submit(run_attack, attack, epsilon, each): attack for attack in todo}
        for number, future in enumerate(as_completed(waiting), start=1):
            done[waiting[future].mechanism].append(future.result())
            tell(number / len(todo))
    return {name: combine_results(parts) for name, parts in done.items()}


def _duration_key(attack: Attack) -> tuple[bool, int]:
    return attack.mechanism in SLOW and attack.runs > 0, attack.runs


def list_audited(*more: str) -> list[str]:
    """Return all mechanisms that an audit shares its error among."""
    return list(dict.fromkeys([*list_names(), *more]))


def combine_results(parts: Iterable[AttackResult]) -> AttackResult:
    """Join the results of several attacks, the strongest finding first."""
    every = list(parts)
    findings = sorted((found for part in every for found in part.findings), key=lambda found: -found.lower)
    losses = {name: loss for part in every for name, loss in part.losses.items()}
    return AttackResult(findings, losses, [fault for part in every for fault in part.faults])


def run_attack(attack: Attack, epsilon: float | str, error: float) -> AttackResult:
    """Carry out one attack. `error` is that of each single lower bound."""
    worlds = _worlds(attack.canary, trains=train_steps(make(attack.mechanism, {})) > 0)
    case = AuditCase.of(attack.mechanism, epsilon, worlds, **attack.parameters)
    claim = float(case.budget.epsilon)

    def finding(statistic: str, yes: Floats, no: Floats) -> AuditFinding:
        attained = lower_bound(yes, no, error=error)
        bound = "private" if worlds.private_bound else "given"
        here = attack.mechanism, claim, attained.lower, 1 - ERROR, min(len(yes), len(no)), statistic
        return AuditFinding(*here, attained.ceiling, attack.canary, bound, attack.parameters)

    where = f"{attack.mechanism}, canary {attack.name}"
    try:
        pairs = [replay_run(case, canary=bool(number % 2)) for number in range(attack.pairs)]
    except GridveilError as error_of_pair:
        return AttackResult([], {attack.name: np.inf}, [f"{where}: {error_of_pair}"])
    worst = max(pairs, key=lambda pair: pair.loss)
    too_much = f"{where}: some answers have a loss of {worst.loss:.9g}, above {claim:g}"
    findings = [finding(TRANSCRIPT, *_draw_ratios(worst, attack.draws))]
    if attack.runs:
        seen = [_run_often(case, attack, canary=canary) for canary in (True, False)]
        findings += [finding(name, seen[0][name], seen[1][name]) for name in seen[0]]
    return AttackResult(findings, {attack.name: worst.loss}, [too_much] if worst.exceeds(claim) else [])


def _draw_ratios(pair: TranscriptPair, draws: int) -> tuple[Floats, Floats]:
    """Return the log-ratios of many transcripts with and without the canary: fresh noise on the questions of a run.

    The questions are those of one recorded run. The kernel's promise holds for any questions, so also for these.
    """
    high, low = draws // SHARES[1], draws // SHARES[0]
    runs, noise = min(high, max(low, draws // max(pair.moved, 1))), ExactNoise()
    return pair.draw(runs, noise, present=True), pair.draw(runs, noise, present=False)


def _run_often(case: AuditCase, attack: Attack, *, canary: bool) -> dict[str, Floats]:
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
    chosen = next(known for known in list_canaries() if known.name == canary)
    return make_worlds(chosen, train_steps=TRAIN if trains else 0)
