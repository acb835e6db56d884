"""k-quantization: groups the cells and steps that the pattern expects to be alike. Input is sanitised."""

from __future__ import annotations

from typing import Literal

import numpy as np

from gridveil.model.units import Floats, Ints

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
        bucket = _equal_width(values, buckets)
    elif quantizer == "equal-mass":
        bucket = _equal_mass(values, counts, buckets)
    else:
        bucket = _kmeans(values, counts, buckets)
    return np.unique(bucket, return_inverse=True)[1][which].reshape(pattern.shape).astype(np.int64)


def _equal_width(values: Floats, buckets: int) -> Ints:
    width = (values[-1] - values[0]) / buckets
    if width == 0:
        return np.zeros(len(values), dtype=np.int64)
    bucket: Ints = np.minimum((values - values[0]) / width, buckets - 1).astype(np.int64)
    return bucket


def _equal_mass(values: Floats, counts: Ints, buckets: int) -> Ints:
    mass = np.maximum(values, 0) * counts
    if mass.sum() == 0:
        return np.zeros(len(values), dtype=np.int64)
    middle = (np.cumsum(mass) - mass / 2) / mass.sum()
    bucket: Ints = np.minimum(middle * buckets, buckets - 1).astype(np.int64)
    return bucket


def _kmeans(values: Floats, counts: Ints, buckets: int) -> Ints:
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
