"""Mosaic: who, how much, where and when, each measured well by itself, and put together by inference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
from pydantic import AfterValidator, Field, PositiveFloat

from gridveil.mechanisms.base import Progress, silent
from gridveil.mechanisms.inference.space import SpaceEstimate, choose_draws, draw_sizes, draw_true_cells, estimate_space
from gridveil.mechanisms.mosaic.measured import Measured, measure_all
from gridveil.mechanisms.mosaic.regions import RegionalProfiles, fit_regions
from gridveil.mechanisms.mosaic.time import HOURS, PublicShape, TimeEstimate, estimate_time
from gridveil.model.arrays import Floats, Product
from gridveil.trusted.kernel.session import NoiseKind, Session
from gridveil.uncertainty import Estimate, Posterior

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
