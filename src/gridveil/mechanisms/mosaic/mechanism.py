"""Mosaic: who, how much, where and when, each measured well by itself, and put together by inference."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
from pydantic import AfterValidator, Field, PositiveFloat

from gridveil.mechanisms.base import Progress, silent
from gridveil.mechanisms.bounds import TotalsDistribution, choose_space_bound, histogram_epsilon, measure_population
from gridveil.mechanisms.inference.space import (
    QuadtreeLevel,
    SpaceEstimate,
    choose_draws,
    choose_level,
    draw_sizes,
    draw_true_cells,
    estimate_space,
)
from gridveil.mechanisms.mosaic.regions import (
    RegionalProfiles,
    RegionMeasurement,
    choose_region_bound,
    detect_differences,
    fit_regions,
    plan_regions,
)
from gridveil.mechanisms.mosaic.steps import choose_runs, plan_time
from gridveil.mechanisms.mosaic.time import HOURS, PublicShape, TimeEstimate, estimate_time
from gridveil.model.arrays import WH_PER_KWH, Floats, Ints, Product
from gridveil.trusted.budget import Bound
from gridveil.trusted.kernel.session import Measurement, NoiseKind, Session
from gridveil.uncertainty import Estimate, Posterior

# All measurements of mosaic, in order, and their shares of the budget: from public numbers and earlier answers.


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
    """Spend the whole budget: who, whether regions differ and their profiles if they do, how much, where and when."""
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


RATIO_ERROR = 0.03
"""How well the fitted population tells how much less is left under the bound of time than under that of space."""


def _check_zone(name: str) -> str:
    """Refuse a timezone that is not known now, not when the tables have been read."""
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        msg = f"timezone {name!r} is not known; give a name such as UTC or Europe/London"
        raise ValueError(msg) from error
    return name


@dataclass(frozen=True)
class Mosaic:
    """How much, where and when, each measured by itself and put together by inference: the default.

    noise: of the sums over space; `staircase` is much smaller at epsilon 10 and above, where it reveals lonely
        households almost exactly.
    profile: a public shape of the day to start from, as 24 numbers for weekdays and 24 for weekends (`profile` in
        a spec names a file of them); by default every hour is alike until measured.
    profile_zone: whose clock its hours are of.
    seed: of the draws behind error bars. It protects nothing.
    """

    noise: NoiseKind = "laplace"
    profile: Annotated[tuple[PositiveFloat, ...], Field(min_length=2 * HOURS, max_length=2 * HOURS)] | None = None
    profile_zone: Annotated[str, AfterValidator(_check_zone)] = "UTC"
    seed: Annotated[int, Field(ge=0)] = 0
    chooses_bounds: ClassVar[bool] = True

    def release(self, measure: Session, progress: Progress = silent) -> Estimate:
        """Measure households' totals, choose bounds by them, measure total, regions and steps, and infer the rest."""
        shape = None
        if self.profile is not None:
            shape = PublicShape(np.reshape(self.profile, (2, HOURS))).sample(measure.window, self.profile_zone)
        measured = measure_all(measure, self.noise)
        progress("measure", 1.0)
        profiles_of = 1 if measured.look is None else measured.look.look.regions
        draws = choose_draws(measure.grid.cells + profiles_of * measure.window.steps)
        space = self._infer_space(measure, measured, draws)
        progress("infer where", 1.0)
        time = self._infer_time(measure, measured, space, shape, draws)
        progress("infer when", 1.0)
        regional = self._infer_regions(measured, space, time, draws)
        population, bound = measured.population, measured.bounds.space.window
        factor = population.debias(bound)
        values = Product.of(factor * space.mean, time.profile)
        profiles, region = time.draws[:, None, :], np.zeros(space.mean.shape, dtype=np.int64)
        if regional is not None:
            values = Product(values.space, time.profile * regional.factor, regional.region)
            profiles, region = profiles * regional.draws, regional.region
        errors = Posterior(
            space=draw_true_cells(space.draws, population, bound, self.seed + 2),
            region=region,
            time=profiles / profiles.sum(axis=2, keepdims=True),
            size=draw_sizes(population, draws),
        )
        return Estimate(values, errors, {**measured.details(), "debias_factor": factor, "draws": draws})

    def _infer_space(self, measure: Session, measured: Measured, draws: int) -> SpaceEstimate:
        total = float(measured.whole.values[0]), 2 * float(measured.whole.scales[0]) ** 2
        return estimate_space(
            measure.grid,
            measured.level.labels,
            measured.regions,
            total,
            measured.population,
            measured.bounds.space.window,
            draws,
            self.seed,
        )

    def _infer_time(
        self, measure: Session, measured: Measured, space: SpaceEstimate, shape: Floats | None, draws: int
    ) -> TimeEstimate:
        population, bounds = measured.population, measured.bounds
        left = population.mean(bounds.time.window)
        ratio = left / max(population.mean(bounds.space.window), 1.0)
        total = float(space.mean.sum()) * ratio
        spread = float(np.std(space.draws.sum(axis=(1, 2)))) * ratio
        return estimate_time(
            measure.window,
            measured.runs,
            measured.steps,
            total,
            float(np.hypot(spread, RATIO_ERROR * total)),
            shape,
            draws,
            self.seed + 1,
            1 - left / max(population.mean(), 1.0),
        )

    def _infer_regions(
        self, measured: Measured, space: SpaceEstimate, time: TimeEstimate, draws: int
    ) -> RegionalProfiles | None:
        if measured.look is None:
            return None
        look, sums, bound = measured.look
        population = measured.population
        ratio = population.mean(bound.window) / max(population.mean(measured.bounds.space.window), 1.0)
        return fit_regions(look, sums, space.mean * ratio, time.profile, draws, self.seed + 3)
