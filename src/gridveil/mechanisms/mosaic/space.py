"""How much each cell used over the window: the noisy sums of regions, explained by a field of households."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gridveil.cube import Grid
from gridveil.estimate import Floats, Ints
from gridveil.mechanisms.mosaic import field
from gridveil.mechanisms.mosaic.cells import Lumps
from gridveil.mechanisms.mosaic.explain import explain
from gridveil.mechanisms.mosaic.noise_bins import NoiseBins
from gridveil.mechanisms.population.population import Population
from gridveil.privacy.measure import Measurement

MOST_WAVES = 12
RATE_DRAWS = 200


@dataclass(frozen=True)
class SpaceEstimate:
    """Bounded totals of cells over the window, Wh: their mean (x, y), and draws of what they may be (draw, x, y)."""

    mean: Floats
    draws: Floats


def estimate_space(
    grid: Grid,
    labels: Ints,
    noisy: Measurement,
    total: tuple[float, float] | None,
    population: Population,
    bound: int,
    draws: int,
    seed: int,
) -> SpaceEstimate:
    """Return what cells hold, given the noisy sums of regions.

    labels: the region of each cell (x, y), numbered row by row: blocks along x times blocks along y.
    total: noisy sum of everything and the variance of its noise.
    """
    del grid
    random = np.random.default_rng(seed)
    region_y = labels[0]
    region_x = labels[:, 0] // (int(region_y[-1]) + 1)
    values = noisy.values.astype(np.float64).ravel()
    noise = NoiseBins.of(noisy)
    sizes = np.outer(np.bincount(region_x), np.bincount(region_y)).ravel().astype(np.float64)
    mean_jump = max(population.mean(bound), 1.0)
    whole, variance = whole_total(total, population, bound)
    top = max(min(float(values.max()) + 6 * noise.deviation, 2 * whole + 20 * bound), 4.0 * bound)
    level = field.Level(np.log(whole / mean_jump), variance / whole**2 + (population.second(bound) / mean_jump / whole))
    waves = field.Waves.of(region_x, region_y, MOST_WAVES)

    def known(clumping: float) -> tuple[Lumps, field.Evidence]:
        lumps = Lumps.of(population, bound, clumping, top)
        return lumps, field.Evidence.of(lumps.log_rates, lumps.evidence(values, noise))

    explained = explain(waves, known, np.log(sizes), level)
    best, prior = explained.fit, explained.lumps
    coefficients = best.draw(RATE_DRAWS, random)
    logs = coefficients @ waves.regions.T + np.log(sizes)
    at = np.interp(logs, prior.log_rates, np.arange(len(prior.log_rates)))
    classes = np.minimum((at + random.random(at.shape)).astype(np.int64), len(prior.log_rates) - 1)
    regions = len(values)
    pairs, back = np.unique(classes * regions + np.arange(regions), return_inverse=True)
    posterior = prior.posterior(values[pairs % regions], pairs // regions, noise)
    back = back.reshape(classes.shape)
    means = posterior.mean()[back].mean(axis=0)
    drawn = posterior.draw(back.ravel(), random.random(back.size)).reshape(back.shape)[:draws]
    spread = drawn.var(axis=0)
    means = _to_total(means, spread, whole, variance)
    share = waves.at_cells(best.coefficients)
    share = np.exp(share - share.max())
    summed = np.bincount(labels.ravel(), share.ravel())
    return SpaceEstimate((means / summed)[labels] * share, (drawn / summed)[:, labels] * share)


def whole_total(total: tuple[float, float] | None, population: Population, bound: int) -> tuple[float, float]:
    """Return the whole map's total and its variance, from the root and the histogram (not from the regions)."""
    counted = population.households * population.mean(bound)
    drawn = population.draws_households * (population.draws_weights @ np.minimum(population.support, bound))
    known = [(counted, float(drawn.var()) + population.second(bound) * population.households)]
    if total is not None:
        known.append(total)
    weights = np.array([1 / max(variance, 1.0) for _, variance in known])
    whole = float(weights @ [value for value, _ in known] / weights.sum())
    return max(whole, population.mean(bound)), float(1 / weights.sum())


def _to_total(means: Floats, spread: Floats, whole: float, variance: float) -> Floats:
    """Scale sums towards the whole's total as far as their own spread allows."""
    summed, own = float(means.sum()), float(spread.sum())
    target = summed + (whole - summed) * own / (own + variance)
    return means * (max(target, 0.0) / max(summed, 1.0))
