"""What counts of runs prove: a lower bound on epsilon, and an attacker's rates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from gridveil.model.arrays import Floats
from gridveil.model.errors import UsageError
from gridveil.trusted.budget import attacker_rate

Direction = Literal["with above", "with below", "without above", "without below"]
DIRECTIONS: tuple[Direction, ...] = ("with above", "with below", "without above", "without below")
"""The world in which the event is the likelier one, and on which side of the threshold the event lies."""

MAX_THRESHOLDS = 200
"""Thresholds that are tried, evenly over the ranks of the values seen."""
MIN_RUNS = 4

FALSE_POSITIVES = 0.01

TIED = 9
"""Digits of a log-likelihood ratio: what is equal in these is equal but for the rounding of floats."""


@dataclass(frozen=True)
class EpsilonBound:
    """What an attack with one statistic attained.

    lower: a lower bound on epsilon; 0 if the attack shows nothing.
    threshold, direction: the event, chosen on the first half of the runs: the statistic is above the threshold, or it
        is not ("below": at it or below).
    hits, false_hits: how often the event came up among the second half's `runs` of the world where it is likely, and
        of the other.
    error: the chance that `lower` exceeds the true epsilon is at most this.
    ceiling: the most that so many runs prove at this error: every run a hit, none a false one. An attack refutes no
        claim that is not below its ceiling, whatever leaks.
    """

    lower: float
    threshold: float
    direction: Direction
    hits: int
    false_hits: int
    runs: int
    error: float
    ceiling: float


def lower_bound(with_canary: ArrayLike, without: ArrayLike, *, error: float) -> EpsilonBound:
    """Return how much epsilon the values of a statistic prove, one value for each independent run in either world.

    Guarantee: if what the statistic is computed from is epsilon-differentially private and the two worlds are
    neighbours, then `lower <= epsilon` with probability at least `1 - error`, over the noise of the runs. Argument: the
    event is a function of the first halves, so given those, the second halves are independent runs in which it
    comes up with some fixed chance `p` in one world and `q` in the other, and `p <= e^epsilon q` by the
    definition. Clopper-Pearson limits at `error / 2` each give `p >= p_low` and `q <= q_high` together with probability
    at least `1 - error`; then `log(p_low / q_high) <= log(p / q) <= epsilon`. Both worlds and both sides of the
    threshold are candidates, so that an alarm and the absence of one count alike.
    """
    yes, no = (_check_values(values) for values in (with_canary, without))
    event = _choose_event(yes[: len(yes) // 2], no[: len(no) // 2], error)
    return _test_event(yes[len(yes) // 2 :], no[len(no) // 2 :], *event, error)


def lower_limit(hits: int, runs: int, error: float) -> float:
    """Return the Clopper-Pearson lower limit of a chance: the largest under which as many hits have chance `error`.

    >>> round(lower_limit(5, 10, 0.025), 4)
    0.1871
    """
    return float(betaincinv(hits, runs - hits + 1, error)) if hits else 0.0


def upper_limit(hits: int, runs: int, error: float) -> float:
    """Return the Clopper-Pearson upper limit of a chance: what the misses leave.

    >>> round(upper_limit(0, 100, 0.05), 4)
    0.0295
    """
    return 1.0 - lower_limit(runs - hits, runs, error)


def _check_values(values: ArrayLike) -> Floats:
    checked = np.asarray(values, dtype=np.float64)
    if checked.ndim != 1 or len(checked) < MIN_RUNS or np.isnan(checked).any():
        msg = f"a statistic has one number for each of at least {MIN_RUNS} runs, not {checked.shape} or NaN"
        raise UsageError(msg, code="statistic-shape")
    return checked


def _choose_event(yes: Floats, no: Floats, error: float) -> tuple[float, Direction]:
    """Return the event that promises most, by normal approximations of the limits: a choice, which proves nothing."""
    seen = np.unique(np.concatenate([yes, no]))
    ranks = np.linspace(0, len(seen) - 1, min(MAX_THRESHOLDS, len(seen)))
    thresholds = seen[ranks.astype(np.int64)]
    above_yes = 1 - np.searchsorted(np.sort(yes), thresholds, side="right") / len(yes)
    above_no = 1 - np.searchsorted(np.sort(no), thresholds, side="right") / len(no)
    scores = np.stack(
        [
            _approximate(above_yes, above_no, len(yes), len(no), error),
            _approximate(1 - above_yes, 1 - above_no, len(yes), len(no), error),
            _approximate(above_no, above_yes, len(no), len(yes), error),
            _approximate(1 - above_no, 1 - above_yes, len(no), len(yes), error),
        ]
    )
    which, at = np.unravel_index(int(np.argmax(scores)), scores.shape)
    return float(thresholds[at]), DIRECTIONS[int(which)]


def _approximate(likely: Floats, unlikely: Floats, runs: int, others: int, error: float) -> Floats:
    """Return about what an event's bound would be: the logarithm of the ratio of two Wilson limits."""
    z = NormalDist().inv_cdf(1 - error / 2)

    def wilson(part: Floats, count: int, sign: int) -> Floats:
        spread = z * np.sqrt(part * (1 - part) / count + z**2 / (4 * count**2))
        return np.asarray((part + z**2 / (2 * count) + sign * spread) / (1 + z**2 / count))

    low, high = wilson(likely, runs, -1), wilson(unlikely, others, 1)
    return np.log(np.maximum(low, 1e-300) / high)


def _test_event(yes: Floats, no: Floats, threshold: float, direction: Direction, error: float) -> EpsilonBound:
    likely, unlikely = (yes, no) if direction.startswith("with ") else (no, yes)
    above = direction.endswith("above")
    hits, false_hits = (int(((values > threshold) == above).sum()) for values in (likely, unlikely))
    lower = _prove(hits, len(likely), false_hits, len(unlikely), error)
    ceiling = _prove(len(likely), len(likely), 0, len(unlikely), error)
    return EpsilonBound(lower, threshold, direction, hits, false_hits, min(len(likely), len(unlikely)), error, ceiling)


def _prove(hits: int, runs: int, false_hits: int, others: int, error: float) -> float:
    low, high = lower_limit(hits, runs, error / 2), upper_limit(false_hits, others, error / 2)
    return max(0.0, math.log(low / high)) if low > 0 else 0.0


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


def estimate_rate(present: Floats, absent: Floats, seed: int, false_positives: float = FALSE_POSITIVES) -> Rate:
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
