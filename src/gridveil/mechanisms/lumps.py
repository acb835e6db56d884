"""From draws of smooth, bounded sums to draws of what households may truly have used: in lumps. Post-processing.

Energy comes by households: what bounds cut off belongs to few of them, and a region's sum is not spread over its cells
like butter. Error bars that left this out would be far too narrow for small regions.
"""

from __future__ import annotations

import numpy as np

from gridveil.estimate import Floats, Ints
from gridveil.mechanisms.population.population import Population

AT_BOUND = 0.05
"""A sum that falls short of so many times the bound, by this part of it, may still hold as many who exceed it."""
ROUNDS = 4
LEAST = 1e-9
FEW_PAIRS = 8
UNEVEN_BY_DEFAULT = 1.0
"""Of cells in a town about which nothing is known but that towns are uneven."""


def true_draws(bounded: Floats, labels: Ints, population: Population, bound: float, seed: int) -> Floats:
    """Return draws of cells' consumption (draw, x, y), Wh, from draws of bounded consumption that is smooth in regions.

    labels: (x, y) the region whose sum was measured, 0 to k - 1. With regions of one cell nothing is left to scatter.
    """
    random = np.random.default_rng(seed)
    sums = region_sums(bounded, labels)
    factors = np.resize(population.debias_draws(bound), len(bounded))
    whole = unbounded(sums, factors, population, bound, random)
    raised = bounded * np.take(whole / np.maximum(sums, LEAST), labels, axis=1)
    if labels.max() + 1 == labels.size:
        return np.asarray(raised)
    uneven = unevenness(sums, labels, population.second(bound) / max(population.mean(bound), 1.0))
    return scattered(raised, labels, population, uneven, random)


def region_sums(cells: Floats, labels: Ints) -> Floats:
    """Return the sums of regions (draw, region) of cells (draw, x, y).

    >>> region_sums(np.arange(4.0).reshape(1, 2, 2), np.array([[0, 0], [1, 1]])).tolist()
    [[1.0, 5.0]]
    """
    regions = int(labels.max()) + 1
    place = np.arange(len(cells))[:, None] * regions + labels.ravel()
    sums = np.bincount(place.ravel(), cells.ravel(), len(cells) * regions)
    return np.asarray(sums.reshape(len(cells), regions), dtype=np.float64)


def unbounded(
    sums: Floats, factors: Floats, population: Population, bound: float, random: np.random.Generator
) -> Floats:
    """Return sums (draw, region) with what a bound cut off added again: to few households, in regions with room.

    factors: by what all the sums of each draw together are to be multiplied, on average.
    """
    over = np.maximum(population.support - bound, 0.0)
    share = float(population.weights[over > 0].sum())
    if share <= 0:
        return sums * factors[:, None]
    mean = float(population.weights @ over) / share
    variance = max(float(population.weights @ over**2) / share - mean**2, (0.01 * mean) ** 2)
    wanted = np.maximum(factors - 1, 0.0) * sums.sum(axis=1) / mean
    room = np.floor(sums / bound + AT_BOUND)
    level = wanted / np.maximum((sums * (room > 0)).sum(axis=1), 1.0)
    for _ in range(ROUNDS):
        expected = np.minimum(level[:, None] * sums, room)
        level = level * wanted / np.maximum(expected.sum(axis=1), 1e-9)
    expected = np.minimum(level[:, None] * sums, room)
    exceed = random.binomial(room.astype(np.int64), expected / np.maximum(room, 1.0))
    excess = random.gamma(exceed * (mean**2 / variance), variance / mean)
    # Where there is less room than there should be excess, all sums take their part of the rest.
    missing = np.maximum(wanted - expected.sum(axis=1), 0.0) * mean
    return np.asarray(sums * (1 + missing / np.maximum(sums.sum(axis=1), 1.0))[:, None] + excess)


def unevenness(sums: Floats, labels: Ints, size: float) -> Floats:
    """Return the relative variance of rates between neighbouring regions (draw,): how uneven the town is at that scale.

    size: mean square over mean of what households contribute, Wh; what chance alone does is taken off. Cells inside a
    region are taken to differ as regions do. Where few regions were measured, a public guess stands in.
    """
    pairs = np.concatenate(
        [
            np.stack([labels[1:], labels[:-1]], axis=-1).reshape(-1, 2),
            np.stack([labels[:, 1:], labels[:, :-1]], axis=-1).reshape(-1, 2),
        ]
    )
    one, other = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0).T
    if len(one) < FEW_PAIRS:
        return np.full(len(sums), UNEVEN_BY_DEFAULT)
    first, second = sums[:, one], sums[:, other]
    apart, middle = ((first - second) ** 2).sum(axis=1) / 2, (first + second) / 2
    return np.asarray(np.clip((apart - size * middle.sum(axis=1)) / np.maximum((middle**2).sum(axis=1), 1.0), 0.0, 4.0))


def scattered(
    smooth: Floats, labels: Ints, population: Population, uneven: Floats, random: np.random.Generator
) -> Floats:
    """Return draws (draw, x, y) with the same sums in all regions, but households where they may live by chance.

    Their number in a cell is Poisson around the smooth value times a gamma variable of mean 1 and variance `uneven`
    (draw,), their sum gamma with the population's moments.
    """
    spread = np.maximum(uneven, 1e-6)[:, None, None]
    rates = smooth * random.gamma(1 / spread, spread, smooth.shape)
    wanted = region_sums(smooth, labels)
    mean = max(population.mean(), 1.0)
    variance = max(population.second() - mean**2, (0.01 * mean) ** 2)
    households = random.poisson(rates / mean)
    lumps = random.gamma(households * (mean**2 / variance), variance / mean)
    drawn = region_sums(lumps, labels)
    # A region that came out empty but is not has one household: in the cell that wins a race at the cells' rates.
    nobody = (drawn <= 0) & (wanted > 0)
    if nobody.any():
        race = random.exponential(size=smooth.shape) / np.maximum(rates, LEAST)
        first = np.full(nobody.shape, np.inf)
        np.minimum.at(first, (np.arange(len(race))[:, None, None], labels), race)
        won = np.take(nobody, labels, axis=1) & (race == np.take(first, labels, axis=1))
        lumps[won] = np.take(wanted, labels, axis=1)[won]
        drawn = np.where(nobody, wanted, drawn)
    return np.asarray(lumps * np.take(wanted / np.where(drawn > 0, drawn, 1.0), labels, axis=1))
