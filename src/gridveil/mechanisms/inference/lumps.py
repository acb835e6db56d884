"""From draws of bounded sums to draws of what households may truly have used: in lumps. Post-processing.

Energy comes by households: what a bound cut off belongs to few of them. Error bars that spread it like butter would be
too narrow for small regions.
"""

from __future__ import annotations

import numpy as np

from gridveil.mechanisms.bounds.population import DRAWS, TotalsDistribution
from gridveil.model.units import Floats

AT_BOUND = 0.05
"""A sum that falls short of so many times the bound, by this part of it, may still hold as many who exceed it."""
ROUNDS = 4
MOST_NUMBERS = 2**23
FEWEST_DRAWS = 40


def draws_kept(numbers: int) -> int:
    """Return how many draws of so many numbers each are worth their room: fewer of a large release."""
    return int(min(DRAWS, max(FEWEST_DRAWS, MOST_NUMBERS // numbers)))


def size_draws(population: TotalsDistribution, draws: int) -> Floats:
    """Return mean square over mean of households' totals, one number a draw."""
    weights = population.draws_weights[np.arange(draws) % len(population.draws_weights)]
    return np.asarray(weights @ population.support**2 / (weights @ population.support), dtype=np.float64)


def true_draws(bounded: Floats, population: TotalsDistribution, bound: float, seed: int) -> Floats:
    """Return draws of cells' consumption (draw, x, y), Wh, from draws of what is left of it under a window bound."""
    factors = np.resize(population.debias_draws(bound), len(bounded))
    sums = bounded.reshape(len(bounded), -1)
    return unbounded(sums, factors, population, bound, np.random.default_rng(seed)).reshape(bounded.shape)


def unbounded(
    sums: Floats, factors: Floats, population: TotalsDistribution, bound: float, random: np.random.Generator
) -> Floats:
    """Return sums (draw, cell) with what a bound cut off added again: to few households, in cells with room for them.

    factors: by what all the sums of each draw together are to be multiplied, on average.
    """
    over = np.maximum(population.support - bound, 0.0)
    share = float(population.weights[over > 0].sum())
    if share <= 0:
        return np.asarray(sums * factors[:, None])
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
    # The factors know what chance does to the excess of all. What finds no room, all sums take a part of.
    placed = np.minimum(wanted, expected.sum(axis=1)) * mean
    drawn = excess.sum(axis=1)
    excess *= (placed / np.where(drawn > 0, drawn, 1.0))[:, None]
    missing = wanted * mean - np.where(drawn > 0, placed, 0.0)
    return np.asarray(sums * (1 + missing / np.maximum(sums.sum(axis=1), 1.0))[:, None] + excess)


def pinned(mean: Floats, draws: Floats, total: tuple[float, float], seed: int) -> tuple[Floats, Floats]:
    """Return an estimate (x, y) and draws (draw, x, y) scaled towards a measured total, Wh, of known variance.

    Whatever was believed about single cells may have pulled all of them one way; the measured total was not. So the
    total believed in counts with its own variance and the square of how far it lies off.
    """
    value, variance = total
    sums = draws.sum(axis=(1, 2))
    unsure = float(sums.var()) + (float(sums.mean()) - value) ** 2
    gain = unsure / max(unsure + variance, 1.0)
    measured = value + np.random.default_rng(seed).normal(0.0, np.sqrt(variance), len(draws))
    wanted = np.maximum(sums + gain * (measured - sums), 0.0)
    whole = float(mean.sum())
    scale = max(whole + gain * (value - whole), 0.0) / max(whole, 1.0)
    return mean * scale, draws * (wanted / np.maximum(sums, 1.0))[:, None, None]
