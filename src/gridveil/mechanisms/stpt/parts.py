"""The paper's sanitisation: the quantized pattern, and one noisy sum for each of its parts."""

from __future__ import annotations

from typing import Literal

import numpy as np

from gridveil.model.arrays import Floats, Ints
from gridveil.trusted.kernel.session import Session
from gridveil.uncertainty import Estimate, NoisyParts

# k-quantization: groups the cells and steps that the pattern expects to be alike. Input is sanitised.

Quantizer = Literal["kmeans", "equal-mass", "equal-width"]
LLOYD_ROUNDS = 200


def quantize(pattern: Floats, buckets: int, quantizer: Quantizer) -> Ints:
    """Return the part of every entry, numbered 0, 1, ... without gaps in order of value; at most `buckets` parts.

    Equal values are always in one part. `equal-width` is the paper's: equal intervals between the extremes.
    `equal-mass` gives every part the same expected sum, hence the same relative noise. `kmeans` makes the entries of
    a part as alike as possible.

    >>> quantize(np.array([0.0, 1.0, 1.1, 9.0]), 3, "equal-width").tolist()
    [0, 0, 0, 1]
    >>> quantize(np.array([0.0, 1.0, 1.1, 9.0]), 3, "kmeans").tolist()
    [0, 1, 1, 2]
    """
    values, which, counts = np.unique(pattern, return_inverse=True, return_counts=True)
    if quantizer == "equal-width":
        bucket = _cut_equal_width(values, buckets)
    elif quantizer == "equal-mass":
        bucket = _cut_equal_mass(values, counts, buckets)
    else:
        bucket = _cut_kmeans(values, counts, buckets)
    return np.unique(bucket, return_inverse=True)[1][which].reshape(pattern.shape).astype(np.int64)


def _cut_equal_width(values: Floats, buckets: int) -> Ints:
    width = (values[-1] - values[0]) / buckets
    if width == 0:
        return np.zeros(len(values), dtype=np.int64)
    bucket: Ints = np.minimum((values - values[0]) / width, buckets - 1).astype(np.int64)
    return bucket


def _cut_equal_mass(values: Floats, counts: Ints, buckets: int) -> Ints:
    mass = np.maximum(values, 0) * counts
    if mass.sum() == 0:
        return np.zeros(len(values), dtype=np.int64)
    middle = (np.cumsum(mass) - mass / 2) / mass.sum()
    bucket: Ints = np.minimum(middle * buckets, buckets - 1).astype(np.int64)
    return bucket


def _cut_kmeans(values: Floats, counts: Ints, buckets: int) -> Ints:
    """Lloyd's iteration on sorted numbers: a cluster is an interval, so prefix sums give its mean.

    It starts from splitting the widest scattered cluster at its mean, again and again. A cluster that loses all its
    values is dropped.
    """
    centred = values - np.average(values, weights=counts)
    weight, first, second = (np.append(0.0, np.cumsum(counts * centred**power)) for power in range(3))

    def means(ends: Ints) -> Floats:
        return np.diff(first[ends]) / np.diff(weight[ends])

    ends = np.array([0, len(values)])
    for _ in range(min(buckets, len(values)) - 1):
        scatter = np.where(np.diff(ends) > 1, np.diff(second[ends]) - np.diff(weight[ends]) * means(ends) ** 2, -np.inf)
        widest = int(scatter.argmax())
        border = np.searchsorted(centred, means(ends)[widest])
        ends = np.insert(ends, widest + 1, np.clip(border, ends[widest] + 1, ends[widest + 1] - 1))
    for _ in range(LLOYD_ROUNDS):
        centres = means(ends)
        borders = np.searchsorted(centred, (centres[1:] + centres[:-1]) / 2)
        moved = np.unique(np.concatenate([[0], borders, [len(values)]]))
        if np.array_equal(moved, ends):
            break
        ends = moved
    return np.repeat(np.arange(len(ends) - 1), np.diff(ends))


# Empirical Bayes: shrink noisy numbers by their known noise. Input is sanitised.

MIN_FRACTION = 0.02
"""No estimate falls below this fraction of what was expected: non-negative, and nothing is ever divided by zero."""
RATIOS = np.concatenate([[0.0], np.geomspace(0.03, 40, 48)])
"""How many times the expected a true number may be: the support of the prior."""
EM_STEPS = 60
MAX_SAMPLE = 4096
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
    return np.maximum(expected + weight * deviation, MIN_FRACTION * expected)


def compute_posterior_mean(noisy: Floats, expected: Floats, scale: float) -> Floats:
    """Return the expectation of the true numbers, given Laplace noise of `scale` and a prior fitted to all of them.

    The prior is over the ratio of true to expected and has no form of its own (Kiefer and Wolfowitz' maximum
    likelihood, by EM): towns have empty cells and a few very large ones, which no linear rule treats well.
    """
    misfit = np.abs(noisy.reshape(-1, 1) - expected.reshape(-1, 1) * RATIOS) / scale
    likelihood = np.exp(misfit.min(axis=1, keepdims=True) - misfit)
    sample = np.random.default_rng(0).permutation(len(likelihood))[:MAX_SAMPLE]
    seen = likelihood[sample]
    prior = np.full(len(RATIOS), 1 / len(RATIOS))
    for _ in range(EM_STEPS):
        prior = prior * (seen.T @ (1 / (seen @ prior))) / len(seen)
    posterior = likelihood * prior
    ratio: Floats = (posterior @ RATIOS / posterior.sum(axis=1)).reshape(noisy.shape)
    return np.maximum(ratio, MIN_FRACTION) * expected


# The paper's sanitisation: one noisy sum for each part of the quantized pattern, spread over the part.

Calibration = Literal["joint", "theorem8"]
Spread = Literal["proportional", "uniform"]


def release_parts(
    measure: Session, pattern: Floats, labels: Ints, epsilon: float, calibration: Calibration, spread: Spread
) -> Estimate:
    """Measure the sum of each part for `epsilon` altogether and spread it over the part's cells and steps."""
    if calibration == "theorem8":
        relative = compute_theorem8_scales(labels, measure.bound.step, measure.bound.window)
        noisy = measure.sums(labels, epsilon, relative=relative, sequential=True)
    else:
        noisy = measure.sums(labels, epsilon)
    shares = compute_part_shares(pattern if spread == "proportional" else np.ones_like(pattern), labels)
    values = noisy.values[labels] * shares
    return Estimate(values, NoisyParts(labels, noisy.scales, shares), {"parts": len(noisy.scales)})


def compute_theorem8_scales(labels: Ints, step_bound: int, window_bound: int) -> Floats:
    """Return the relative noise scales of the paper's Theorem 8.

    It shares epsilon out in proportion to `s**(2/3)`, `s` being the most that one household can add to a part, and
    scales are `s / epsilon`: so they are in proportion to `s**(1/3)`.
    """
    nx, ny, _ = labels.shape
    count = int(labels.max()) + 1
    pillar = np.arange(nx * ny).reshape(nx, ny, 1)
    steps = np.bincount((pillar * count + labels).ravel(), minlength=nx * ny * count).reshape(-1, count).max(axis=0)
    most: Floats = np.minimum(step_bound * steps, window_bound).astype(np.float64)
    return most ** (1 / 3)


def compute_part_shares(weights: Floats, labels: Ints) -> Floats:
    """Return the fraction of its part that each entry is given: in proportion to its weight.

    A negative weight counts as 0 (a network may predict one); a part whose weights are all 0 is spread evenly.
    """
    positive = np.maximum(weights, 0.0)
    sums = np.bincount(labels.ravel(), weights=positive.ravel())
    positive = np.where(sums[labels] > 0, positive, 1.0)
    return positive / np.bincount(labels.ravel(), weights=positive.ravel())[labels]
