"""The kernel's transcript under attack: fixed questions, real noise drawn many times, exact likelihoods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass

import numpy as np

from gridveil.model.arrays import Floats
from gridveil.model.errors import GridveilError
from gridveil.research.audit.outcomes import AuditCase, Outcome, run_once, run_recorded
from gridveil.research.audit.transcript import Repeater, Said, log_ratio, ratios, worst_ratio
from gridveil.trusted.kernel.noise import Noise

SLACK = 1e-9
"""What floats may add to a log-ratio, of its size."""


class Pair:
    """One run and its twin: the same noisy answers in the other world. Says how far the two worlds are apart.

    with_canary, without: what was said in the two worlds: the same noisy answers to the same questions.
    loss: the largest log-ratio of any answers to these questions, or that of the recorded ones if it is larger.
    """

    def __init__(self, case: AuditCase, *, canary: bool) -> None:
        """Record a run and play its answers again in the other world; refuse if that does not give the same release."""
        first = run_recorded(case, canary=canary)
        repeater = Repeater(first.transcript)
        second = run_once(case, canary=not canary, noise=repeater)
        if len(repeater.said) < len(first.transcript) or not same(first, second):
            msg = "the same noisy answers led to another release: something beside them depends on the data"
            raise GridveilError(msg, code="replay-differs")
        both = first.transcript, tuple(repeater.said)
        self.with_canary, self.without = both if canary else both[::-1]
        self.ratio = log_ratio(self.with_canary, self.without)
        self.loss = max(worst_ratio(self.with_canary, self.without), abs(self.ratio))

    def exceeds(self, epsilon: float) -> bool:
        """Whether the loss is above epsilon."""
        return self.loss > epsilon * (1 + SLACK)


def same(first: Outcome, second: Outcome) -> bool:
    """Whether two runs came to the same: values, error bars and label, bit by bit."""
    return _equal(first.estimate, second.estimate) and first.label == second.label and first.records == second.records


def _equal(one: object, other: object) -> bool:
    """Whether two values, or dataclasses of arrays, are the same."""
    if is_dataclass(one):
        parts = (field.name for field in fields(one))
        return type(one) is type(other) and all(_equal(getattr(one, part), getattr(other, part)) for part in parts)
    if isinstance(one, np.ndarray):
        return np.array_equal(one, np.asarray(other), equal_nan=True)
    return one == other


def draw(here: Sequence[Said], there: Sequence[Said], runs: int, noise: Noise) -> Floats:
    """Return the log-ratio of `runs` transcripts with fresh noise, in the world of `here`.

    Answers that are the same in both worlds say nothing of which it is, and are not drawn.
    """
    total = np.zeros(runs)
    for said, other in zip(here, there, strict=True):
        moved = said.true != other.true
        if not moved.any():
            continue
        true, scales = np.tile(said.true[moved], runs), np.tile(said.scales[moved], runs)
        noisy = noise.add(true, scales) if said.staircase is None else noise.add_staircase(true, said.staircase)
        often = Said(true, noisy, scales, said.staircase)
        total += ratios(often, noisy, np.tile(other.true[moved], runs)).reshape(runs, -1).sum(axis=1)
    return total


def moved_answers(pair: Pair) -> int:
    """Return how many answers differ between the worlds."""
    both = zip(pair.with_canary, pair.without, strict=True)
    return sum(int((said.true != other.true).sum()) for said, other in both)
