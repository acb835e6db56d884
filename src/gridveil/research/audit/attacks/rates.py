"""How often an attacker is right, at a stated rate of false accusations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.model.arrays import Floats
from gridveil.research.audit.bound import lower_limit, upper_limit
from gridveil.trusted.budget import attacker_rate

FALSE_POSITIVES = 0.01
TIED = 9
"""Digits of a log-likelihood ratio: what is equal in these is equal but for the rounding of floats."""


@dataclass(frozen=True)
class Rate:
    """What an attack attained.

    found: of `present` runs, those in which the household was said to be there, and was.
    accused: of `absent` runs, those in which it was said to be there, and was not. The threshold was chosen on others.
    """

    found: int
    present: int
    accused: int
    absent: int

    @property
    def true_positives(self) -> float:
        """The part of households that are found."""
        return self.found / self.present

    @property
    def false_positives(self) -> float:
        """The part of false accusations."""
        return self.accused / self.absent

    def interval(self, error: float = 0.05) -> tuple[float, float]:
        """Return the Clopper-Pearson interval of the true-positive rate."""
        return lower_limit(self.found, self.present, error / 2), upper_limit(self.found, self.present, error / 2)

    def false_interval(self, error: float = 0.05) -> tuple[float, float]:
        """Return the Clopper-Pearson interval of the false-positive rate."""
        return lower_limit(self.accused, self.absent, error / 2), upper_limit(self.accused, self.absent, error / 2)

    def exceeds(self, epsilon: float, error: float) -> bool:
        """Whether this contradicts epsilon: if epsilon holds, true with probability `error` at most.

        Clopper-Pearson limits at `error / 2` each: both hold together but for that probability, and then the bound at
        the upper limit of false positives is at least the true rate.
        """
        low = lower_limit(self.found, self.present, error / 2)
        return low > attacker_rate(epsilon, upper_limit(self.accused, self.absent, error / 2))


def rate_at(present: Floats, absent: Floats, seed: int, false_positives: float = FALSE_POSITIVES) -> Rate:
    """Return how many present households an attacker finds whose scores are these, at a rate of false positives.

    present, absent: an attacker's score in independent runs with and without the household: higher, more likely there.
    The threshold is the quantile of the first half of the absent runs; false positives are counted in the second half.
    Equal scores are put in a random order, with a public seed: a test that may toss a coin is the best one.
    """
    random = np.random.default_rng(seed)
    scores = np.concatenate([present, absent]).round(TIED)
    rank = np.lexsort((random.random(len(scores)), scores)).argsort()
    there, not_there = rank[: len(present)], rank[len(present) :]
    chosen_on, counted_on = np.array_split(not_there, 2)
    threshold = np.sort(chosen_on)[len(chosen_on) - 1 - int(false_positives * len(chosen_on))]
    return Rate(
        found=int((there > threshold).sum()),
        present=len(there),
        accused=int((counted_on > threshold).sum()),
        absent=len(counted_on),
    )
