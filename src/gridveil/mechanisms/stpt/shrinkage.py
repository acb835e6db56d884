"""Empirical Bayes: believe a noisy number as far as its known noise allows. Input is sanitised."""

from __future__ import annotations

import numpy as np

from gridveil.model.units import Floats

LEAST = 0.02
"""No estimate falls below this fraction of what was expected: non-negative, and nothing is ever divided by zero."""
RATIOS = np.concatenate([[0.0], np.geomspace(0.03, 40, 48)])
"""How many times the expected a true number may be: the support of the prior."""
EM_STEPS = 60
ENOUGH = 4096
"""So many numbers tell the prior well enough."""


def shrink(noisy: Floats, expected: Floats, variance: float) -> Floats:
    """Return numbers between what was measured and what was expected (all positive).

    True deviations are taken to have variance `spread * expected`. The spread is estimated from all numbers together
    by moments, less a margin of about its own noise, so that pure noise is ignored altogether.
    """
    deviation = noisy - expected
    excess = np.sum(deviation**2 - variance) - np.sqrt(3 * noisy.size) * variance
    spread = max(float(excess), 0.0) / float(expected.sum())
    weight = spread * expected / (spread * expected + variance)
    return np.maximum(expected + weight * deviation, LEAST * expected)


def posterior_mean(noisy: Floats, expected: Floats, scale: float) -> Floats:
    """Return the expectation of the true numbers, given Laplace noise of `scale` and a prior fitted to all of them.

    The prior is over the ratio of true to expected and has no form of its own (Kiefer and Wolfowitz' maximum
    likelihood, by EM): towns have empty cells and a few very large ones, which no linear rule treats well.
    """
    misfit = np.abs(noisy.reshape(-1, 1) - expected.reshape(-1, 1) * RATIOS) / scale
    likelihood = np.exp(misfit.min(axis=1, keepdims=True) - misfit)
    sample = np.random.default_rng(0).permutation(len(likelihood))[:ENOUGH]
    seen = likelihood[sample]
    prior = np.full(len(RATIOS), 1 / len(RATIOS))
    for _ in range(EM_STEPS):
        prior = prior * (seen.T @ (1 / (seen @ prior))) / len(seen)
    posterior = likelihood * prior
    ratio: Floats = (posterior @ RATIOS / posterior.sum(axis=1)).reshape(noisy.shape)
    return np.maximum(ratio, LEAST) * expected
