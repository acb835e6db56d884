"""Pufferfish's Markov quilt mechanism (Song, Wang, Chaudhuri 2017, the approximate one): protects single readings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gridveil.mechanisms.base import COMPARISON_ONLY
from gridveil.model.arrays import WH_PER_KWH, Floats, Ints
from gridveil.model.errors import UsageError
from gridveil.research.datasets.dataset import PlacedDataset
from gridveil.trusted.budget import Bound

Matrix = tuple[tuple[float, ...], ...]

HOURLY_LEVELS: Matrix = (
    (0.80, 0.17, 0.03),
    (0.20, 0.65, 0.15),
    (0.06, 0.29, 0.65),
)
"""From hour to hour between a low, a medium and a high level of use.

An assumption in round numbers, public because it is written here: nothing is fitted to the data that is released."""


@dataclass(frozen=True)
class MarkovQuilt:
    """Laplace noise on every cell and step, as much as hides one reading and those that it tells something about.

    The model: a household's level of use (low, medium, high) is a Markov chain with the `transitions` given, from any
    start; a reading is anything, up to the clip, that depends on the level of its own step alone; households are
    independent. If that holds, an attacker who sees the release cannot tell what a single reading was (pure
    epsilon-Pufferfish). It says nothing about a household's whole series, its total or whether it is there at all,
    and nothing if people are more regular than the model, as they are: days resemble each other.

    One reading moves one cell and step by at most the clip `L`: the noise is `Lap(L * sigma)` on each.
    """

    transitions: Matrix = HOURLY_LEVELS
    promise: ClassVar[str] = COMPARISON_ONLY["markov-quilt"].promise

    def __post_init__(self) -> None:
        """Refuse what is no chain, or one that need not forget."""
        matrix = np.array(self.transitions)
        if matrix.ndim != 2 or len(matrix) != matrix.shape[1] or not np.allclose(matrix.sum(axis=1), 1.0):  # noqa: PLR2004  # rows and columns
            msg = f"transitions {self.transitions}: a square of probabilities is needed, each row adding up to 1"
            raise UsageError(msg, code="transitions-shape")
        if len(matrix) == 1 or (matrix <= 0).any():
            msg = f"transitions {self.transitions}: at least two levels are needed, and a way from each to each"
            raise UsageError(msg, code="transitions-levels")

    def release(self, placed: PlacedDataset, epsilon: float, bound: Bound, clip: int, seed: int) -> Floats:
        """Return the sums of readings cut at `clip`, with noise. The bound on a household's total has no part in it."""
        del bound
        truth = placed.truth(clip)
        scale = clip / WH_PER_KWH * quilt_scale(np.array(self.transitions), truth.shape[2], epsilon)
        return truth + np.random.default_rng(seed).laplace(0.0, scale, truth.shape)


def quilt_scale(transitions: Floats, steps: int, epsilon: float) -> float:
    """Return sigma: the largest over all readings of the smallest score of a quilt around it.

    A quilt is the step `a` before and the step `b` after the reading: given the levels there, what lies beyond is
    independent of it. The `n = a + b - 1` readings between are hidden by noise, and the quilt itself tells at most `e`
    of the reading (`influences`), so the score is `n / (epsilon - e)`, if `e < epsilon`. A quilt may also have one side
    only, and `n` then reaches to the end of the window, or none: `steps / epsilon`, the noise that hides everything.

    >>> quilt_scale(np.array([[0.999, 0.001], [0.001, 0.999]]), steps=120, epsilon=2)  # remembers for days
    60.0
    """
    before, after = influences(transitions, steps)
    past = np.arange(steps)
    future = past[::-1]
    distance = np.arange(steps)
    # Scores of two-sided quilts depend on (a, b) alone; a reading may use those that fit inside the window.
    both = _score(distance[:, None] + distance - 1, before[:, None] + after, epsilon)
    both = np.minimum.accumulate(np.minimum.accumulate(both, axis=0), axis=1)[past, future]
    only_before = _score(future[:, None] + distance, np.where(distance <= past[:, None], before, np.inf), epsilon)
    only_after = _score(past[:, None] + distance, np.where(distance <= future[:, None], after, np.inf), epsilon)
    best = np.minimum(both, np.minimum(only_before.min(axis=1), only_after.min(axis=1)))
    return float(np.minimum(best, steps / epsilon).max())


def influences(transitions: Floats, steps: int) -> tuple[Floats, Floats]:
    """Return how much the level 0, 1, ... steps before a reading, and after it, can tell of it: log-ratios.

    `D_a = exp(-g a) / pi_min` bounds the relative distance from the stationary distribution `pi` after `a` steps, with
    `g = (1 - lambda_2(M M*)) / 2`, `M*` the chain run backwards. Forwards that gives `log((1 + D) / (1 - D))`;
    backwards, by Bayes' rule, twice as much; and no bound (infinity) while `D >= 1`.
    """
    states = len(transitions)
    balance = np.vstack([transitions.T - np.eye(states), np.ones(states)])
    stationary = np.linalg.lstsq(balance, np.append(np.zeros(states), 1.0), rcond=None)[0]
    # M M* is similar to S S' with S = diag(pi)^1/2 M diag(pi)^-1/2: its eigenvalues are S's squared singular values.
    root = np.sqrt(stationary)
    second = np.linalg.svd(transitions * root[:, None] / root, compute_uv=False)[1] ** 2
    distance = np.exp(-(1 - second) / 2 * np.arange(steps)) / stationary.min()
    near = distance >= 1
    distance[near] = 0.0
    after = np.where(near, np.inf, np.log1p(distance) - np.log1p(-distance))
    return 2 * after, after


def _score(inside: Ints, influence: Floats, epsilon: float) -> Floats:
    left = epsilon - influence
    return np.where(left > 0, inside / np.where(left > 0, left, 1.0), np.inf)
