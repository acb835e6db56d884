"""How much privacy loss a number of runs proves: a lower bound on epsilon, with a stated chance of being wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from gridveil.model.arrays import Floats
from gridveil.model.errors import UsageError

Direction = Literal["with above", "with below", "without above", "without below"]
DIRECTIONS: tuple[Direction, ...] = ("with above", "with below", "without above", "without below")
"""The world in which the event is the likelier one, and on which side of the threshold the event lies."""

MOST_THRESHOLDS = 200
"""Thresholds that are tried, evenly over the ranks of the values seen."""
FEWEST_RUNS = 4
BISECTIONS = 100


@dataclass(frozen=True)
class Attained:
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


def lower_bound(with_canary: ArrayLike, without: ArrayLike, *, error: float) -> Attained:
    """Return how much epsilon the values of a statistic prove, one value for each independent run in either world.

    Guarantee: if what the statistic is computed from is epsilon-differentially private and the two worlds are
    neighbours, then `lower <= epsilon` with probability at least `1 - error`, over the noise of the runs. Argument: the
    event is a function of the first halves, so given those, the second halves are independent runs in which it
    comes up with some fixed chance `p` in one world and `q` in the other, and `p <= e^epsilon q` by the
    definition. Clopper-Pearson limits at `error / 2` each give `p >= p_low` and `q <= q_high` together with probability
    at least `1 - error`; then `log(p_low / q_high) <= log(p / q) <= epsilon`. Both worlds and both sides of the
    threshold are candidates, so that an alarm and the absence of one count alike.
    """
    yes, no = (_checked(values) for values in (with_canary, without))
    event = _choose(yes[: len(yes) // 2], no[: len(no) // 2], error)
    return _attained(yes[len(yes) // 2 :], no[len(no) // 2 :], *event, error)


def lower_limit(hits: int, runs: int, error: float) -> float:
    """Return the Clopper-Pearson lower limit of a chance: the largest under which as many hits have chance `error`.

    >>> round(lower_limit(5, 10, 0.025), 4)
    0.1871
    """
    if hits == 0:
        return 0.0
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if _tail(hits, runs, middle) <= error else (low, middle)
    return low


def upper_limit(hits: int, runs: int, error: float) -> float:
    """Return the Clopper-Pearson upper limit of a chance: what the misses leave.

    >>> round(upper_limit(0, 100, 0.05), 4)
    0.0295
    """
    return 1.0 - lower_limit(runs - hits, runs, error)


def _tail(hits: int, runs: int, chance: float) -> float:
    """Return `P(X >= hits)` for a binomial `X`: the chance of exactly `hits`, times a sum of ratios to it."""
    if not 0 < chance < 1:
        return float(chance >= 1)
    above = np.arange(hits, runs)
    ratios = (runs - above) / (above + 1) * (chance / (1 - chance))
    with np.errstate(over="ignore"):  # far above the middle: the tail is one, and more than asked for
        sums = 1 + float(np.cumprod(ratios).sum())
    ways = math.lgamma(runs + 1) - math.lgamma(hits + 1) - math.lgamma(runs - hits + 1)
    exactly = ways + hits * math.log(chance) + (runs - hits) * math.log1p(-chance)
    return math.inf if math.isinf(sums) else math.exp(min(exactly + math.log(sums), 1.0))


def _checked(values: ArrayLike) -> Floats:
    checked = np.asarray(values, dtype=np.float64)
    if checked.ndim != 1 or len(checked) < FEWEST_RUNS or np.isnan(checked).any():
        msg = f"a statistic has one number for each of at least {FEWEST_RUNS} runs, not {checked.shape} or NaN"
        raise UsageError(msg, code="statistic-shape")
    return checked


def _choose(yes: Floats, no: Floats, error: float) -> tuple[float, Direction]:
    """Return the event that promises most, by normal approximations of the limits: a choice, which proves nothing."""
    seen = np.unique(np.concatenate([yes, no]))
    ranks = np.linspace(0, len(seen) - 1, min(MOST_THRESHOLDS, len(seen)))
    thresholds = seen[ranks.astype(np.int64)]
    above_yes = 1 - np.searchsorted(np.sort(yes), thresholds, side="right") / len(yes)
    above_no = 1 - np.searchsorted(np.sort(no), thresholds, side="right") / len(no)
    scores = np.stack(
        [
            _promise(above_yes, above_no, len(yes), len(no), error),
            _promise(1 - above_yes, 1 - above_no, len(yes), len(no), error),
            _promise(above_no, above_yes, len(no), len(yes), error),
            _promise(1 - above_no, 1 - above_yes, len(no), len(yes), error),
        ]
    )
    which, at = np.unravel_index(int(np.argmax(scores)), scores.shape)
    return float(thresholds[at]), DIRECTIONS[int(which)]


def _promise(likely: Floats, unlikely: Floats, runs: int, others: int, error: float) -> Floats:
    """Return about what an event's bound would be: the logarithm of the ratio of two Wilson limits."""
    z = NormalDist().inv_cdf(1 - error / 2)

    def wilson(part: Floats, count: int, sign: int) -> Floats:
        spread = z * np.sqrt(part * (1 - part) / count + z**2 / (4 * count**2))
        return np.asarray((part + z**2 / (2 * count) + sign * spread) / (1 + z**2 / count))

    low, high = wilson(likely, runs, -1), wilson(unlikely, others, 1)
    return np.log(np.maximum(low, 1e-300) / high)


def _attained(yes: Floats, no: Floats, threshold: float, direction: Direction, error: float) -> Attained:
    likely, unlikely = (yes, no) if direction.startswith("with ") else (no, yes)
    above = direction.endswith("above")
    hits, false_hits = (int(((values > threshold) == above).sum()) for values in (likely, unlikely))
    lower = _proven(hits, len(likely), false_hits, len(unlikely), error)
    ceiling = _proven(len(likely), len(likely), 0, len(unlikely), error)
    return Attained(lower, threshold, direction, hits, false_hits, min(len(likely), len(unlikely)), error, ceiling)


def _proven(hits: int, runs: int, false_hits: int, others: int, error: float) -> float:
    low, high = lower_limit(hits, runs, error / 2), upper_limit(false_hits, others, error / 2)
    return max(0.0, math.log(low / high)) if low > 0 else 0.0
