"""Error bars about consumption itself for mechanisms that know only their noise; post-processing.

What a mechanism measured of space is explained as mosaic would explain it; its noise in time comes from its replicates;
what the bound cut off, from the fitted households. Where nothing was measured, towns may be as uneven as towns are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gridveil.geography.grid import Grid
from gridveil.mechanisms.bounds.bounds import PrivateBound, debias_estimate
from gridveil.mechanisms.inference.field import Waves
from gridveil.mechanisms.inference.space import (
    Household,
    choose_draws,
    draw_sizes,
    draw_true_cells,
    estimate_space,
    pin_total,
    spread_lumps,
)
from gridveil.model.arrays import Floats
from gridveil.trusted.kernel.session import Measurement
from gridveil.uncertainty import Estimate, NoisyParts, Posterior, RegionSums, Replicates

MAX_WAVES = 8
ROUGHNESS = (0.1, 3.0)
"""How uneven towns are, if nothing is known: the size of the longest waves of their density, on a logarithmic scale."""
FALLING = 1.0
DAILY = 0.3
WEEKLY = 0.06
"""How far a town's profile strays from an even one, if nothing is known: over the day, and from day to day."""


def infer_true_consumption(estimate: Estimate, chosen: PrivateBound, steps_per_day: float, seed: int = 0) -> Estimate:
    """Return the estimate of consumption behind one of bounded consumption, with error bars about consumption.

    Where the error model is neither replicates nor one sum of everything, error bars stay about the noise.
    """
    result = debias_estimate(estimate, chosen)
    random = np.random.default_rng(seed)
    nx, ny, _ = estimate.cube.shape
    draws = choose_draws(nx * ny)
    household = Household.of(chosen.population, chosen.bound.window)
    if isinstance(estimate.errors, Replicates):
        space, time = _redraw_around(estimate, estimate.errors, draws)
        if estimate.errors.measured is None:
            space = _add_lumps(space, household, random)
        else:
            space = _infer_cells(estimate.errors.measured, chosen, draws, seed)
    elif isinstance(estimate.errors, NoisyParts) and _is_one_sum(estimate.errors):
        space, time = _draw_anywhere(
            estimate, float(estimate.errors.scales.item()), household, draws, steps_per_day, random
        )
    else:
        return result
    errors = Posterior(
        space=draw_true_cells(space, chosen.population, chosen.bound.window, seed + 1),
        region=np.zeros((nx, ny), dtype=np.int64),
        time=time[:, None, :],
        size=draw_sizes(chosen.population, draws),
    )
    return replace(result, errors=errors)


def _is_one_sum(errors: NoisyParts) -> bool:
    return errors.labels is not None and errors.labels.size == 1 and errors.scales.size == 1


def _redraw_around(estimate: Estimate, errors: Replicates, draws: int) -> tuple[Floats, Floats]:
    """Return draws of cells and profiles: what was estimated, off by as much as replicates are off their mean."""
    which = np.arange(draws) % len(errors.space)
    cells = estimate.cube.over_steps()
    total = max(float(cells.sum()), 1.0)
    steps = estimate.cube.over_cells() / total
    space = np.maximum(cells + (errors.space - errors.space.mean(axis=0))[which], 0.0)
    time = np.maximum(steps + (errors.time - errors.time.mean(axis=0))[which], 0.0)
    # Cutting at 0 adds energy; the total keeps what it had.
    sums = total + errors.space.sum(axis=(1, 2)) - errors.space.sum() / len(errors.space)
    space *= (np.maximum(sums, 0.0)[which] / np.maximum(space.sum(axis=(1, 2)), 1.0))[:, None, None]
    return space, _normalise_profiles(time)


def _infer_cells(sums: RegionSums, chosen: PrivateBound, draws: int, seed: int) -> Floats:
    """Return draws of cells that explain the sums a mechanism measured, whatever it made of them itself.

    Replicates repeat the mechanism's own habits, an even map say, and so do not show how far off those are.
    """
    nx, ny = sums.labels.shape
    noisy = Measurement(np.rint(sums.values).astype(np.int64), np.full(sums.values.size, sums.scale))
    grid, window = Grid(0.0, 0.0, 1.0, 1.0, nx, ny), chosen.bound.window
    space = estimate_space(grid, sums.labels, noisy, None, chosen.population, window, draws, seed)
    total = float(sums.values.sum()), 2 * sums.scale**2 * sums.values.size
    return pin_total(space.mean, space.draws, total, seed + 2)[1]


def _add_lumps(space: Floats, household: Household, random: np.random.Generator) -> Floats:
    """Return draws as uneven as households make a town, if they are less so: neighbours differ at least by chance."""
    nx, ny = space.shape[1:]
    size = household.second / household.mean
    pairs = ((space[:, 1:], space[:, :-1]), (space[:, :, 1:], space[:, :, :-1]))
    apart = sum(float(((one - other) ** 2).sum()) / 2 for one, other in pairs)
    chance = sum(size * float((one + other).sum()) / 2 for one, other in pairs)
    missing = max(1 - apart / max(chance, 1.0), 0.0)
    if missing <= 0:
        return space
    everywhere = np.zeros((nx, ny), dtype=np.int64)
    field = np.log(np.maximum(space, 1.0))
    lumps = spread_lumps(space.sum(axis=(1, 2))[:, None], everywhere, field, household, 0.0, random)
    return np.asarray(np.maximum(space + np.sqrt(missing) * (lumps - space), 0.0))


def _draw_anywhere(
    estimate: Estimate, scale: float, household: Household, draws: int, per_day: float, random: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return draws of where and when a measured total may have been used, if nothing else is known."""
    nx, ny, steps = estimate.cube.shape
    total = np.maximum(float(estimate.cube.over_steps().sum()) + random.laplace(0.0, scale, (draws, 1)), 0.0)
    waves = Waves.of(np.arange(nx), np.arange(ny), MAX_WAVES)
    smoothest, roughest = ROUGHNESS
    rough = smoothest * (roughest / smoothest) ** random.random((draws, 1))
    sizes = np.where(waves.frequency > 0, rough * np.maximum(waves.frequency, 1.0) ** -FALLING, 0.0)
    field = waves.at_cells(sizes * random.standard_normal(sizes.shape))
    space = spread_lumps(total, np.zeros((nx, ny), dtype=np.int64), field, household, 0.3, random)
    days = np.arange(steps) / per_day
    waves_in_time = [
        size
        * np.sqrt(2)
        * np.cos(2 * np.pi * (days / length + random.random((draws, 1))))
        * random.standard_normal((draws, 1))
        for size, length in ((DAILY, 1.0), (DAILY / 2, 0.5), (WEEKLY, 3.0), (WEEKLY, 7.0), (WEEKLY, 23.0))
    ]
    return space, _normalise_profiles(np.maximum(1 + sum(waves_in_time), 0.05))


def _normalise_profiles(parts: Floats) -> Floats:
    """Return rows as parts of their sums; equal parts of nothing."""
    sums = parts.sum(axis=1, keepdims=True)
    return np.asarray(np.where(sums > 0, parts / np.where(sums > 0, sums, 1.0), 1 / parts.shape[1]))
