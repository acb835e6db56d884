"""Mosaic: who, how much, where and when, each measured well by itself, and put together by inference."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from gridveil.estimate import Estimate, Posterior
from gridveil.mechanisms.base import Progress, silent
from gridveil.mechanisms.mosaic.budget import divide
from gridveil.mechanisms.mosaic.levels import choose_level
from gridveil.mechanisms.mosaic.public_shape import public_shape
from gridveil.mechanisms.mosaic.runs import choose_runs
from gridveil.mechanisms.mosaic.space import estimate_space
from gridveil.mechanisms.mosaic.time import estimate_time
from gridveil.mechanisms.population import (
    DRAWS,
    Population,
    histogram_epsilon,
    measure_population,
    space_bound,
    time_bound,
)
from gridveil.privacy.bound import Bound
from gridveil.privacy.measure import Measure, NoiseKind

MOST_NUMBERS = 2**23
"""Of draws that are kept: large grids get fewer draws."""
FEWEST_DRAWS = 40


@dataclass(frozen=True)
class Mosaic:
    """How much, where and when, each measured by itself and put together by inference: the default.

    noise: of the sums over space; `staircase` is much smaller at epsilon 10 and above, where it reveals lonely
        households almost exactly.
    profile: a public shape of the day (CSV) to start from; by default every hour is alike until measured.
    seed: of the draws behind error bars. It protects nothing.
    """

    noise: NoiseKind = "laplace"
    profile: Path | None = None
    seed: Annotated[int, Field(ge=0)] = 0
    chooses_bounds: ClassVar[bool] = True

    def release(self, measure: Measure, progress: Progress = silent) -> Estimate:
        """Measure households' totals, choose bounds by them, measure total, regions and steps, and infer the rest."""
        shape = None if self.profile is None else public_shape(self.profile, measure.window)
        population = measure_population(measure, histogram_epsilon(measure.epsilon))
        spending = divide(measure.epsilon - population.epsilon, population.households)
        bounds = _Bounds.of(measure, population, spending.space, spending.time, self.noise)
        level = choose_level(measure.grid, population.households, spending.space, bounds.space.window, self.noise)
        runs = choose_runs(measure.window, population.households, population.mean(), spending.time, bounds.time.window)
        everything = np.zeros((1, 1, 1), dtype=np.int64)
        whole = measure.sums(everything, spending.total, bound=bounds.space, noise=self.noise)
        regions = measure.sums(level.labels[:, :, None], spending.space, bound=bounds.space, noise=self.noise)
        steps = measure.sums(runs, spending.time, bound=bounds.time)
        progress("measure", 1.0)
        draws = draws_of(measure)
        total = float(whole.values[0]), 2 * float(whole.scales[0]) ** 2
        space = estimate_space(
            measure.grid, level.labels, regions, total, population, bounds.space.window, draws, self.seed
        )
        progress("infer where", 1.0)
        ratio = population.mean(bounds.time.window) / population.mean(bounds.space.window)
        of_all = float(space.mean.sum()) * ratio
        spread = float(np.std(space.draws.sum(axis=(1, 2)))) * ratio
        uncertain = float(np.hypot(spread, RATIO_ERROR * of_all))
        time = estimate_time(measure.window, runs, steps, of_all, uncertain, shape, draws, self.seed + 1)
        progress("infer when", 1.0)
        factor = population.debias(bounds.space.window)
        factors = population.debias_draws(bounds.space.window)[:draws]
        errors = Posterior(
            space=space.draws * factors[:, None, None],
            region=np.zeros((measure.grid.nx, measure.grid.ny), dtype=np.int64),
            time=time.draws[:, None, :],
            size=np.full(draws, population.second() / population.mean()),
        )
        details = {
            "households": round(population.households),
            "epsilon_histogram": population.epsilon,
            "bound_space_kwh": bounds.space.window / 1000,
            "bound_time_kwh": bounds.time.window / 1000,
            "debias_factor": factor,
            "regions": int(level.labels.max()) + 1,
            "runs": int(runs.max()) + 1,
            "draws": draws,
        }
        return Estimate(factor * space.mean[:, :, None] * time.profile, errors, details)


RATIO_ERROR = 0.03
"""How well the fitted population tells how much less is left under the bound of time than under that of space."""


@dataclass(frozen=True)
class _Bounds:
    """The bounds under which space and time are measured."""

    space: Bound
    time: Bound

    @classmethod
    def of(
        cls, measure: Measure, population: Population, epsilon_space: float, epsilon_time: float, noise: NoiseKind
    ) -> _Bounds:
        """Choose by the population; a window bound that the publisher has given stands."""
        given = measure.bound
        if given.window < given.step * measure.window.steps:
            return cls(given, given)
        space = space_bound(population, epsilon_space, noise, measure.grid.cells)
        time = time_bound(population, epsilon_time, "laplace", measure.window.steps)
        return cls(Bound(given.step, min(space, given.window)), Bound(given.step, min(time, given.window)))


def draws_of(measure: Measure) -> int:
    """Return how many draws are kept of a release: fewer of a large one."""
    numbers = measure.grid.cells + measure.window.steps
    return int(min(DRAWS, max(FEWEST_DRAWS, MOST_NUMBERS // numbers)))
