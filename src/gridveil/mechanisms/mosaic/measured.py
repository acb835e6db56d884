"""All measurements of mosaic, in order, and their shares of the budget: from public numbers and earlier answers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from gridveil.mechanisms.bounds import TotalsDistribution, choose_space_bound, histogram_epsilon, measure_population
from gridveil.mechanisms.inference.quadtree import QuadtreeLevel, choose_level
from gridveil.mechanisms.mosaic.regions import RegionMeasurement, choose_region_bound, detect_differences, plan_regions
from gridveil.mechanisms.mosaic.runs import choose_runs, plan_time
from gridveil.model.arrays import WH_PER_KWH, Ints
from gridveil.trusted.kernel.bound import Bound
from gridveil.trusted.kernel.session import Measurement, NoiseKind, Session

# The shares of the budget for the total, for space and for time.


@dataclass(frozen=True)
class MosaicShares:
    """Epsilon for the total of the map, for the sums of its regions, and for those of its steps."""

    total: float
    space: float
    time: float


def divide_budget(epsilon: float, households: float) -> MosaicShares:
    """Divide what the histogram left over.

    The total matters while the sum of all regions is drowned in their noise. Time needs a larger part of a small
    budget: where most households live shows even through much noise.

    >>> spending = divide_budget(3.0, 1000.0)
    >>> round(spending.total, 2), round(spending.space, 2), round(spending.time, 2)
    (0.06, 2.27, 0.67)
    """
    total = min(max(60 / max(epsilon * households, 1.0), 0.005), 0.2)
    time = min(max(0.3 - 0.065 * math.log(epsilon), 0.15), 0.3)
    return MosaicShares(*(epsilon * part / (1 + total) for part in (total, 1 - time, time)))


class MosaicBounds(NamedTuple):
    """The bounds under which space and time are measured."""

    space: Bound
    time: Bound


class RegionAnswer(NamedTuple):
    """A look at regional profiles, what it answered, and the bound it was under."""

    look: RegionMeasurement
    sums: Measurement
    bound: Bound


@dataclass(frozen=True)
class Measured:
    """Noisy answers, and the choices that they were measured by.

    whole: total of the map. regions: totals of `level`'s regions. steps: totals of `runs` of steps, the whole map.
    look: at regional profiles, if a first one made differences likely.
    """

    population: TotalsDistribution
    bounds: MosaicBounds
    whole: Measurement
    level: QuadtreeLevel
    regions: Measurement
    runs: Ints
    steps: Measurement
    look: RegionAnswer | None

    def details(self) -> dict[str, Any]:
        """Return the choices, for the label."""
        return {
            "households": round(self.population.households),
            "bound_space_kwh": self.bounds.space.window / WH_PER_KWH,
            "bound_time_kwh": self.bounds.time.window / WH_PER_KWH,
            "regions": self.level.blocks,
            "runs": int(self.runs.max()) + 1,
            "regional_profiles": 0 if self.look is None else self.look.look.regions,
        }


def measure_all(measure: Session, noise: NoiseKind) -> Measured:
    """Spend the whole budget: who, whether regions differ, how much, where, when and, if they do, regional profiles."""
    given, grid, window = measure.bound, measure.grid, measure.window
    free = given.window >= given.step * window.steps
    population = measure_population(measure, histogram_epsilon(measure.epsilon))
    left = measure.epsilon - population.epsilon
    look = None
    plan = plan_regions(grid, window, population.households, left)
    if plan is not None:
        bound = choose_region_bound(given, window.steps, population)
        left -= plan.test.epsilon
        if detect_differences(measure, plan, bound):
            left -= plan.full.epsilon
            look = RegionAnswer(plan.full, measure.sums(plan.full.labels(), plan.full.epsilon, bound=bound), bound)
    spending = divide_budget(left, population.households)
    if free:
        wanted = choose_space_bound(population, spending.space, noise, grid.cells)
        in_space = Bound(given.step, min(wanted, given.window))
        time = plan_time(window, population, spending.time)
        in_time, runs = Bound(given.step, min(time.bound, given.window)), time.runs
    else:
        in_space = in_time = given
        kept = population.mean(given.window)
        runs = choose_runs(window, population.households, kept, spending.time, given.window)
    level = choose_level(grid, population, spending.space, in_space.window, noise)
    everything = np.zeros((1, 1, 1), dtype=np.int64)
    whole = measure.sums(everything, spending.total, bound=in_space, noise=noise)
    regions = measure.sums(level.labels[:, :, None], spending.space, bound=in_space, noise=noise)
    steps = measure.sums(runs, spending.time, bound=in_time)
    return Measured(population, MosaicBounds(in_space, in_time), whole, level, regions, runs, steps, look)
